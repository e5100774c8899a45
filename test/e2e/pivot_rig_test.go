// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// parent is a tenant whose Transform delivers a PivotCluster, and
// plugin/pivot/internal/gitops in a process of its own, with the rights that its doc lists.
type parent struct {
	*tenant
	name, binary, kubeconfig string
	// applications are the namespaces of Applications, and delivery is that of the Transform.
	applications, delivery string
	uid                    string
}

// newParent makes the namespace and the account of one.
func newParent(n *tenant) *parent {
	t := n.t
	t.Helper()
	p := &parent{tenant: n, name: n.namespace, uid: "uid-of-" + n.namespace, binary: filepath.Join(t.TempDir(), "gitops")}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", p.binary, "./plugin/pivot/internal/gitops/testdata/gitops") //nolint:gosec // a program of ours
	cmd.Dir = filepath.Join(n.modules.Root, "..", "..")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	n.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: pivot, namespace: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: pivot-%[1]s}
rules:
  - {apiGroups: [ropewalk.dev], resources: [transforms], verbs: [get, update, delete]}
  - {apiGroups: [kustomize.toolkit.fluxcd.io], resources: [kustomizations], verbs: [list, get, update, delete]}
  - {apiGroups: [source.toolkit.fluxcd.io], resources: [ocirepositories], verbs: [list, get, delete]}
  - {apiGroups: [argoproj.io], resources: [applications], verbs: [list, get, update, delete]}
  - {apiGroups: [admissionregistration.k8s.io], resources: [validatingadmissionpolicies, validatingadmissionpolicybindings], verbs: [get, create, update]}
  - {apiGroups: [""], resources: [configmaps], verbs: [get, create]}
  - {apiGroups: [""], resources: [namespaces], resourceNames: [kube-system], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: pivot-%[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: pivot-%[1]s}
subjects: [{kind: ServiceAccount, name: pivot, namespace: %[1]s}]
`, n.namespace))
	p.kubeconfig = n.KubeconfigFor(t, n.namespace, "pivot")
	p.namespace = "rw-" + p.name
	n.Cluster.namespace(t, p.namespace)
	t.Cleanup(func() {
		ctx := p.run.Context()
		p.forget(p.namespace)
		for _, left := range [][3]string{
			{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", "ropewalk-pivot-" + p.name},
			{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "ropewalk-pivot-" + p.name},
			{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "pivot-" + p.name}, {"rbac.authorization.k8s.io/v1", "ClusterRole", "pivot-" + p.name},
			{"v1", "Namespace", p.namespace},
		} {
			o := &unstructured.Unstructured{}
			o.SetAPIVersion(left[0])
			o.SetKind(left[1])
			o.SetName(left[2])
			_ = p.Client.Delete(ctx, o) // it may not have been made
		}
	})
	return p
}

// clusters has the kind Cluster, in two versions. It stays for the run: each definition that
// comes or goes has all controllers of the run read everything again.
func (p *parent) clusters() {
	p.t.Helper()
	p.Apply(p.t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusters.cluster.x-k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: cluster.x-k8s.io
  names: {kind: Cluster, listKind: ClusterList, plural: clusters, singular: cluster}
  scope: Namespaced
  versions:
    - {name: v1beta2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
    - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
	p.awaitDefinitions()
}

// clusterKind is that of the objects by which Cluster API makes a cluster.
func clusterKind(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: version, Kind: "Cluster"}
}

// pivotModule is inline CUE: ConfigMaps with a text, and a Cluster where it is asked for.
const pivotModule = `package m

import "list"

ropewalk: apiVersion: "v1alpha1"
#Input: {text: string, count: int & >0 | *5, cluster: bool | *false}
input: #Input
context: {name: string, namespace: string, ...}
graph: nodes: {
	for i in list.Range(0, input.count, 1) {
		"map-\(i)": object: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "map-\(i)", namespace: context.namespace}, data: text: input.text}
	}
}
if input.cluster {
	graph: nodes: cluster: object: {
		apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Cluster"
		metadata: {name: context.name, namespace: context.namespace, annotations: text: input.text}
		spec: clusterNetwork: serviceDomain: "cluster.local"
	}
}
`

// deliver applies the Transform.
func (p *parent) deliver(input string) {
	p.t.Helper()
	p.Apply(p.t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: %s, namespace: %s}
spec:
  output: {oci: {repository: "oci://%s", insecure: true}}
  cueRef:
    type: inline
    ref: |
      %s
  input: %s
%s`, p.name, p.namespace, p.repository(), indented(pivotModule, 6), input, p.delivery))
}

func (p *parent) repository() string { return p.Registry + "/clusters/" + p.name }

