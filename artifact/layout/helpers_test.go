// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"context"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
)

var _ artifact.Store = (*layout.Layout)(nil)

// at is the time of pushes.
var at = time.Date(2026, 11, 21, 13, 15, 0, 0, time.UTC)

const typeGraph = "application/vnd.example.graph+json"

func open(t testing.TB, dir string) *layout.Layout {
	t.Helper()
	l, err := layout.Open(dir, true)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// tree is a tree of manifests, by name and content.
func tree(pairs ...string) fs.FS {
	out := fstest.MapFS{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

// single is a set of one artifact with that content.
func single(t testing.TB, content, revision string) artifact.Set {
	t.Helper()
	set, err := artifact.PackSet(tree("0-ConfigMap--shop.yaml", content), nil, artifact.Options{Revision: revision})
	require.NoError(t, err)
	return set
}

// layered is a set with two barrier layers.
func layered(t testing.TB, first, second, revision string) artifact.Set {
	t.Helper()
	set, err := artifact.PackSet(tree("0.yaml", first, "1.yaml", second), []artifact.Layer{
		{Name: "base", FS: tree("0.yaml", first)}, {Name: "apps", FS: tree("1.yaml", second)},
	}, artifact.Options{Revision: revision})
	require.NoError(t, err)
	return set
}

func push(t testing.TB, to artifact.Store, set artifact.Set, tags ...string) artifact.Pushed {
	t.Helper()
	pushed, err := artifact.Push(context.Background(), to, set, tags, artifact.PushOptions{At: at})
	require.NoError(t, err)
	return pushed
}
