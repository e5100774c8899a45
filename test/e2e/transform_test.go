// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

func TestATransformIsDeliveredChangedRolledBackAndDeleted(t *testing.T) {
	n := newTenant(t)
	start := time.Now()
	n.transform("web", "{text: one, replicas: 1}", "")
	first := n.ready("web")
	t.Logf("Ready after %s", time.Since(start).Round(10*time.Millisecond))
	require.Equal(t, "one", n.text("web"))
	require.Equal(t, "2/2", first.Status.Progress)
	require.Equal(t, int32(3), first.Status.NodeCount)
	require.Len(t, first.Status.Waves, 2)
	require.Equal(t, "layer-00", first.Status.Waves[0].Layer)
	require.Len(t, first.Status.History, 1)
	require.Len(t, first.Status.Artifact.Layers, 2)
	require.Len(t, n.kustomizations("web"), 2)
	require.True(t, apimeta.IsStatusConditionTrue(first.Status.Conditions, v1alpha1.ValidatedCondition))
	require.True(t, apimeta.IsStatusConditionTrue(first.Status.Conditions, v1alpha1.RenderedCondition))
	require.NotEmpty(t, first.Status.References)

	// Nothing is written while nothing changes.
	time.Sleep(2 * time.Second)
	require.Equal(t, first.ResourceVersion, n.get("web").ResourceVersion)

	start = time.Now()
	n.transform("web", "{text: two, replicas: 1}", "")
	second := n.ready("web")
	t.Logf("changed and Ready after %s", time.Since(start).Round(10*time.Millisecond))
	require.Equal(t, "two", n.text("web"))
	require.Len(t, second.Status.History, 2)

	// A mistake changes nothing, and says where it is.
	n.transform("web", "{text: 3, replicas: 1}", "")
	bad := n.stalled("web")
	require.Equal(t, v1alpha1.InvalidReason, bad.Reason)
	require.Contains(t, bad.Message, "spec.input.text: ")
	require.Equal(t, "two", n.text("web"))
	require.Equal(t, second.Status.Artifact.Digest, n.get("web").Status.Artifact.Digest)
	require.Equal(t, "spec.input.text", n.get("web").Status.Violations[0].Position)

	n.transform("web", "{text: four, replicas: 1}", "  rollback: {digest: \""+first.Status.Artifact.Digest+"\"}\n")
	n.ready("web")
	require.Equal(t, "one", n.text("web"))
	rolled := n.await("web", "has rendered what will come", func(t *v1alpha1.Transform) bool { return t.Status.Rendered != nil })
	require.Equal(t, first.Status.Artifact.Digest, rolled.Status.Artifact.Digest)
	require.NotEqual(t, rolled.Status.Artifact.Tree, rolled.Status.Rendered.Tree)
	require.Equal(t, v1alpha1.RolledBackReason, apimeta.FindStatusCondition(rolled.Status.Conditions, v1alpha1.RenderedCondition).Reason)

	n.transform("web", "{text: four, replicas: 1}", "")
	n.ready("web")
	require.Equal(t, "four", n.text("web"))

	require.NoError(t, n.Client.Delete(t.Context(), n.get("web")))
	n.Await(t, soon, "it is gone", func() bool {
		return apierrors.IsNotFound(n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "web"}, &v1alpha1.Transform{}))
	})
	require.Empty(t, n.kustomizations("web"))
	require.Empty(t, n.text("web"))
	allowed(t, n.controller)
}

