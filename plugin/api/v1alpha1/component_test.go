// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReferencesOfASpecAreNamedByTheirPlace(t *testing.T) {
	ref := func(name string) *CueReference { return &CueReference{Ref: name} }
	for name, c := range map[string]struct {
		spec RenderSpec
		one  bool
		want []string
	}{
		"a project":                    {RenderSpec{}, false, nil},
		"a module":                     {RenderSpec{CueRef: ref("a")}, true, []string{"spec.cueRef a"}},
		"a component of the source":    {RenderSpec{Component: &Component{}}, true, nil},
		"a component of another place": {RenderSpec{Component: &Component{Source: ref("b")}}, true, []string{"spec.component.source b"}},
	} {
		require.Equal(t, c.one, c.spec.One(), name)
		var got []string
		for _, r := range c.spec.References() {
			got = append(got, r.At+" "+r.Ref.Ref)
			r.Ref.Ref = "changed"
		}
		require.Equal(t, c.want, got, name)
		for _, r := range c.spec.References() {
			require.Equal(t, "changed", r.Ref.Ref, "a caller may change them")
		}
	}
}
