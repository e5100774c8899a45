// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

const componentHead = "apiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: c}\nspec:\n"

// decodedComponent is the component of a document with that spec, and every mistake of both
// steps.
func decodedComponent(t *testing.T, text string) (spec.Transform, spec.Component, object.Errors) {
	t.Helper()
	docs, err := spec.Parse([]spec.File{{Name: "c.yaml", Data: []byte(componentHead + text)}})
	require.Len(t, docs.Transforms, 1)
	one := docs.Transforms[0]
	c, errs := spec.DecodeComponent(one.Component, one.ComponentPath(), one.Blocks)
	return one, c, append(object.AsErrors(err, object.StageSpec), errs...).Sorted()
}

func TestAComponentIsDecoded(t *testing.T) {
	one, c, errs := decodedComponent(t, `  dependsOn: [base]
  adopt: Never
  allowSecrets: ["app-*"]
  source: {type: git, ref: "https://example.com/x.git?tag=v1"}
  kustomize: {path: prod, enableHelm: true, loadRestrictor: none, namePrefix: x-, images: [{name: a, newTag: b}]}
  overlays:
    - select: {kind: Deployment, labels: {n: 1}}
      readyWhen: [{type: ConditionMatch, condition: Ready, timeout: 90s}]
      dependsOn: [a, other/b, other/]
      apply: {mode: Force, prune: false}
`)
	require.NoError(t, errs.Err())
	require.Equal(t, "Never", one.Adopt)
	require.Equal(t, []string{"app-*"}, one.AllowSecrets)
	require.Equal(t, spec.RefType("git"), c.Source.Type)
	require.True(t, c.Kustomize.EnableHelm && c.Kustomize.AnyPath)
	require.Equal(t, "spec.kustomize", c.Path.String())
	require.Equal(t, `{"images":[{"name":"a","newTag":"b"}],"namePrefix":"x-"}`, string(c.Kustomize.Fields.JSON()))
	require.Len(t, one.Overlays, 1)
	o := one.Overlays[0]
	require.Equal(t, map[string]string{"n": "1"}, o.Select.Labels)
	require.Equal(t, "True", o.ReadyWhen[0].Status)
	require.Equal(t, "90s", o.ReadyWhen[0].Timeout)
	require.Equal(t, []object.ID{"c/a", "other/b", "other/"}, []object.ID{o.DependsOn[0].ID, o.DependsOn[1].ID, o.DependsOn[2].ID})
	require.Equal(t, object.ModeForce, o.Apply.Mode)
	require.False(t, *o.Apply.Prune)
}

func TestAnArtifactIsASourceOfManifests(t *testing.T) {
	_, c, errs := decodedComponent(t, "  artifact: {ref: \"oci://example.com/x@sha256:0\", path: a, pullSecretRef: {name: s}, verify: {provider: cosign, secretRef: {name: k}}}\n")
	require.NoError(t, errs.Err())
	require.Equal(t, "oci://example.com/x@sha256:0", c.Source.Ref)
	require.Equal(t, "s", c.Source.PullSecretRef)
	require.Equal(t, "k", c.Source.Verify.SecretRef)
	require.Equal(t, ".", c.Manifests.Paths[0].Text)
}

func TestDecodeComponentSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":           {"  dependsOn: [a]\n", "c.yaml:5:3: spec: spec: expected one of artifact, helm, kustomize, manifests (write one of them"},
		"two":               {"  helm: {chart: ./x}\n  kustomize: {}\n", "c.yaml:6:14: spec: spec.kustomize: a component is built in one way, and this one has helm and kustomize (make two"},
		"a typo":            {"  kustomise: {}\n", `c.yaml:5:3: spec: spec.kustomise: unknown field "kustomise" (did you mean "kustomize"?)`},
		"a typo inside":     {"  helm: {chrt: x}\n", `c.yaml:5:10: spec: spec.helm.chrt: unknown field "chrt" (did you mean "chart"?)`},
		"empty manifests":   {"  manifests: {}\n", "c.yaml:5:14: spec: spec.manifests: holds neither inline nor paths (write inline"},
		"a URL as path":     {"  manifests: {paths: [\"https://x/y.yaml\"]}\n", `c.yaml:5:23: spec: spec.manifests.paths[0]: expected a path, got "https://x/y.yaml" (name where`},
		"an absolute path":  {"  kustomize: {path: /etc}\n", `c.yaml:5:21: spec: spec.kustomize.path: "/etc" is absolute (write`},
		"a wrong kind":      {"  kustomize: {enableHelm: \"yes\"}\n", "c.yaml:5:27: spec: spec.kustomize.enableHelm: expected a bool, got a string"},
		"a restrictor":      {"  kustomize: {loadRestrictor: LoadRestrictionsNone}\n", `c.yaml:5:31: spec: spec.kustomize.loadRestrictor: "LoadRestrictionsNone" is not known: expected rootOnly, none`},
		"an OCI repository": {"  helm: {chart: nginx, repo: \"oci://x/charts/\"}\n", `c.yaml:5:30: spec: spec.helm.repo: "oci://x/charts/" is not the URL of a chart repository (write chart: oci://x/charts/nginx, without repo)`},
		"a URL as chart":    {"  helm: {chart: \"https://x/nginx\"}\n", `c.yaml:5:17: spec: spec.helm.chart: "https://x/nginx" is neither a path nor the reference of an OCI chart (name the`},
		"a folder's version": {"  helm: {chart: ./x, version: 1.0.0}\n",
			"c.yaml:5:31: spec: spec.helm.version: a chart of a folder has no version to choose (remove it, or name the repository in repo)"},
		"hooks":               {"  helm: {chart: ./x, hooks: skip}\n", `c.yaml:5:29: spec: spec.helm.hooks: "skip" is not known: expected waves, reject`},
		"a source too much":   {"  source: {type: git, ref: x}\n  helm: {chart: a, repo: https://x}\n", "c.yaml:6:17: spec: spec.helm.chart: the chart does not come from the source (remove source"},
		"no OCI artifact":     {"  artifact: {ref: ghcr.io/x/y}\n", `c.yaml:5:19: spec: spec.artifact.ref: "ghcr.io/x/y" is not the reference of an OCI artifact (write oci://`},
		"an artifact's other": {"  source: {type: git, ref: x}\n  artifact: {ref: \"oci://x/y\"}\n", "c.yaml:5:11: spec: spec.source: an artifact has no source beside it (remove it"},
		"overlays":            {"  manifests: {paths: [a]}\n  overlays: {}\n", "c.yaml:6:13: spec: spec.overlays: expected a list, got a map"},
		"no selector":         {"  manifests: {paths: [a]}\n  overlays: [{patch: {}}]\n", "c.yaml:6:14: spec: spec.overlays[0].select: is missing"},
		"an empty selector":   {"  manifests: {paths: [a]}\n  overlays: [{select: {}, patch: {}}]\n", "c.yaml:6:23: spec: spec.overlays[0].select: selects nothing (write one of kind"},
		"nothing laid over":   {"  manifests: {paths: [a]}\n  overlays: [{select: {kind: A}}]\n", "c.yaml:6:14: spec: spec.overlays[0]: lays nothing over what it selects (write what"},
		"a patch as text":     {"  manifests: {paths: [a]}\n  overlays: [{select: {kind: A}, patch: \"a: b\"}]\n", "c.yaml:6:41: spec: spec.overlays[0].patch: expected a map or a list, got a string (write"},
		"an operation":        {"  manifests: {paths: [a]}\n  overlays: [{select: {kind: A}, patch: [{op: replace, path: /a}]}]\n", "c.yaml:6:42: spec: spec.overlays[0].patch[0].value: is missing"},
		"a rule":              {"  manifests: {paths: [a]}\n  overlays: [{select: {kind: A}, readyWhen: [{type: Exists, expr: a}]}]\n", `c.yaml:6:67: spec: spec.overlays[0].readyWhen[0].expr: has no meaning for type "Exists" (remove it, or write type: CEL)`},
		"a short timeout":     {"  manifests: {paths: [a]}\n  overlays: [{select: {kind: A}, readyWhen: [{type: Exists, timeout: 500ms}]}]\n", `c.yaml:6:70: spec: spec.overlays[0].readyWhen[0].timeout: "500ms" is not a timeout: expected a duration from 1s to 24h, such as 10m`},
		"a long timeout":      {"  manifests: {paths: [a]}\n  overlays: [{select: {kind: A}, readyWhen: [{type: Exists, timeout: 25h}]}]\n", `"25h" is not a timeout`},
		"a need":              {"  manifests: {paths: [a]}\n  overlays: [{select: {kind: A}, needs: [{kind: Secret, nane: b}]}]\n", "c.yaml:6:57: spec: spec.overlays[0].needs[0].nane: unknown field"},
		"a dependency":        {"  manifests: {paths: [a]}\n  overlays: [{select: {kind: A}, dependsOn: [\"a/b/c\"]}]\n", `c.yaml:6:46: spec: spec.overlays[0].dependsOn[0]: "a/b/c" is no node: expected`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, errs := decodedComponent(t, c.text)
			require.Len(t, errs, 1, "%v", errs)
			require.Contains(t, errs[0].Error(), c.want)
		})
	}
}