// TestARollbackAsksForTheArtifactAlone rolls back while what the spec names cannot be had,
// or is wrong: that is when people roll back.
func TestARollbackAsksForTheArtifactAlone(t *testing.T) {
	address, held := silent(t)
	n := newTenant(t, "--plain-http="+address, "--plain-http=127.0.0.1:1")
	for name, then := range map[string]struct{ what, patch, says string }{
		"silent":  {"a server that says nothing", `{"spec":{"cueRef":{"type":"git","ref":"http://` + address + `/m.git?branch=main"}}}`, ""},
		"away":    {"a server that is away", `{"spec":{"cueRef":{"type":"git","ref":"http://127.0.0.1:1/m.git?branch=main"}}}`, "127.0.0.1:1"},
		"wrong":   {"a mistake", `{"spec":{"input":{"text":3}}}`, "spec.input.text: "},
		"waiting": {"a Transform that nobody has made", `{"spec":{"dependsOn":["database"]}}`, `Transform "database" does not exist`},
	} {
		t.Run(then.what, func(t *testing.T) {
			n.transform(name, "{text: one}", "")
			first := n.ready(name)
			n.transform(name, "{text: two}", "")
			n.ready(name)
			began := time.Now()
			patch := func(patch string) {
				n.Kubectl(t, "-n", n.namespace, "patch", "transform", name, "--type=merge", "-p", patch)
			}
			patch(then.patch)
			if name == "silent" {
				n.Await(t, soon, "it waits for the server", func() bool { return held() > 0 })
			}
			patch(`{"spec":{"rollback":{"digest":"` + first.Status.Artifact.Digest + `"}}}`)
			rolled := n.await(name, "is rolled back", func(now *v1alpha1.Transform) bool {
				ready := apimeta.FindStatusCondition(now.Status.Conditions, meta.ReadyCondition)
				return ready.Reason == v1alpha1.RolledBackReason && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == now.Generation
			})
			t.Logf("rolled back after %s", time.Since(began).Round(10*time.Millisecond))
			require.Equal(t, "one", n.text(name))
			require.Equal(t, first.Status.Artifact.Digest, rolled.Status.Artifact.Digest)
			told := n.await(name, "says what is wrong with the spec", func(now *v1alpha1.Transform) bool {
				of := apimeta.FindStatusCondition(now.Status.Conditions, v1alpha1.RenderedCondition)
				return of.Reason == v1alpha1.RolledBackReason && strings.Contains(of.Message, then.says)
			})
			require.True(t, apimeta.IsStatusConditionTrue(told.Status.Conditions, meta.ReadyCondition))
		})
	}
	allowed(t, n.controller)
}

// policy is inline CUE that wants few replicas.
const policy = `  policies:
  - name: small
    cueRef:
      type: inline
      ref: |
        package p

        ropewalk: {apiVersion: "v1alpha1", kind: "Policy"}
        #Input: {}
        input: #Input
        subject: {objects: [string]: {...}, ...}
        violations: [for id, o in subject.objects if o.kind == "Deployment" if o.spec.replicas > 2 {object: id, path: "spec.replicas", message: "at most 2 replicas"}]
`

func TestAPolicyThatSaysNoChangesNothing(t *testing.T) {
	n := newTenant(t)
	n.transform("web", "{text: one, replicas: 1}", policy)
	first := n.ready("web")
	n.transform("web", "{text: two, replicas: 3}", policy)
	no := n.stalled("web")
	require.Equal(t, v1alpha1.PolicyViolationReason, no.Reason)
	require.Contains(t, no.Message, "at most 2 replicas")
	now := n.get("web")
	require.True(t, apimeta.IsStatusConditionFalse(now.Status.Conditions, v1alpha1.ValidatedCondition))
	require.Equal(t, first.Status.Artifact.Digest, now.Status.Artifact.Digest)
	require.Equal(t, "small", now.Status.Violations[0].Policy)
	require.Equal(t, "one", n.text("web"))
}

