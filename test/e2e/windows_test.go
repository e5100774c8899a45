// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// frozen is a window that is closed for hours, in the field windows of a delivery.
func frozen() string {
	opens := time.Now().UTC().Add(6 * time.Hour)
	return fmt.Sprintf(`windows: [{kind: Allow, schedule: "0 %d %d %d *", duration: 30m, timeZone: Etc/UTC}]`, opens.Hour(), opens.Day(), opens.Month())
}

// held waits until a revision waits for its window, and returns the Transform.
func (n *tenant) held(name string, admitted string) *v1alpha1.Transform {
	n.t.Helper()
	t := n.await(name, "waits for its window", func(t *v1alpha1.Transform) bool {
		w := t.Status.Window
		return reasonOf(t) == v1alpha1.OutsideWindowReason && w != nil && w.Waiting == t.Status.Artifact.Digest && w.Admitted == admitted
	})
	require.Contains(n.t, messageOf(t), "waits for a window of spec.delivery.windows since ")
	require.Contains(n.t, messageOf(t), " until "+t.Status.Window.Until.UTC().Format(time.RFC3339))
	return t
}

// TestARevisionWaitsForItsWindow: it is published and shown, an annotation lets one through, and
// a window that opens lets the next one through without an event.
func TestARevisionWaitsForItsWindow(t *testing.T) {
	n := newTenant(t)
	closed := "  delivery: {" + frozen() + "}\n"
	n.transform("web", `{text: one}`, closed)
	n.held("web", "")
	require.Empty(t, n.kustomizations("web"), "not even the first revision is delivered")
	require.Empty(t, n.text("web"))

	// The annotation lets one revision through.
	n.Kubectl(t, "annotate", "transform", "web", "-n", n.namespace, "ropewalk.dev/override-window=the shop is down")
	first := n.ready("web")
	require.Equal(t, "one", n.text("web"))
	require.Contains(t, n.Kubectl(t, "get", "events", "-n", n.namespace, "-o", "jsonpath={.items[*].message}"), "delivering outside of its windows: the shop is down")
	n.transform("web", `{text: two}`, closed)
	n.held("web", first.Status.Artifact.Digest)
	require.Equal(t, "one", n.text("web"))
	list := n.Ropewalk(t, "get", "transforms", "-n", n.namespace, "--kubeconfig", n.KubeconfigFor(t, system, "ropewalk-controller"))
	require.Contains(t, list, "waits for a window of spec.delivery.windows since ")

	// Outside of a freeze nothing waits.
	n.transform("web", `{text: two}`, strings.Replace(closed, "Allow", "Deny", 1))
	n.ready("web")
	require.Equal(t, "two", n.text("web"))
	allowed(t, n.controller)
}

// TestAWindowOpensByItself: nothing but time tells the controller.
func TestAWindowOpensByItself(t *testing.T) {
	n := newTenant(t)
	opens := time.Now().UTC().Add(90 * time.Second).Truncate(time.Minute)
	n.transform("web", `{text: one}`, fmt.Sprintf("  delivery: {windows: [{kind: Allow, schedule: \"%d %d * * *\", duration: 30m}]}\n", opens.Minute(), opens.Hour()))
	n.held("web", "")
	n.ready("web")
	require.False(t, time.Now().Before(opens))
	require.Equal(t, "one", n.text("web"))
}

// TestAnApplicationIsNotChangedOutsideOfAWindow: Argo CD keeps the digest that was admitted.
func TestAnApplicationIsNotChangedOutsideOfAWindow(t *testing.T) {
	n, _ := newArgoTenant(t)
	n.transform("web", `{text: one}`, byArgo)
	first := n.ready("web")
	n.transform("web", `{text: two}`, strings.Replace(byArgo, "delivery: {", "delivery: {"+frozen()+", ", 1))
	n.held("web", first.Status.Artifact.Digest)
	at := n.Kubectl(t, "-n", "argocd", "get", "application", n.namespace+".web", "-o", "jsonpath={.spec.source.targetRevision}")
	require.Equal(t, first.Status.Artifact.Digest, at)
	require.Equal(t, "one", n.text("web"))
	n.Kubectl(t, "annotate", "transform", "web", "-n", n.namespace, "ropewalk.dev/override-window=now")
	n.ready("web")
	require.Equal(t, "two", n.text("web"))
}
