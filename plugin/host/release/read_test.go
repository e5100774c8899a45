// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/release"
)

// oldPlan has only what every version wrote.
const oldPlan = `apiVersion: ropewalk.dev/v1alpha1
kind: BuildPlan
metadata: {name: shop}
spec:
  ropewalk: v0.1.0
  dialect: flux
  inputs: sha256:10d04468dc1204ce32fe6234da7ef19f02d6d29f15a92a2e0392711facaf6791
  destination: {repository: oci://registry.example/shop, tags: [v1]}
  artifact:
    digest: sha256:7b73bfeee39b84f3e8c1d9b8fa160bed3871747107d65947aff532b9a8947f9e
    tree: sha256:bf778891330fb4753037c7d6e8fe0942639d62524f0dbdcf94777851ffa132e9
checksum: sha256:3308a8cac72a8e09dd172c8c52b4c3eee1117ef89a71e5693a2080159a496717
`

const installation = `apiVersion: ropewalk.dev/v1alpha1
kind: Installation
metadata: {name: berlin}
spec:
  registry: oci://registry.example/berlin
  engine: flux
  namespace: shop
  insecure: false
  secrets: {pull: regcred}
  verify: {keys: [release.pub]}
  components:
    - {name: a, from: oci://build.example/a, version: v1}
    - {name: b, from: oci://build.example/b, digest: "sha256:7b73bfeee39b84f3e8c1d9b8fa160bed3871747107d65947aff532b9a8947f9e"}
`

const artifactSync = `apiVersion: ropewalk.dev/v1alpha1
kind: ArtifactSync
metadata: {name: all}
spec:
  artifacts:
    - {from: oci://build.example/a:v1, to: oci://registry.example/a, tags: [v1, stable]}
    - {from: oci://build.example/b:v2, to: oci://registry.example/b}
`

func TestAnOldPlanIsReadAndANewOneIsNot(t *testing.T) {
	document, err := release.Read("plan.yaml", []byte(oldPlan), "v0.9.0")
	require.NoError(t, err)
	require.Equal(t, "flux", document.(*release.BuildPlan).Spec.Dialect)
	_, err = release.Read("plan.yaml", []byte(strings.Replace(oldPlan, "dialect: flux", "dialect: argocd", 1)), "v0.9.0")
	require.ErrorIs(t, err, release.ErrPlan)
	require.ErrorContains(t, err, "the plan was altered")
	for _, change := range [][2]string{{"v1alpha1", "v1"}, {"v0.1.0", "v0.10.0"}} {
		_, err = release.Read("plan.yaml", []byte(strings.Replace(oldPlan, change[0], change[1], 1)), "v0.9.0")
		require.ErrorIs(t, err, release.ErrPlan)
		require.ErrorContains(t, err, "use a newer ropewalk")
	}
}

func TestNamespacesHaveFieldsOfTheirInstallation(t *testing.T) {
	text := strings.NewReplacer("name: berlin}", "name: berlin, labels: {team: web, kind: Big}}", "namespace: shop", "environment: prod\n  namespace: \"{labels.team}-{name}-{environment}\"",
		"version: v1}", "version: v1, namespace: \"{name}\"}").Replace(installation)
	document, err := release.Read("berlin.yaml", []byte(text), "")
	require.NoError(t, err)
	spec := document.(*release.Installation).Spec
	require.Equal(t, "web-berlin-prod", spec.Namespace)
	require.Equal(t, "berlin", spec.Components[0].Namespace)
	require.Empty(t, spec.Components[1].Namespace)
	_, err = release.Read("berlin.yaml", []byte(strings.Replace(text, "{labels.team}", "{labels.kind}", 1)), "")
	require.ErrorContains(t, err, `berlin.yaml:8:14: spec: spec.namespace: "{labels.kind}-{name}-{environment}" becomes "Big-berlin-prod", which may hold only a-z`)
}

func TestWhatIsCopiedOfAnInstallation(t *testing.T) {
	document, err := release.Read("berlin.yaml", []byte(installation), "")
	require.NoError(t, err)
	items := document.(*release.Installation).Items(nil)
	require.Equal(t, "oci://build.example/a:v1", items[0].From.String())
	require.Equal(t, "oci://registry.example/berlin/a:v1", items[0].To.String())
	require.Contains(t, items[1].From.String(), "b@sha256:7b73")
	require.Equal(t, "oci://registry.example/berlin/b", items[1].To.String())
	document, err = release.Read("sync.yaml", []byte(artifactSync), "")
	require.NoError(t, err)
	items = document.(*release.ArtifactSync).Items(nil)
	require.Equal(t, []string{"v1", "stable"}, items[0].Tags)
	require.Equal(t, "oci://registry.example/b:v2", items[1].To.String(), "the tag of the source")
}

// The documents of the guide are read; those that are cut short have an ellipsis.
func TestTheGuideShowsDocuments(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "releases.md"))
	require.NoError(t, err)
	seen := 0
	for i, block := range strings.Split(string(guide), "```") {
		text, ok := strings.CutPrefix(block, "yaml\n")
		if i%2 == 0 || !ok || strings.Contains(text, "…") || release.KindOf([]byte(text)) == "" {
			continue
		}
		_, err := release.Read("guide.yaml", []byte(text), "")
		require.NoError(t, err, text)
		seen++
	}
	require.Equal(t, 3, seen)
}

