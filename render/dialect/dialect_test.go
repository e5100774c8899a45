// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package dialect_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/dialect"
)

func TestDialectsAreFoundByTheirNames(t *testing.T) {
	require.Equal(t, []string{"plain", "argocd", "flux"}, dialect.Names())
	for _, name := range dialect.Names() {
		d, err := dialect.Find(dialect.Name(name))
		require.NoError(t, err)
		require.Equal(t, dialect.Name(name), d.Name)
		require.NotEmpty(t, d.Title)
	}
	d, err := dialect.Find("")
	require.NoError(t, err)
	require.Equal(t, dialect.Plain, d.Name)
	_, err = dialect.Find("helm")
	require.EqualError(t, err, `unknown dialect "helm": expected plain, argocd or flux`)
}

// What a writer sets, a reader of the table has to know: the wave, and each annotation of a mark.
func TestAnnotationsOfMarksAreThoseOfTheDialect(t *testing.T) {
	for _, d := range dialect.All() {
		if d.WaveAnnotation != "" {
			require.Contains(t, d.Annotations, d.WaveAnnotation, d.Name)
		}
		for _, marks := range [][]dialect.Mark{d.Keep, d.Recreate, d.Watch} {
			for _, m := range marks {
				require.NotEmpty(t, m.Annotation, d.Name)
				require.NotEmpty(t, m.Entry, d.Name)
			}
		}
	}
}

func TestAMarkIsOneOfTheEntriesOfAnAnnotation(t *testing.T) {
	exact := dialect.Mark{Annotation: "sync", Entry: "Prune=false"}
	any := dialect.Mark{Annotation: "sync", Entry: "Prune=false", AnyCase: true}
	for value, want := range map[string][2]bool{
		"Prune=false": {true, true}, "Replace=true, Prune=false": {true, true}, "Prune=false,": {true, true}, "prune=FALSE": {false, true},
		"": {}, "Prune=false2": {}, "Prune=false;Replace=true": {}, "Prune": {},
	} {
		on := map[string]string{"sync": value}
		require.Equal(t, want, [2]bool{exact.On(on), any.On(on)}, value)
		require.Equal(t, want[1], dialect.AnyOn([]dialect.Mark{exact, any}, on), value)
	}
	require.False(t, exact.On(nil))
	require.False(t, dialect.AnyOn(nil, map[string]string{"sync": "Prune=false"}))
}
