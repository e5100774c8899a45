// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"io"
	"io/fs"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/ropewalk/ropewalk/plugin/argocd/internal/unpack"
	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
)

// received is a stream of messages that came.
type received struct{ parts []*wire.Part }

func (r *received) Recv() (*wire.Part, error) {
	if len(r.parts) == 0 {
		return nil, io.EOF
	}
	next := r.parts[0]
	r.parts = r.parts[1:]
	return next, nil
}

// FuzzStream reads messages, one behind the other, as a stream: its metadata as a
// request, and the rest as an archive.
func FuzzStream(f *testing.F) {
	wire.Register()
	for _, c := range []call{
		{archive: archive(f, texts(projectOf("web"))), path: "apps/web", env: params(`[{"name": "a", "map": {"b": "c"}}]`)},
		{archive: []byte("x"), path: "../..", checksum: "x", env: map[string]string{varSet: "a=1\n\nb", varKubeVersion: "v1.36+"}},
		{archive: []byte("x"), path: "./a//b/", env: params(`[{"name": "values", "array": ["../x"]}, {"name": "set", "string": "="}]`)},
	} {
		var data []byte
		for _, part := range []*wire.Part{c.metadata(), {Request: &wire.Part_File{File: &wire.File{Chunk: c.archive}}}} {
			message, err := proto.Marshal(part)
			require.NoError(f, err)
			data = append(append(data, byte(len(message)), byte(len(message)>>8)), message...)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		stream := &received{}
		for len(data) > 2 {
			n := min(int(data[0])|int(data[1])<<8, len(data)-2)
			part := &wire.Part{}
			if proto.Unmarshal(data[2:2+n], part) != nil {
				return
			}
			stream.parts, data = append(stream.parts, part), data[2+n:]
		}
		first, err := stream.Recv()
		if err != nil {
			return
		}
		r, err := requestOf(first.GetMetadata())
		if err != nil {
			require.LessOrEqual(t, len(text(err)), maxText)
			return
		}
		require.True(t, fs.ValidPath(r.Path), r.Path)
		requireSame(t, r, first)
		tree, err := unpack.Read(t.Context(), &chunks{from: stream}, unpack.Options{Checksum: r.Checksum, Dir: t.TempDir()})
		if err != nil {
			require.LessOrEqual(t, len(text(err)), maxText)
			return
		}
		defer tree.Close()
		_, _ = tree.Stat(r.Path) // it may not be there
	})
}

// requireSame wants a request to be rendered alike at another revision, whatever the
// order of its variables.
func requireSame(t *testing.T, r request, part *wire.Part) {
	t.Helper()
	m := proto.CloneOf(part.GetMetadata())
	names := map[string]bool{}
	for _, v := range m.GetEnv() {
		if names[v.GetName()] {
			return // the last one counts
		}
		names[v.GetName()] = true
	}
	slices.Reverse(m.Env)
	if !names["ARGOCD_APP_REVISION"] {
		m.Env = append(m.Env, &wire.Variable{Name: "ARGOCD_APP_REVISION", Value: "4f2a"})
	}
	other, err := requestOf(m)
	require.NoError(t, err)
	require.Equal(t, r.key(), other.key())
	require.Equal(t, r.bare.key(), other.bare.key())
	require.Equal(t, r.app, other.app)
}
