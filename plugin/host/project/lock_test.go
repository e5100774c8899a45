// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source/lock"
)

func TestTheLockIsBesideTheProject(t *testing.T) {
	t.Parallel()
	data, err := lock.File{}.Bytes()
	require.NoError(t, err)
	tree := fstest.MapFS{
		"shop/ropewalk.lock": {Data: data}, "shop/web.yaml": {}, "shop/sub/api.yaml": {}, "wrong/ropewalk.lock": {Data: []byte("kind: x\n")},
		"folder/ropewalk.lock/x": {}, "pipe/ropewalk.lock": {Mode: fs.ModeNamedPipe},
	}
	for name, c := range map[string]struct {
		args  []string
		found bool
		want  string
	}{
		"of a folder":             {[]string{"shop"}, true, ""},
		"of a file":               {[]string{"shop/web.yaml"}, true, ""},
		"of the first of several": {[]string{"shop", "wrong"}, true, ""},
		"none of a folder below":  {[]string{"shop/sub"}, false, ""},
		"none here":               {nil, false, ""},
		"none of standard input":  {[]string{"-"}, false, ""},
		"none of what is not":     {[]string{"none"}, false, ""},
		"one that is no lock":     {[]string{"wrong"}, true, "wrong/ropewalk.lock"},
		"a folder":                {[]string{"folder"}, false, "the lock is not a regular file of the project: it is a folder"},
		"a pipe":                  {[]string{"pipe"}, false, "it is a pipe, a socket or a device"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, found, err := Lock(Options{FS: tree, Args: c.args})
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.found, found)
		})
	}
}
