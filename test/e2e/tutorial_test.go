// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io/fs"
	"os"
	"path"
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

// settings is what the ConfigMap of the storefront says from now on.
func (t tutorial) settings(values string) {
	t.Helper()
	t.c.Apply(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: storefront, namespace: apps}\ndata: {values.yaml: '"+values+"'}\n")
}

// prepare does what comes before the Transform: the namespace and its Secrets, and the
// repository, which here is one of ours.
func (t tutorial) prepare() {
	t.Helper()
	t.c.Apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
	for _, name := range []string{"catalog-db", "cart-db"} {
		t.c.Apply(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: "+name+", namespace: shop}\nstringData: {password: never-rendered}\n")
	}
	files, root := map[string]string{}, filepath.Join(t.c.modules.Root, "..", "..", "cue", "examples", "shop")
	require.NoError(t, fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		files[path.Join("cue/examples/shop", name)] = string(data)
		return err
	}))
	repository := t.c.Git(t)
	repository.Commit(files)
	data, err := os.ReadFile("../../deploy/flux/examples/shop.yaml")
	require.NoError(t, err)
	t.c.Apply(t, regexp.MustCompile(`url: \S+`).ReplaceAllString(string(data), "url: "+repository.URL))
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
	to := tutorial{t, c}
	to.prepare()

	first := to.settle("the shop is there", "ReconciliationSucceeded", func(*v1alpha1.Transform) bool { return true })
	require.Len(t, first.Status.Layers, 4)
	var storefront appsv1.Deployment
	require.NoError(t, c.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "storefront"}, &storefront))
	t.Logf("\n%s", c.Kubectl(t, "-n", "apps", "get", "transforms,kustomizations"))

	// Step 4: one layer changes, and three do not.
	to.settings("autoscaling: {min: 3, max: 10}")
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
	to.settings("image: docker.io/evil/miner:latest")
	broken := to.settle("a rule is broken", "PolicyViolation", func(*v1alpha1.Transform) bool { return true })
	require.Equal(t, second.Status.Artifact.Digest, broken.Status.Artifact.Digest)
	require.NotEmpty(t, broken.Status.Violations)
	t.Logf("violation: %+v", broken.Status.Violations[0])
	require.Equal(t, "image-registry", broken.Status.Violations[0].Policy)
	require.Equal(t, "ConfigMap storefront/values.yaml:1:8", broken.Status.Violations[0].Position)
	to.settings("autoscaling: {min: 3, max: 10}")
	to.settle("it is mended", "ReconciliationSucceeded", func(*v1alpha1.Transform) bool { return true })

	// Step 6: back, and on again.
	c.Kubectl(t, "-n", "apps", "patch", "transform", "shop", "--type=merge", "-p", `{"spec":{"rollback":{"digest":"`+first.Status.Artifact.Digest+`"}}}`)
	c.Await(t, 2*time.Minute, "the first digest is delivered", func() bool {
		err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "storefront"}, &scaler)
		return err == nil && *scaler.Spec.MinReplicas == 2
	})
	c.Kubectl(t, "-n", "apps", "patch", "transform", "shop", "--type=json", "-p", `[{"op":"remove","path":"/spec/rollback"}]`)
	to.settle("it goes on", "ReconciliationSucceeded", func(now *v1alpha1.Transform) bool { return now.Status.Artifact.Digest == second.Status.Artifact.Digest })

	// Step 7: data stays.
	began := time.Now()
	c.Kubectl(t, "-n", "apps", "delete", "transform", "shop", "--timeout=3m")
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
