// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package configmap_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/configmap"
)

func fetcher(m configmap.ConfigMap) configmap.Fetcher {
	return configmap.Fetcher{Getter: configmap.GetterFunc(func(_ context.Context, name string) (configmap.ConfigMap, error) {
		if name != m.Name {
			return configmap.ConfigMap{}, source.Refuse(source.ErrNotFound, "no ConfigMap "+name)
		}
		return m, nil
	})}
}

func TestEveryKeyIsAFile(t *testing.T) {
	f := fetcher(configmap.ConfigMap{
		Name: "m", Data: map[string]string{"a.cue": "a"}, BinaryData: map[string][]byte{"b.bin": {0, 1}},
		UID: "u", ResourceVersion: "7",
	})
	tree, err := f.Fetch(context.Background(), source.Ref{Ref: "m"})
	require.NoError(t, err)
	require.Equal(t, "configmap:m", tree.Origin)
	require.Equal(t, "u/7", tree.Revision)
	data, err := fs.ReadFile(tree.FS, "b.bin")
	require.NoError(t, err)
	require.Equal(t, []byte{0, 1}, data)

	same, err := source.NewTree(map[string][]byte{"a.cue": []byte("a"), "b.bin": {0, 1}}, "", "")
	require.NoError(t, err)
	require.Equal(t, same.Digest, tree.Digest)
}

func TestFetchRefuses(t *testing.T) {
	f := fetcher(configmap.ConfigMap{Name: "m", Data: map[string]string{"a/b": "", "x": ""}, BinaryData: map[string][]byte{"x": nil}})
	_, err := f.Fetch(context.Background(), source.Ref{Ref: "none"})
	require.ErrorIs(t, err, source.ErrNotFound)
	_, err = f.Fetch(context.Background(), source.Ref{Ref: "m", Path: "sub"})
	require.EqualError(t, err, `a ConfigMap has no folder "sub"`)
	_, err = f.Fetch(context.Background(), source.Ref{Ref: "m"})
	require.EqualError(t, err, `"x" is in the tree twice`)
	f.Limits.Files = 1
	_, err = f.Fetch(context.Background(), source.Ref{Ref: "m"})
	require.True(t, errors.Is(err, source.ErrLimit))
}

func ExampleFetcher() {
	f := configmap.Fetcher{Getter: configmap.GetterFunc(func(_ context.Context, name string) (configmap.ConfigMap, error) {
		return configmap.ConfigMap{Name: name, Data: map[string]string{"module.cue": "a: 1\n"}}, nil
	})}
	tree, err := f.Fetch(context.Background(), source.Ref{Type: "configmap", Ref: "web"})
	fmt.Println(tree.Origin, err)
	// Output: configmap:web <nil>
}
