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
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// computed returns what kstatus makes of a Transform, as helm, Flux and kpt do.
func computed(t testing.TB, of *v1alpha1.Transform) kstatus.Status {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(of)
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: object}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.TransformKind))
	result, err := kstatus.Compute(u)
	require.NoError(t, err)
	return result.Status
}

// saying reports whether a condition of a Transform has a text in its message.
func saying(condition, text string) func(*v1alpha1.Transform) bool {
	return func(t *v1alpha1.Transform) bool {
		c := apimeta.FindStatusCondition(t.Status.Conditions, condition)
		return c != nil && strings.Contains(c.Message, text)
	}
}

// TestEveryStateIsOneOfKstatus looks at a state and at what kstatus makes of it in one read: Flux
// may look at a Kustomization once more, and then it is in progress again.
func TestEveryStateIsOneOfKstatus(t *testing.T) {
	n := newTenant(t)
	n.controller.Kill()
	n.transform("web", "{text: one}", "")
	require.Equal(t, kstatus.InProgressStatus, computed(t, n.get("web")), "it is new")
	n.controller.Restart(t)
	first := n.await("web", "is current for kstatus", func(now *v1alpha1.Transform) bool {
		is := computed(t, now)
		require.Contains(t, []kstatus.Status{kstatus.InProgressStatus, kstatus.CurrentStatus}, is)
		if is == kstatus.CurrentStatus {
			require.True(t, apimeta.IsStatusConditionTrue(now.Status.Conditions, "Ready"), "%+v", now.Status)
		}
		return is == kstatus.CurrentStatus
	}).Status.Artifact.Digest

	n.transform("web", "{text: 1}", "")
	n.state("web", kstatus.FailedStatus, "is stalled", func(now *v1alpha1.Transform) bool {
		return now.Status.ObservedGeneration == now.Generation && apimeta.IsStatusConditionTrue(now.Status.Conditions, "Stalled")
	})
	n.transform("web", "{text: two}", "")
	n.ready("web")
	n.Kubectl(t, "-n", n.namespace, "patch", "transform", "web", "--type=merge", "-p", `{"spec":{"rollback":{"digest":"`+first+`"}}}`)
	n.state("web", kstatus.CurrentStatus, "is rolled back", func(now *v1alpha1.Transform) bool {
		c := apimeta.FindStatusCondition(now.Status.Conditions, "Ready")
		return c.Reason == v1alpha1.RolledBackReason && now.Status.ObservedGeneration == now.Generation
	})

	// It waits for another one, and what is wrong with it may pass.
	n.transform("later", "{text: one}", "  dependsOn: [none]")
	n.state("later", kstatus.InProgressStatus, "waits", saying("Ready", `Transform "none" does not exist`))
	n.transform("failing", "{text: one}", "  inputsFrom: [{kind: ConfigMap, name: none}]")
	n.state("failing", kstatus.InProgressStatus, "fails", saying("Ready", "ConfigMap none/values.yaml does not exist"))

	n.Kubectl(t, "-n", n.namespace, "patch", "transform", "web", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	table := strings.Fields(n.Kubectl(t, "-n", n.namespace, "get", "transform", "web", "-o", "wide"))
	require.Contains(t, table, "SUSPENDED")
	require.Contains(t, table, "true")
}

// state waits until a Transform is as wanted, and wants kstatus to make a state of that.
func (n *tenant) state(name string, want kstatus.Status, what string, is func(*v1alpha1.Transform) bool) {
	n.t.Helper()
	require.Equal(n.t, want, computed(n.t, n.await(name, what, is)), what)
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
	now := n.await("web", "pushes", saying("Reconciling", "pushing the artifact to "+repository))
	require.Equal(t, "Progressing", apimeta.FindStatusCondition(now.Status.Conditions, "Ready").Reason)
	require.Equal(t, kstatus.InProgressStatus, computed(t, now))
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