// TestARenderWithoutObjectsIsRefused: Flux would delete all that was applied.
func TestARenderWithoutObjectsIsRefused(t *testing.T) {
	n := newTenant(t)
	set := func(make, more string) {
		n.Apply(t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: web, namespace: %s}
spec:
  output: {oci: {repository: "oci://%s/%s/web", insecure: true}}
  cueRef:
    type: inline
    ref: |
      package m
      ropewalk: apiVersion: "v1alpha1"
      input: make: bool
      context: {name: string, namespace: string, ...}
      graph: nodes: {
        if input.make {config: object: {
          apiVersion: "v1", kind: "ConfigMap"
          metadata: {name: "\(context.name)-config", namespace: context.namespace}
          data: text: "one"
        }}
      }
  input: {make: %s}
%s`, n.namespace, n.Registry, n.namespace, make, more))
	}
	set("true", "")
	first := n.ready("web")
	set("false", "")
	no := n.stalled("web")
	require.Equal(t, v1alpha1.InvalidReason, no.Reason)
	require.Contains(t, no.Message, "nothing was rendered, and what was applied before would be deleted (set spec.allowEmpty: true if that is meant)")
	now := n.get("web")
	require.Equal(t, first.Status.Artifact.Digest, now.Status.Artifact.Digest)
	require.Contains(t, now.Status.Violations[0].Message, "set spec.allowEmpty: true")
	require.Equal(t, "one", n.text("web"))
	set("false", "  allowEmpty: true\n")
	n.ready("web")
	require.Empty(t, n.text("web"))
}

func TestInputsOfTheClusterAreFollowedAndSecretsAreNotRead(t *testing.T) {
	const canary = "canary-5b1e77"
	n := newTenant(t)
	n.Apply(t, `
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: `+n.namespace+`}
stringData: {password: `+canary+`}
`)
	n.transform("web", "{text: own}", `  inputsFrom:
  - {kind: ConfigMap, name: settings}
  - {kind: Secret, name: db, key: password, targetPath: secret}
`)
	n.await("web", "waits", func(t *v1alpha1.Transform) bool {
		c := apimeta.FindStatusCondition(t.Status.Conditions, meta.ReadyCondition)
		return c != nil && c.Reason == v1alpha1.FetchFailedReason && strings.Contains(c.Message, "ConfigMap settings/values.yaml does not exist")
	})
	settings := func(text string) {
		n.Apply(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: `+n.namespace+`}
data: {values.yaml: "text: `+text+`"}
`)
	}
	settings("one")
	n.ready("web")
	require.Equal(t, "one", n.text("web"))
	settings("two")
	n.Await(t, soon, "the change is applied", func() bool { return n.text("web") == "two" })
	now := n.ready("web")

	require.NotContains(t, jsonOf(t, now), canary)
	// A mistake about the reference says no more.
	n.transform("web", "{text: own}", "  inputsFrom:\n  - {kind: Secret, name: db, key: password, targetPath: text}\n")
	require.Contains(t, n.stalled("web").Message, "text")
	require.NotContains(t, jsonOf(t, n.get("web")), canary)
	require.NotContains(t, n.controller.Log(), canary)
	require.NotContains(t, n.Kubectl(t, "get", "events", "-n", n.namespace, "-o", "yaml"), canary)
	pulled := n.Ropewalk(t, "artifact", "inspect", "oci://"+n.Registry+"/"+n.namespace+"/web@"+now.Status.Artifact.Digest, "--plain-http", n.Registry)
	require.NotContains(t, pulled, canary)
}

func jsonOf(t *testing.T, of any) string {
	t.Helper()
	data, err := json.Marshal(of)
	require.NoError(t, err)
	return string(data)
}

func TestAnAccountWithoutRightsIsToldWhichItNeeds(t *testing.T) {
	n := newTenant(t)
	n.Apply(t, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: poor, namespace: "+n.namespace+"}\n")
	n.transform("web", "{text: one}", "  serviceAccountName: poor\n")
	denied := n.stalled("web")
	require.Equal(t, v1alpha1.AccessDeniedReason, denied.Reason)
	require.Contains(t, denied.Message, `cannot`)
	require.Contains(t, denied.Message, `system:serviceaccount:`+n.namespace+`:poor`)
	require.Empty(t, n.kustomizations("web"))
	n.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: poor-delivers, namespace: `+n.namespace+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ropewalk-delivery}
subjects: [{kind: ServiceAccount, name: poor, namespace: `+n.namespace+`}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: poor-applies, namespace: `+n.namespace+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: ServiceAccount, name: poor, namespace: `+n.namespace+`}]
`)
	n.Kubectl(t, "annotate", "-n", n.namespace, "transform", "web", "reconcile.fluxcd.io/requestedAt=now", "--overwrite")
	now := n.ready("web")
	require.Equal(t, "now", now.Status.LastHandledReconcileAt)
	require.Equal(t, "poor", n.kustomizations("web")[0].Spec.ServiceAccountName)
}

func TestACommitThatChangesNothingIsNoPushAndIsTold(t *testing.T) {
	n := newTenant(t)
	repository := n.Git(t)
	hash := repository.Commit(fluxProject("text"))
	n.appOf(repository.URL)
	last := n.ready("app").Status.Artifact
	require.Equal(t, "main@sha1:"+hash, last.Revision)
	hash = repository.Commit(map[string]string{"README.md": "hello"})
	n.fetch(t, n.namespace, "app", hash)
	now := n.await("app", "has the revision", func(t *v1alpha1.Transform) bool { return strings.Contains(t.Status.Artifact.Revision, hash) })
	require.Equal(t, last.Digest, now.Status.Artifact.Digest)
	n.Await(t, soon, "an event names the commit", func() bool {
		return strings.Contains(n.Kubectl(t, "get", "events", "-n", n.namespace, "-o", "yaml"), hash)
	})
}
