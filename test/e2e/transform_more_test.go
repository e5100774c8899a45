// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/test/servers"
)

func reason(t *v1alpha1.Transform) string {
	if c := apimeta.FindStatusCondition(t.Status.Conditions, meta.ReadyCondition); c != nil {
		return c.Reason
	}
	return ""
}

func TestTransformsWaitForEachOtherAndStopWhenSuspended(t *testing.T) {
	n := newTenant(t)
	n.transform("late", "{text: late}", "  dependsOn: [early]\n")
	n.await("late", "waits", func(t *v1alpha1.Transform) bool { return reason(t) == v1alpha1.DependencyNotReadyReason })
	start := time.Now()
	n.transform("early", "{text: early}", "")
	n.ready("late")
	t.Logf("both Ready after %s", time.Since(start).Round(10*time.Millisecond))

	n.transform("early", "{text: changed}", "  suspend: true\n")
	time.Sleep(3 * time.Second)
	require.Equal(t, "early", n.text("early"))
	n.transform("early", "{text: changed}", "")
	n.ready("early")
	require.Equal(t, "changed", n.text("early"))
}

func TestAnExternalArtifactIsDelivered(t *testing.T) {
	n := newTenant(t)
	apply := func(text string) {
		n.Apply(t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: web, namespace: %s}
spec:
  output: {externalArtifact: {}}
  cueRef:
    type: inline
    ref: |
      %s
  input: {text: %s}
`, n.namespace, indented(module, 6), text))
	}
	apply("one")
	// The gate of Flux is off, and the condition says what to do.
	n.await("web", "says that the gate is off", func(t *v1alpha1.Transform) bool {
		c := apimeta.FindStatusCondition(t.Status.Conditions, meta.ReadyCondition)
		return c != nil && c.Reason == v1alpha1.FeatureDisabledReason && strings.Contains(c.Message, "--feature-gates=ExternalArtifact=true")
	})
	n.Flags(t, n.KustomizeController, "--feature-gates=ExternalArtifact=true")
	n.ready("web")
	require.Equal(t, "one", n.text("web"))
	apply("two")
	n.ready("web")
	require.Equal(t, "two", n.text("web"))
	require.NoError(t, n.Client.Delete(t.Context(), n.get("web")))
	n.Await(t, soon, "it is gone", func() bool {
		return client.IgnoreNotFound(n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "web"}, &v1alpha1.Transform{})) == nil && n.text("web") == ""
	})
}

// TestManyTransformsAreRenderedAndPublished: some of the thousand that are promised, with
// nobody who applies them.
func TestManyTransformsAreRenderedAndPublished(t *testing.T) {
	long(t)
	const many = 200
	n := newTenant(t, "--concurrent=20") // a registry makes them wait more than they work
	var all strings.Builder
	for i := range many {
		fmt.Fprintf(&all, `
---
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: t%03d, namespace: %s}
spec:
  output: {oci: {repository: "oci://%s/%s/t%03d", insecure: true}}
  delivery: {type: None}
  cueRef: {type: embedded, ref: webservice}
  input: {image: "registry.example/web@sha256:%064d", ports: {http: {port: 8080, expose: 80}}}
`, i, n.namespace, n.Registry, n.namespace, i, i)
	}
	start := time.Now()
	n.Apply(t, all.String())
	t.Logf("applied after %s", time.Since(start).Round(10*time.Millisecond))
	ready := func() (count int) {
		var list v1alpha1.TransformList
		require.NoError(t, n.Client.List(t.Context(), &list, client.InNamespace(n.namespace)))
		for i := range list.Items {
			if apimeta.IsStatusConditionTrue(list.Items[i].Status.Conditions, meta.ReadyCondition) {
				count++
			}
		}
		return count
	}
	n.Await(t, 2*time.Minute, "all are Ready", func() bool { return ready() == many })
	t.Logf("%d requests of the registry", len(n.OCI.Requests()))
	t.Logf("%d rendered and published after %s", many, time.Since(start).Round(10*time.Millisecond))

	versions := func() map[string]string {
		var list v1alpha1.TransformList
		require.NoError(t, n.Client.List(t.Context(), &list, client.InNamespace(n.namespace)))
		out := map[string]string{}
		for _, item := range list.Items {
			out[item.Name] = item.ResourceVersion
		}
		return out
	}
	before, asked := versions(), len(n.OCI.Requests())
	n.controller.Kill()
	n.controller.Restart(t)
	start = time.Now()
	n.Await(t, soon, "the next one leads", func() bool { return n.controller.leads(t) })
	t.Logf("leads again after %s", time.Since(start).Round(10*time.Millisecond))
	time.Sleep(10 * time.Second)
	require.Equal(t, before, versions(), "a restart writes nothing")
	t.Logf("a restart asked the registry %d times for %d Transforms", len(n.OCI.Requests())-asked, many)
}

// TestTheArtifactsOfATransformGoWithIt asks the registry for its tags.
func TestTheArtifactsOfATransformGoWithIt(t *testing.T) {
	n, registry := newTenant(t), servers.Registry(t, servers.WithDelete())
	tags := func() string {
		text, _ := page(t.Context(), registry.Host, "/v2/web/tags/list")
		return text
	}
	apply := func(text, policy string) *v1alpha1.Transform {
		n.Apply(t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: web, namespace: %s}
spec:
  output: {oci: {repository: "oci://%s/web", insecure: true, deletionPolicy: %s}}
  cueRef: {type: inline, ref: 'a: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a", data: text: "%s"}'}
  history: 1
`, n.namespace, registry.Host, policy, text))
		return n.ready("web")
	}
	first := apply("one", "Keep")
	kept := tags()
	require.Contains(t, kept, `"transform.`+n.namespace+`.web"`)
	n.Kubectl(t, "delete", "transform", "web", "-n", n.namespace, "--timeout=1m")
	require.Equal(t, kept, tags())

	apply("one", "Delete")
	second := apply("two", "Delete")
	require.NotEqual(t, first.Status.Artifact.Digest, second.Status.Artifact.Digest)
	n.Await(t, soon, "the first is pruned", func() bool {
		return !strings.Contains(tags(), strings.TrimPrefix(first.Status.Artifact.Digest, "sha256:"))
	})
	n.Kubectl(t, "delete", "transform", "web", "-n", n.namespace, "--timeout=1m")
	require.NotContains(t, tags(), "-", "no tag is left")
	t.Logf("before: %safter: %s", kept, tags())
}
