// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package frontend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/frontend"
)

// What is recognized and has no front end would be read and never rendered, and the other way
// round a front end would never be asked.
func TestWhatIsRecognizedHasAFrontEnd(t *testing.T) {
	others := []string{spec.KindTransform, spec.KindPivotCluster, spec.KindGateway, spec.KindComponent}
	for _, kind := range spec.SpecKinds() {
		front := frontend.Of(kind)
		docs, err := spec.Parse([]spec.File{{Name: "a.yaml", Data: []byte("apiVersion: ropewalk.dev/v1alpha1\nkind: " + kind + "\nmetadata: {name: a}\nspec: {}\n")}})
		if len(docs.Workloads)+len(docs.Sources) == 0 {
			require.Contains(t, others, kind)
			require.Empty(t, front.Kind, kind)
			continue
		}
		require.NoError(t, err, kind)
		require.Equal(t, kind, front.Kind)
		require.Equal(t, len(docs.Sources) == 1, front.Compile != nil, kind)
		require.Equal(t, kind, front.Table().Kind)
	}
	files := map[string]string{
		spec.KindCompose: "services: {a: {image: a}}", spec.KindApps: "apps: [{name: a}]", spec.KindFuncYAML: "{runtime: go, specVersion: 0.36.0, name: a}",
	}
	for kind, text := range files {
		docs, err := spec.Parse([]spec.File{{Name: "a.yaml", Data: []byte(text)}})
		require.NoError(t, err, kind)
		require.Len(t, docs.Sources, 1)
		require.Equal(t, kind, docs.Sources[0].Kind)
		require.NotNil(t, frontend.Of(kind).Compile, kind)
	}
	require.Empty(t, frontend.Of("").Kind)
}
