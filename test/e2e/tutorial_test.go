// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// tutorial is the shop of deploy/flux/tutorial.md on a cluster.
type tutorial struct {
	*testing.T
	c *Cluster
	// clone is the folder that the commands run in.
	clone string
}

// shop is the Transform as it is now.
func (t tutorial) shop() *v1alpha1.Transform {
	t.Helper()
	var out v1alpha1.Transform
	require.NoError(t, t.c.Client.Get(t.Context(), client.ObjectKey{Namespace: "apps", Name: "shop"}, &out))
	return &out
}

// settle waits until the Transform has a reason, for what it is now.
func (t tutorial) settle(what, reason string, also func(*v1alpha1.Transform) bool) *v1alpha1.Transform {
	t.Helper()
	began := time.Now()
	var now *v1alpha1.Transform
	t.c.Await(t, 3*time.Minute, what, func() bool {
		now = t.shop()
		ready := apimeta.FindStatusCondition(now.Status.Conditions, "Ready")
		return now.Status.ObservedGeneration == now.Generation && ready != nil && ready.Reason == reason && also(now)
	})
	t.Logf("%s: %s", what, time.Since(began).Round(10*time.Millisecond))
	return now
}

// step runs the commands of a step as they stand in the text, one block after the other, in
// the clone that the text wants. The replacements are of what readers put in themselves.
func (t tutorial) step(number string, replacements ...string) {
	t.Helper()
	data, err := os.ReadFile("../../deploy/flux/tutorial.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(data), "\n## "+number+". ")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	script := "set -eu -o pipefail\n"
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		script += block[1]
	}
	for i := 0; i < len(replacements); i += 2 {
		require.Contains(t, script, replacements[i], "step %s", number)
		script = strings.ReplaceAll(script, replacements[i], replacements[i+1])
	}
	env := []string{"KUBECONFIG=" + t.c.Kubeconfig, "PATH=" + filepath.Dir(t.c.program(t, "kubectl")) + ":" + os.Getenv("PATH")}
	t.Logf("step %s:\n%s", number, t.c.Command(t, []string{"bash", "-c", "cd " + t.clone + "\n" + script}, env...))
}

// newTutorial is one with a clone of the files that the text is about, whose only commit is
// theirs, and a Git server on this machine.
func newTutorial(t *testing.T, c *Cluster) tutorial {
	t.Helper()
	out := tutorial{T: t, c: c, clone: t.TempDir()}
	root := filepath.Join(c.modules.Root, "..", "..")
	for _, dir := range []string{"cue/examples/shop", "deploy/flux/examples"} {
		require.NoError(t, os.CopyFS(filepath.Join(out.clone, dir), os.DirFS(filepath.Join(root, dir))))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=reader", "-c", "user.email=reader@example.com", "commit", "-q", "-m", "clone"}} {
		c.Command(t, append([]string{"git", "-C", out.clone}, args...))
	}
	return out
}

func layerDigests(of *v1alpha1.Transform) []string {
	var out []string
	for _, l := range of.Status.Layers {
		out = append(out, l.Digest)
	}
	return out
}

func TestTheTutorialGoesAsItSays(t *testing.T) {
	c := Shared(t)
	install(t, c)
	c.Flags(t, c.KustomizeController, "--feature-gates=ExternalArtifact=true")
	controller := startReplica(t, c, "controller-tutorial")
	to := newTutorial(t, c)
	// Other tests have namespaces of these names too.
	c.Kubectl(t, "delete", "namespace", "shop", "apps", "--ignore-not-found", "--timeout=2m")
	copied := c.Git(t)
	copied.Git.Run("config", "http.receivepack", "true")
	to.step("2", "https://git.example.com/you/ropewalk.git", copied.URL)

	first := to.settle("the shop is there", "ReconciliationSucceeded", func(*v1alpha1.Transform) bool { return true })
	require.Len(t, first.Status.Layers, 4)
	var storefront appsv1.Deployment
	require.NoError(t, c.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "storefront"}, &storefront))
	t.Logf("\n%s", c.Kubectl(t, "-n", "apps", "get", "transforms,kustomizations"))

	// Step 4: one layer changes, and three do not.
	to.step("4")
	second := to.settle("a setting is changed", "ReconciliationSucceeded", func(now *v1alpha1.Transform) bool {
		return now.Status.Artifact.Digest != first.Status.Artifact.Digest
	})
	before, after := layerDigests(first), layerDigests(second)
	require.Equal(t, before[:3], after[:3])
	require.NotEqual(t, before[3], after[3])
	var scaler autoscalingv2.HorizontalPodAutoscaler
	require.NoError(t, c.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "storefront"}, &scaler))
	require.Equal(t, int32(3), *scaler.Spec.MinReplicas)

	// Step 5: a rule is broken, and nothing changes.
	to.step("5")
	broken := to.settle("a rule is broken", "PolicyViolation", func(*v1alpha1.Transform) bool { return true })
	require.Equal(t, second.Status.Artifact.Digest, broken.Status.Artifact.Digest)
	require.NotEmpty(t, broken.Status.Violations)
	t.Logf("violation: %+v", broken.Status.Violations[0])
	require.Equal(t, "image-registry", broken.Status.Violations[0].Policy)
	require.Equal(t, "ConfigMap storefront/values.yaml:1:8", broken.Status.Violations[0].Position)
	to.step("4")
	to.settle("it is mended", "ReconciliationSucceeded", func(*v1alpha1.Transform) bool { return true })

	// Step 6: back, and on again.
	last := `kubectl -n apps patch transform shop --type=json -p '[{"op":"remove","path":"/spec/rollback"}]'`
	to.step("6", "sha256:…", first.Status.Artifact.Digest, last, "")
	c.Await(t, 2*time.Minute, "the first digest is delivered", func() bool {
		err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "storefront"}, &scaler)
		return err == nil && *scaler.Spec.MinReplicas == 2
	})
	c.Kubectl(t, "-n", "apps", "patch", "transform", "shop", "--type=json", "-p", `[{"op":"remove","path":"/spec/rollback"}]`)
	to.settle("it goes on", "ReconciliationSucceeded", func(now *v1alpha1.Transform) bool { return now.Status.Artifact.Digest == second.Status.Artifact.Digest })

	// Step 7: data stays.
	began := time.Now()
	to.step("7")
	t.Logf("deleted: %s", time.Since(began).Round(10*time.Millisecond))
	require.True(t, apierrors.IsNotFound(c.Client.Get(t.Context(), client.ObjectKeyFromObject(&storefront), &storefront)))
	var claims corev1.PersistentVolumeClaimList
	require.NoError(t, c.Client.List(t.Context(), &claims, client.InNamespace("shop")))
	require.NotEmpty(t, claims.Items)
	var namespace corev1.Namespace
	require.NoError(t, c.Client.Get(t.Context(), client.ObjectKey{Name: "shop"}, &namespace))
	require.Zero(t, namespace.DeletionTimestamp)

	text, _ := page(t.Context(), controller.metrics, "/metrics")
	t.Logf("%s", regexp.MustCompile(`(?m)^(process_resident_memory_bytes|process_cpu_seconds_total|ropewalk_worker_peak_bytes|ropewalk_transform_renders_total).*$`).FindAllString(text, -1))
	allowed(t, controller)
	require.False(t, strings.Contains(controller.Log(), "never-rendered"), "a password is in the log")
}
