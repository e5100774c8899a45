// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

const (
	head          = "apiVersion: ropewalk.dev/v1alpha1\n"
	transformText = head + "kind: Transform\nmetadata: {name: web}\nspec:\n  cueRef: {type: embedded, ref: webservice}\n  input: {image: nginx}\n"
	componentText = head + "kind: Component\nmetadata: {name: shop}\nspec:\n  source: {type: oci, ref: \"oci://registry.example/shop:v1\"}\n  manifests: {paths: [.]}\n"
	composeText   = "services:\n  db: {image: \"postgres:17\"}\n"
	projectText   = head + "kind: Project\nmetadata: {name: all}\nspec:\n  context: {namespace: apps}\n" +
		"  policies:\n    - {name: strict, cueRef: {type: embedded, ref: policies}}\n" +
		"  environments:\n    prod:\n      context: {namespace: prod}\n      inputs:\n        web: {replicas: 3}\n"
)

// discovered is what files hold, before anything is made of it.
func discovered(t *testing.T, opts Options, files map[string]string) (found, documents) {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	opts.FS = fsys
	if opts.Args == nil {
		opts.Args = object.SortedKeys(files)
	}
	f, docs, err := Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}.discover(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	return f, docs
}

func TestDiscoverLeavesOtherFormsAsTheyAre(t *testing.T) {
	f, docs := discovered(t, Options{}, map[string]string{"compose.yaml": composeText, "web.yaml": transformText})
	require.Empty(t, f.Errs)
	require.Len(t, docs.Transforms, 1)
	require.Len(t, docs.Sources, 1)
	require.Empty(t, docs.Workloads)
}

func TestLowerMakesSpecsOfOtherForms(t *testing.T) {
	f, before := discovered(t, Options{}, map[string]string{"compose.yaml": composeText, "web.yaml": transformText})
	after, err := lower(t.Context(), f, before, variablesOf(f, before))
	require.NoError(t, err)
	require.Empty(t, f.Errs)
	require.Equal(t, []string{"db", "web"}, slices.Sorted(slices.Values(project.Names(after.Documents))))
	require.Empty(t, before.Workloads, "what came in stays as it was")
}

func TestOfTwoSpecsOfOneNameTheFirstCounts(t *testing.T) {
	f, before := discovered(t, Options{}, map[string]string{"compose.yaml": "services:\n  web: {image: nginx}\n", "web.yaml": transformText})
	after, err := lower(t.Context(), f, before, variablesOf(f, before))
	require.NoError(t, err)
	require.Empty(t, after.Workloads)
	require.ErrorContains(t, f.Errs.Err(), `a second spec is called "web"; the first is at web.yaml:3:18`)
}

func TestSettingsAreThoseOfTheEnvironmentUnderTheOptions(t *testing.T) {
	files := map[string]string{"ropewalk.yaml": projectText, "web.yaml": transformText}
	for name, c := range map[string]struct {
		opts      Options
		namespace string
		inputs    int
	}{
		"no environment": {Options{}, "apps", 0},
		"an environment": {Options{Environment: "prod"}, "prod", 1},
		"the caller":     {Options{Environment: "prod", Context: spec.Context{Namespace: "mine"}}, "mine", 1},
	} {
		t.Run(name, func(t *testing.T) {
			f, docs := discovered(t, c.opts, files)
			s := readSettings(f, docs)
			require.Empty(t, f.Errs)
			require.Equal(t, c.namespace, s.project.Context.Namespace)
			require.Equal(t, DefaultClusterDomain, s.project.Context.ClusterDomain, "every field is set")
			require.True(t, s.placed)
			require.Len(t, s.inputs, c.inputs)
			require.Equal(t, "all", s.name())
		})
	}
}

// Each front end takes its own documents, and says what is fetched for them.
func TestFrontEndsShareTheSpecs(t *testing.T) {
	f, docs := discovered(t, Options{}, map[string]string{
		"ropewalk.yaml": projectText, "web.yaml": transformText, "shop.yaml": componentText, "compose.yaml": composeText,
	})
	vars := variablesOf(f, docs)
	docs, err := lower(t.Context(), f, docs, vars)
	require.NoError(t, err)
	p := planning{found: f, docs: docs, settings: readSettings(f, docs), variables: vars}
	var refs [][]string
	for _, front := range frontEnds(p) {
		var own []string
		for _, r := range front.references() {
			own = append(own, r.key.Type+" "+r.key.Ref.Ref)
		}
		refs = append(refs, own)
	}
	require.Equal(t, [][]string{{"embedded webservice"}, nil, {"embedded workload", "embedded provisioners"}}, refs)
	require.ErrorContains(t, f.Errs.Err(), `shop.yaml:5:18: resolve: spec.source.type: cueRef.type "oci" is not available here`)
}
