// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func TestSuggestionsEndAfterAHundredMistakes(t *testing.T) {
	t.Parallel()
	var r Report
	for range 100 {
		r.Fail(object.Pos{File: "web.yaml"}, "", errors.New("wrong"))
	}
	require.Equal(t, `did you mean "web"?`, r.Suggest("wbe", []string{"web"}))
	r.Fail(object.Pos{File: "web.yaml"}, "", errors.New("wrong"))
	require.Empty(t, r.Suggest("wbe", []string{"web"}))
}

func TestAFileIsKeptOnceAndChargedOnce(t *testing.T) {
	t.Parallel()
	var charged []string
	kept := Texts{locations: map[string]Location{}, charged: func(f spec.File) error {
		charged = append(charged, f.Name)
		if f.Name == "large.yaml" {
			return errors.New("full")
		}
		return nil
	}}
	at := Location{Root: &Root{Dir: "."}, Dir: "."}
	require.True(t, kept.add(spec.File{Name: "web.yaml"}, at))
	require.False(t, kept.add(spec.File{Name: "web.yaml"}, at), "it is known")
	require.False(t, kept.add(spec.File{Name: "large.yaml"}, at), "it is over the limit")
	require.False(t, kept.add(spec.File{Name: "api.yaml"}, at), "the discovery has ended")
	require.Equal(t, []string{"web.yaml", "large.yaml"}, charged)
	require.EqualError(t, kept.Ended(), "full")
	require.Equal(t, at, kept.Location("web.yaml"))
	require.Equal(t, Location{}, kept.Location("large.yaml"))
	require.Len(t, kept.Files, 1)
}