func TestMistakesAreAtTheirLines(t *testing.T) {
	for _, tt := range []struct{ text, old, new, want string }{
		{installation, "kind: Installation", "kind: Install", "bad.yaml:1:1: spec: it is none of ArtifactSync, BuildPlan, DeployPlan, Installation, PreviewPlan"},
		{installation, "name: berlin", "name: Berlin", `bad.yaml:3:18: spec: metadata.name: "Berlin" may hold only a-z`},
		{installation, "metadata: {name: berlin}\n", "", "bad.yaml:1:1: spec: metadata: is missing"},
		{installation, "registry: oci://", "registry: https://", `bad.yaml:5:13: spec: spec.registry: "https://registry.example/berlin" is not oci://REGISTRY`},
		{installation, "engine: flux", "engine: helm", `bad.yaml:6:11: spec: spec.engine: "helm" is not known: expected flux, argocd, transform`},
		{installation, "  engine: flux\n", "", "bad.yaml:5:3: spec: spec.engine: is missing"},
		{installation, "namespace: shop", "namespace: 7", "bad.yaml:7:14: spec: spec.namespace: expected a string, got a number"},
		{installation, "insecure: false", "insecure: maybe", "bad.yaml:8:13: spec: spec.insecure: expected a bool, got a string"},
		{installation, "pull:", "pul:", `bad.yaml:9:13: spec: spec.secrets.pul: unknown field "pul" (did you mean "pull"?)`},
		{installation, "keys: [release.pub]", "keys: release.pub", "bad.yaml:10:18: spec: spec.verify.keys: expected a list, got a string"},
		{installation, "from: oci://build.example/a", "from: oci://build.example/a:v1", `bad.yaml:12:23: spec: spec.components[0].from: "oci://build.example/a:v1" is not oci://`},
		{installation, "from: oci://build", "from: oci://me:secret@build", "bad.yaml:12:23: spec: spec.components[0].from: this is not oci://REGISTRY/REPOSITORY without a tag, without credentials"},
		{installation, ", version: v1", "", `bad.yaml:12:7: spec: spec.components[0]: the component "a" lacks version and digest`},
		{installation, "version: v1", "version: v 1", `bad.yaml:12:55: spec: spec.components[0].version: "v 1" is not a tag`},
		{installation, "sha256:7b73", "sha256:7", `bad.yaml:13:54: spec: spec.components[1].digest: "sha256:7`},
		{installation, "name: b,", "name: a,", `bad.yaml:13:14: spec: spec.components[1].name: "a" is there twice`},
		{installation, "namespace: shop", "namespace: shop-{nam}", `bad.yaml:7:14: spec: spec.namespace: "{nam}" is no field of the Installation (did you mean "name"?)`},
		{installation, "namespace: shop", "namespace: shop-{labels.team}", `bad.yaml:7:14: spec: spec.namespace: "{labels.team}" is no field of the Installation (known: environment, name)`},
		{installation, "namespace: shop", "namespace: \"{environment}-shop\"", `bad.yaml:7:14: spec: spec.namespace: {environment} is absent (write spec.environment)`},
		{installation, "namespace: shop", "namespace: shop-{name", `bad.yaml:7:14: spec: spec.namespace: "shop-{name" may hold only a-z`},
		{installation, "engine: flux", "engine: flux\n  cluster: {server: \"https://10.0.0.1\"}", `bad.yaml:7:21: spec: spec.cluster.server: the engine flux knows no clusters by it (write kubeConfig`},
		{installation, "engine: flux", "engine: transform\n  cluster: {name: paris}", `bad.yaml:7:19: spec: spec.cluster.name: the engine transform knows no clusters by it`},
		{installation, "engine: flux", "engine: argocd\n  cluster: {kubeConfig: {secretRef: {name: paris}}}", `bad.yaml:7:25: spec: spec.cluster.kubeConfig: the engine argocd knows no clusters by it (write server or name`},
		{installation, "engine: flux", "engine: argocd\n  cluster: {server: \"https://a\", name: b}", `bad.yaml:7:21: spec: spec.cluster.server: has no meaning beside name`},
		{installation, "engine: flux", "engine: argocd\n  cluster: {}", `bad.yaml:7:12: spec: spec.cluster.kubeConfig: is missing (write kubeConfig`},
		{installation, "engine: flux", "engine: argocd\n  cluster: {server: \"https://me:secret@host\"}", `bad.yaml:7:21: spec: spec.cluster.server: this is not the URL of an API server`},
		{installation, "engine: flux", "engine: flux\n  cluster: {kubeConfig: {secretRef: {name: A}}}", `bad.yaml:7:44: spec: spec.cluster.kubeConfig.secretRef.name: "A" is not the name of a Secret`},
		{artifactSync, "from: oci://build.example/a:v1", "from: oci://build.example/a", "bad.yaml:6:14: spec: spec.artifacts[0].from:"},
		{artifactSync, "to: oci://registry.example/a", "to: here", `bad.yaml:6:44: spec: spec.artifacts[0].to: "here"`},
		{artifactSync, "[v1, stable]", "[v1, /]", `spec.artifacts[0].tags[1]: "/" is not a tag`},
		{artifactSync, "to: oci://registry.example/b}", "}", "bad.yaml:7:7: spec: spec.artifacts[1].to: is missing"},
		{oldPlan, "tags: [v1]", "tags: []", "bad.yaml:8:64: spec: spec.destination.tags: must not be empty"},
		{oldPlan, "  inputs: sha256:10", "  inputs: sha1:10", "bad.yaml:7:11: spec: spec.inputs:"},
		{oldPlan, "checksum", "checksums", `bad.yaml:12:1: spec: checksums: unknown field "checksums" (did you mean "checksum"?)`},
	} {
		require.Contains(t, tt.text, tt.old)
		_, err := release.Read("bad.yaml", []byte(strings.Replace(tt.text, tt.old, tt.new, 1)), "v0.9.0")
		require.ErrorContains(t, err, tt.want)
		require.NotContains(t, err.Error(), "secret@")
	}
}
