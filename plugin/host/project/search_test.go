// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/spec"
)

func TestPatternsMatchFolders(t *testing.T) {
	t.Parallel()
	for pattern, names := range map[string]map[string]bool{
		"**":            {"a": true, "a/b/c": true},
		"a/**":          {"a": false, "a/b": true, "a/b/c": true, "b/a": false},
		"a/**/**":       {"a": false, "a/b": true, "a/b/c": true},
		"**/*.yaml":     {"x.yaml": true, "a/b/x.yaml": true, "a/x.yml": false},
		"a/**/c/*":      {"a/c/x": true, "a/b/c/x": true, "a/c/b/c/x": true, "a/c/b/x": false, "a/c": false},
		"**/a/**/b":     {"a/b": true, "x/a/y/a/z/b": true, "b/a": false, "a/b/c": false},
		"**/a/*/**/b/c": {"a/b/b/c": true, "a/b/c": false, "a/a/x/b/c": true},
		"a/*":           {"a/b": true, "a/b/c": false, "a": false},
		"a":             {"a": true, "a/b": false},
	} {
		for name, want := range names {
			got, err := matches(pattern, name)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s of %s", pattern, name)
		}
	}
	_, err := matches("a/[", "a/b")
	require.Error(t, err)
}

// Sixteen folders in a path of thirty are chosen in 145 million ways.
func TestAPatternOfManyFoldersEnds(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	for range 1000 {
		ok, err := matches(strings.Repeat("**/a/", 16)+"b", strings.Repeat("a/", 30)+"c")
		require.NoError(t, err)
		require.False(t, ok)
	}
	require.Less(t, time.Since(begin), 5*time.Second)
}

// What a caller charges for ends the discovery at once, with its own error.
func TestAChargeEndsADiscovery(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	for i := range 100 {
		files[fmt.Sprintf("s%02d.yaml", i)] = &fstest.MapFile{Data: []byte("apiVersion: ropewalk.dev/v1alpha1\n")}
	}
	full := errors.New("full")
	charged := 0
	d, err := Open(Options{FS: files, Charge: func(text spec.File) error {
		if charged += len(text.Data); charged > 200 {
			return full
		}
		return nil
	}})
	require.NoError(t, err)
	defer d.Close()
	d.Find()
	require.Equal(t, full, d.Ended())
	require.Less(t, len(d.Files), 10)
	require.Empty(t, d.Errs)
}

// A search reads the beginning of a file, and says so where a spec may be behind it.
func TestASpecBehindTheBeginningOfALargeFileIsAMistake(t *testing.T) {
	t.Parallel()
	const score = "---\napiVersion: score.dev/v1b1\nmetadata: {name: a}\ncontainers: {a: {image: b}}\n"
	filler := strings.Repeat("# "+strings.Repeat("x", 1021)+"\n", 3*spec.MaxFile>>11) // 6 MiB
	for name, tt := range map[string]struct{ text, want string }{
		"behind":                 {filler + score, "l.yaml: spec: it has more than 4 MiB, and a document behind them that may be a spec: move that into a file of its own"},
		"over two parts":         {filler[:5<<20-15] + "\n" + score + filler, "behind them"},
		"manifests of others":    {filler + "---\napiVersion: v1\nkind: Pod\n", ""},
		"none, and a small file": {filler[:1<<20], ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := Open(Options{FS: fstest.MapFS{"l.yaml": &fstest.MapFile{Data: []byte(tt.text)}}})
			require.NoError(t, err)
			defer d.Close()
			d.Find()
			err = d.Errs.Err()
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}
