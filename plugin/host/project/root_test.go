// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

func TestAFileThatAWorkloadNamesIsInTheRoot(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"apps/web/config.ini": {Data: []byte("a=1")}, "shared.ini": {Data: []byte("b=2")},
		"large.bin": {Data: []byte(strings.Repeat("x", spec.MaxFile+1))},
	}
	folder, err := rootfs.Of(tree, ".")
	require.NoError(t, err)
	at := Location{Root: &Root{FS: tree, Dir: ".", folder: folder}, Dir: "apps/web"}
	for name, want := range map[string]string{"config.ini": "a=1", "./config.ini": "a=1", "../../shared.ini": "b=2"} {
		data, err := at.Read(name)
		require.NoError(t, err, name)
		require.Equal(t, want, string(data))
	}
	for name, want := range map[string]string{
		"/etc/passwd": "expected a path relative to the file of the workload", `..\shared.ini`: "with / between folders",
		"../../../etc/passwd": "leaves the root of the project", "none.ini": "no such file", "../../large.bin": "has more than 4 MiB",
	} {
		_, err := at.Read(name)
		require.ErrorContains(t, err, want, name)
	}
	_, err = Location{Dir: "."}.Read("config.ini")
	require.ErrorContains(t, err, "leaves the root", "of a document that no root holds nothing is read")
}

func TestANameWithASlipHasAFileThatIsNear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "overlays"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlays", "values.yaml"), nil, 0o600))
	for name, want := range map[string]string{
		"overlays/value.yaml":  "overlays/values.yaml",
		"overlay/values.yaml":  "overlays",
		"overlays/values.yaml": "", // it is there
		"overlays/other.json":  "",
		"elsewhere/x/y.yaml":   "",
	} {
		got := NearestFile(filepath.Join(dir, name))
		if want != "" {
			want = `did you mean "` + filepath.ToSlash(filepath.Join(dir, want)) + `"?`
		}
		require.Equal(t, want, got, name)
	}
}
