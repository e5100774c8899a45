// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestWhatIsBesideSpecsAndIsNotRenderedIsReturned(t *testing.T) {
	t.Parallel()
	const score = "apiVersion: score.dev/v1b1\nmetadata: {name: a}\ncontainers: {a: {image: b}}\n"
	const object = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
	tree := fstest.MapFS{}
	for name, text := range map[string]string{
		"web.yaml": score, "service.yaml": object, "read.yaml": object, "below/ropewalk.yaml": "",
		"objects.cue": object, "other/ropewalk.yaml": "", "other/api.yaml": score,
	} {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for name, c := range map[string]struct {
		args []string
		want Rest
		warn string
	}{
		"a folder":               {[]string{"."}, Rest{NotRendered: []string{"service.yaml"}, Nested: []string{"below/ropewalk.yaml", "other/ropewalk.yaml"}}, "objects.cue: spec: the CUE package in this folder is not rendered"},
		"a file of a project":    {[]string{"other/api.yaml"}, Rest{NotApplied: []string{"other/ropewalk.yaml"}}, ""},
		"a file without project": {[]string{"web.yaml"}, Rest{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := Open(Options{FS: tree, Args: c.args})
			require.NoError(t, err)
			defer d.Close()
			d.Find()
			got := d.Unrendered(d.Documents(""), map[Location]bool{}, map[string]bool{"read.yaml": true})
			require.Equal(t, c.want, got)
			require.Empty(t, d.Errs.Failures())
			var warned string
			for _, e := range d.Errs {
				warned += e.Error()
			}
			require.Contains(t, warned, c.warn)
		})
	}
}