// at puts the receipt of the pivot to a step.
func (p *parent) at(step string) {
	p.t.Helper()
	kube := &corev1.Namespace{}
	require.NoError(p.t, p.Client.Get(p.t.Context(), client.ObjectKey{Name: "kube-system"}, kube))
	text, err := json.Marshal(map[string]any{
		"id": "pivot-1", "role": "source", "step": step, "epoch": 1, "digest": "sha256:moved",
		"cluster": map[string]any{"group": "cluster.x-k8s.io", "kind": "Cluster", "namespace": p.namespace, "name": p.name},
		"source":  map[string]any{"uid": kube.UID}, "target": map[string]any{"uid": "uid-of-the-child", "server": "https://child.example:6443"},
		"marks": []any{map[string]any{"step": "Committed", "at": "2026-03-04T05:06:07Z"}},
	})
	require.NoError(p.t, err)
	receipt, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "pivot-" + p.name, "namespace": p.namespace},
		"data": map[string]any{"receipt.json": string(text)},
	})
	require.NoError(p.t, err)
	p.Apply(p.t, string(receipt))
}

// pivotCluster writes the PivotCluster to a file.
func (p *parent) pivotCluster(repository string) string {
	p.t.Helper()
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"name": p.name, "uid": p.uid},
		"spec":     map[string]any{"output": map[string]any{"oci": map[string]any{"repository": "oci://" + repository, "insecure": true}}},
	})
	require.NoError(p.t, err)
	file := filepath.Join(p.t.TempDir(), "cluster.json")
	require.NoError(p.t, os.WriteFile(file, data, 0o600))
	return file
}

// start starts a function of the package; the text is what it prints.
func (p *parent) start(op string) (*exec.Cmd, *bytes.Buffer) {
	p.t.Helper()
	return p.startWith(p.kubeconfig, p.repository(), op)
}

func (p *parent) startWith(kubeconfig, repository, op string) (*exec.Cmd, *bytes.Buffer) {
	p.t.Helper()
	out := &bytes.Buffer{}
	cmd := exec.CommandContext(p.t.Context(), p.binary, "-kubeconfig", kubeconfig, "-cluster", p.pivotCluster(repository), "-applications", p.applications, op)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(p.t, cmd.Start())
	return cmd, out
}

// call calls one to its end.
func (p *parent) call(op string) {
	p.t.Helper()
	began := time.Now()
	cmd, out := p.start(op)
	require.NoError(p.t, cmd.Wait(), "%s", out)
	p.t.Logf("%s took %s", op, time.Since(began).Round(10*time.Millisecond))
}

// freeze, thaw and tombstone are at the step of the pivot at which they are called.
func (p *parent) freeze()    { p.t.Helper(); p.at("Freezing"); p.call("freeze") }
func (p *parent) thaw()      { p.t.Helper(); p.at("Aborting"); p.call("thaw") }
func (p *parent) tombstone() { p.t.Helper(); p.at("Confirmed"); p.call("tombstone") }

// versions are the resource versions, and the texts, of what is delivered.
func (p *parent) versions() map[string]string {
	p.t.Helper()
	out := map[string]string{}
	var maps corev1.ConfigMapList
	require.NoError(p.t, p.Client.List(p.t.Context(), &maps, client.InNamespace(p.namespace)))
	for _, m := range maps.Items {
		if strings.HasPrefix(m.Name, "map-") {
			out[m.Name] = m.ResourceVersion + " " + m.Data["text"]
		}
	}
	clusters := &unstructured.UnstructuredList{}
	clusters.SetGroupVersionKind(clusterKind("v1beta2").GroupVersion().WithKind("ClusterList"))
	if p.Client.List(p.t.Context(), clusters, client.InNamespace(p.namespace)) == nil { // the kind may not be there
		for _, o := range clusters.Items {
			out["Cluster "+o.GetName()] = o.GetResourceVersion() + " " + o.GetAnnotations()["text"]
		}
	}
	return out
}

// all reports whether every delivered object has a text.
func (p *parent) all(text string) bool {
	versions := p.versions()
	for _, v := range versions {
		if !strings.HasSuffix(v, " "+text) {
			return false
		}
	}
	return len(versions) > 0
}

// object reads any object as a map.
func (p *parent) object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	if err := p.Client.Get(p.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		return nil
	}
	return o
}

// denied wants that a manifest is denied by the policy.
func (p *parent) denied(manifest string) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), p.program(p.t, "kubectl"), "--kubeconfig", p.Kubeconfig, "apply", "--server-side", "--force-conflicts", "-f", "-") //nolint:gosec // a program of the tests
	cmd.Stdin = strings.NewReader(manifest)
	out, err := cmd.CombinedOutput()
	require.Error(p.t, err, "%s", out)
	require.Contains(p.t, string(out), "is in charge of itself since 2026-03-04T05:06:07Z (pivot pivot-1, at https://child.example:6443 with UID uid-of-the-child)")
	p.t.Logf("denied: %s", strings.TrimSpace(string(out)))
}

// lookup is what Lookup finds; nil is nothing.
func (p *parent) lookup(kubeconfig, repository string) (found map[string]any, err error) {
	p.t.Helper()
	cmd, out := p.startWith(kubeconfig, repository, "lookup")
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	if out.Len() == 0 {
		return nil, nil
	}
	return found, json.Unmarshal(out.Bytes(), &found)
}
