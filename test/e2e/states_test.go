// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net"
	"strings"
	"testing"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// computed is what kstatus makes of a Transform, as helm, Flux and kpt do.
func (n *tenant) computed(name string) kstatus.Status {
	n.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.TransformKind))
	require.NoError(n.t, n.Client.Get(n.t.Context(), client.ObjectKey{Namespace: n.namespace, Name: name}, u))
	result, err := kstatus.Compute(u)
	require.NoError(n.t, err)
	return result.Status
}

// says waits until a condition of a Transform has a text in its message.
func (n *tenant) saying(name, condition, text string) *v1alpha1.Transform {
	n.t.Helper()
	return n.await(name, condition+" says "+text, func(t *v1alpha1.Transform) bool {
		c := apimeta.FindStatusCondition(t.Status.Conditions, condition)
		return c != nil && strings.Contains(c.Message, text)
	})
}

func TestEveryStateIsOneOfKstatus(t *testing.T) {
	n := newTenant(t)
	n.controller.Kill()
	n.transform("web", "{text: one}", "")
	require.Equal(t, kstatus.InProgressStatus, n.computed("web"), "it is new")
	n.controller.Restart(t)
	n.await("web", "is current for kstatus", func(*v1alpha1.Transform) bool {
		is := n.computed("web")
		require.Contains(t, []kstatus.Status{kstatus.InProgressStatus, kstatus.CurrentStatus}, is)
		if is == kstatus.InProgressStatus {
			return false
		}
		now := n.get("web")
		require.True(t, apimeta.IsStatusConditionTrue(now.Status.Conditions, "Ready"), "%+v", now.Status)
		return true
	})
	first := n.get("web").Status.Artifact.Digest

	n.transform("web", "{text: 1}", "")
	n.stalled("web")
	require.Equal(t, kstatus.FailedStatus, n.computed("web"), "it is stalled")
	n.transform("web", "{text: two}", "")
	n.ready("web")
	n.Kubectl(t, "-n", n.namespace, "patch", "transform", "web", "--type=merge", "-p", `{"spec":{"rollback":{"digest":"`+first+`"}}}`)
	n.await("web", "is rolled back", func(t *v1alpha1.Transform) bool {
		c := apimeta.FindStatusCondition(t.Status.Conditions, "Ready")
		return c.Reason == v1alpha1.RolledBackReason && t.Status.ObservedGeneration == t.Generation
	})
	require.Equal(t, kstatus.CurrentStatus, n.computed("web"))

	// It waits for another one, and what is wrong with it may pass.
	n.transform("later", "{text: one}", "  dependsOn: [none]")
	n.saying("later", "Ready", `Transform "none" does not exist`)
	require.Equal(t, kstatus.InProgressStatus, n.computed("later"))
	n.transform("failing", "{text: one}", "  inputsFrom: [{kind: ConfigMap, name: none}]")
	n.saying("failing", "Ready", "ConfigMap none/values.yaml does not exist")
	require.Equal(t, kstatus.InProgressStatus, n.computed("failing"))

	n.Kubectl(t, "-n", n.namespace, "patch", "transform", "web", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	table := strings.Fields(n.Kubectl(t, "-n", n.namespace, "get", "transform", "web"))
	require.Contains(t, table, "SUSPENDED")
	require.Contains(t, table, "true")
}

// A registry that takes connections and says nothing is one behind a firewall.
func TestAPushThatHangsIsShown(t *testing.T) {
	n := newTenant(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close() //nolint:errcheck // the test ends
	repository := "oci://" + listener.Addr().String() + "/web"
	n.Apply(t, strings.ReplaceAll(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: web, namespace: `+n.namespace+`}
spec:
  output: {oci: {repository: REPOSITORY, insecure: true}}
  cueRef: {type: inline, ref: 'a: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a"}'}
`, "REPOSITORY", repository))
	now := n.saying("web", "Reconciling", "pushing the artifact to "+repository)
	require.Equal(t, "Progressing", apimeta.FindStatusCondition(now.Status.Conditions, "Ready").Reason)
	require.Equal(t, kstatus.InProgressStatus, n.computed("web"))
}

// TestNoNameLeadsElsewhere has the API server refuse names that would be parts of a path, in
// the same words whether or not there is something at its end.
func TestNoNameLeadsElsewhere(t *testing.T) {
	n := newTenant(t)
	n.Kubectl(t, "-n", n.namespace, "create", "secret", "generic", "there", "--from-literal=a=b")
	other := n.Cluster.Namespace(t)
	for _, name := range []string{"there", "nowhere"} {
		path := "../../" + n.namespace + "/secrets/" + name
		for field, change := range map[string]func(*v1alpha1.TransformSpec){
			"spec.inputsFrom[0].name": func(s *v1alpha1.TransformSpec) {
				s.InputsFrom = []v1alpha1.InputReference{{Kind: "Secret", Name: path, TargetPath: "secret", Optional: true}}
			},
			"spec.serviceAccountName": func(s *v1alpha1.TransformSpec) { s.ServiceAccountName = path },
			"spec.sourceRef.name": func(s *v1alpha1.TransformSpec) {
				s.SourceRef = &v1alpha1.SourceReference{Kind: "GitRepository", Name: path}
			},
			"spec.sourceRef.namespace": func(s *v1alpha1.TransformSpec) {
				s.SourceRef = &v1alpha1.SourceReference{Kind: "GitRepository", Name: "a", Namespace: "../" + n.namespace}
			},
			"spec.cueRef": func(s *v1alpha1.TransformSpec) {
				s.CueRef = &v1alpha1.CueReference{Type: "configmap", Ref: path}
			},
			"spec.cueRef.pullSecretRef.name": func(s *v1alpha1.TransformSpec) {
				s.CueRef = &v1alpha1.CueReference{Type: "git", Ref: "https://localhost/a.git", PullSecretRef: &v1alpha1.LocalObjectReference{Name: path}}
			},
			"spec.policies[0].cueRef": func(s *v1alpha1.TransformSpec) {
				s.Policies = []v1alpha1.Policy{{Name: "a", CueRef: v1alpha1.CueReference{Type: "source", Ref: "Bucket/../a"}}}
			},
			"spec.dependsOn[0]": func(s *v1alpha1.TransformSpec) { s.DependsOn = []v1alpha1.TransformName{v1alpha1.TransformName(path)} },
			"spec.output.oci.pushSecretRef.name": func(s *v1alpha1.TransformSpec) {
				s.Output = &v1alpha1.Output{OCI: &v1alpha1.OCIOutput{Repository: "oci://localhost/a", PushSecretRef: &v1alpha1.LocalObjectReference{Name: path}}}
			},
			"spec.output.oci.repository": func(s *v1alpha1.TransformSpec) {
				s.Output = &v1alpha1.Output{OCI: &v1alpha1.OCIOutput{Repository: "oci://localhost/../a"}}
			},
		} {
			wrong := &v1alpha1.Transform{}
			wrong.Name, wrong.Namespace = "wrong", other
			wrong.Spec.CueRef = &v1alpha1.CueReference{Type: "embedded", Ref: "webservice"}
			change(&wrong.Spec)
			err := n.Client.Create(t.Context(), wrong)
			require.ErrorContains(t, err, field+": Invalid value")
			require.NotContains(t, strings.ReplaceAll(err.Error(), path, ""), name, "%s", field)
		}
	}
}
