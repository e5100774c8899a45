// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/test/artifacts"
	"github.com/ropewalk/ropewalk/test/servers"
)

func describe(mediaType string, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
}

func text(d ocispec.Descriptor) string {
	data, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return string(data)
}

type header = tar.Header

// tarball is a tar.gz of entries; a file's content is its name.
func tarball(t testing.TB, entries ...header) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for _, h := range entries {
		data := []byte(h.Name)
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag != tar.TypeReg {
			data = nil
		}
		h.Size = int64(len(data))
		require.NoError(t, w.WriteHeader(&h))
		_, err := w.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	return b.Bytes()
}

func TestPullTakesWhatFluxPushes(t *testing.T) {
	t.Parallel()
	l := openLayout(t, t.TempDir())
	raw(t, l, artifact.TypeFluxLayer, tarball(t, header{Name: ".", Typeflag: tar.TypeDir}, header{Name: "apps/", Typeflag: tar.TypeDir},
		header{Name: "apps/b.yaml", Mode: 0o600}, header{Name: "./a.yaml"}), "flux", nil)
	got, err := artifact.Pull(t.Context(), l, "flux", artifact.PullOptions{})
	require.NoError(t, err)
	require.Equal(t, []artifact.File{{Path: "a.yaml", Data: []byte("./a.yaml")}, {Path: "apps/b.yaml", Data: []byte("apps/b.yaml")}}, got.Files)
	require.NoError(t, fstest.TestFS(got.FS, "a.yaml", "apps/b.yaml"))
	_, err = fs.Stat(got.FS, "none")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestPullRefusesLayersOfOthers(t *testing.T) {
	t.Parallel()
	l := openLayout(t, t.TempDir())
	for name, c := range map[string]struct {
		layer []byte
		is    error
		want  string
	}{
		"above":          {tarball(t, header{Name: "../a"}), artifact.ErrShape, `"../a" in its layer is not a valid path`},
		"absolute":       {tarball(t, header{Name: "/a"}), artifact.ErrShape, `"/a" in its layer is not a valid path`},
		"inside":         {tarball(t, header{Name: "a/../../b"}), artifact.ErrShape, `is not a valid path`},
		"a backslash":    {tarball(t, header{Name: `a\b`}), artifact.ErrShape, `is not a valid path`},
		"twice":          {tarball(t, header{Name: "a"}, header{Name: "./a"}), artifact.ErrShape, `"a" is in its layer twice`},
		"file, folder":   {tarball(t, header{Name: "a"}, header{Name: "a/b"}), artifact.ErrShape, `"a" in its layer is a file and a folder`},
		"a symlink":      {tarball(t, header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/etc"}), artifact.ErrShape, `"a" in its layer is not a regular file`},
		"a hard link":    {tarball(t, header{Name: "a", Typeflag: tar.TypeLink, Linkname: "b"}), artifact.ErrShape, `is not a regular file`},
		"a device":       {tarball(t, header{Name: "a", Typeflag: tar.TypeChar}), artifact.ErrShape, `is not a regular file`},
		"no gzip":        {[]byte("kind: A\n"), artifact.ErrShape, `its layer is not a tar.gz, or is cut short`},
		"cut":            {tarball(t, header{Name: "a"}, header{Name: "b"})[:40], artifact.ErrShape, `its layer is not a tar.gz, or is cut short`},
		"too many":       {tarball(t, header{Name: "a"}, header{Name: "b"}, header{Name: "c"}, header{Name: "d"}), artifact.ErrLimit, `its layer has more than 3 files`},
		"many folders":   {tarball(t, folders(100)...), artifact.ErrLimit, `its layer has more than 3 entries`},
		"more after it":  {after(t, "more"), artifact.ErrShape, `data after the end of the tar`},
		"zeros after it": {after(t, strings.Repeat("\x00", 4<<20)), artifact.ErrLimit, `unpacks to more than`},
	} {
		t.Run(name, func(t *testing.T) {
			raw(t, l, artifact.TypeLayer, c.layer, "bad", nil)
			_, err := artifact.Pull(t.Context(), l, "bad", artifact.PullOptions{Limits: artifact.Limits{Files: 3, Bytes: 1 << 20}})
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, `"bad": `)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func folders(n int) []header {
	out := make([]header, n)
	for i := range out {
		out[i] = header{Name: strings.Repeat("a/", i+1), Typeflag: tar.TypeDir}
	}
	return out
}

// after is a layer with something behind its tar.
func after(t testing.TB, what string) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(tarball(t, header{Name: "a"})))
	require.NoError(t, err)
	plain := append(drain(t, r), what...)
	return zip(t, plain)
}

func zip(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestPullRefusesManifestsOfOthers(t *testing.T) {
	t.Parallel()
	o := servers.InProcess(t)
	good := tarball(t, header{Name: "a.yaml"})
	for name, c := range map[string]struct {
		mediaType string
		change    func(string) string
		is        error
		want      string
	}{
		"a layer of a wrong type": {"application/zip", nil, artifact.ErrShape, `its layer is "application/zip"`},
		"no layer": {artifact.TypeLayer, func(m string) string {
			return m[:strings.Index(m, `"layers"`)] + `"layers":[]}`
		}, artifact.ErrShape, `it has 0 layers: a render has exactly one`},
		"a tree digest that is not true": {artifact.TypeLayer, func(m string) string {
			return strings.TrimSuffix(m, "}") + `,"annotations":{"` + artifact.AnnotationTree + `":"sha256:1"}}`
		}, artifact.ErrDigest, `and its annotation says "sha256:1"`},
		"a list of layers that is none": {artifact.TypeLayer, func(m string) string {
			return strings.TrimSuffix(m, "}") + `,"annotations":{"` + artifact.AnnotationLayers + `":"{}"}}`
		}, artifact.ErrShape, `is not a list of layers`},
	} {
		t.Run(name, func(t *testing.T) {
			raw(t, repository(o, "shop"), c.mediaType, good, "bad", c.change)
			_, err := artifact.Pull(t.Context(), repository(o, "shop"), "bad", artifact.PullOptions{})
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := artifact.Pull(t.Context(), repository(o, "shop"), "a b", artifact.PullOptions{})
	require.ErrorIs(t, err, artifact.ErrReference)
}

func TestAServerThatLiesIsFoundOut(t *testing.T) {
	t.Parallel()
	o := servers.InProcess(t)
	pushed := artifacts.Push(t, repository(o, "shop"), artifacts.Single(t, strings.Repeat("kind: A\n", 99), ""), "v1")
	other := artifacts.Push(t, repository(o, "other"), artifacts.Single(t, "kind: B\n", ""), "v1")
	blob := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/blobs/") }
	manifest := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/manifests/") }
	flip := func(data []byte) []byte {
		data = bytes.Clone(data)
		data[len(data)/2] ^= 1
		return data
	}
	for name, c := range map[string]struct {
		at     func(*http.Request) bool
		answer func(*http.Request) http.Handler
		is     error
	}{
		"a byte of the layer": {blob, func(*http.Request) http.Handler { return servers.Alter(o.Server(), flip) }, artifact.ErrDigest},
		"the last byte of the layer": {blob, func(*http.Request) http.Handler {
			return servers.Alter(o.Server(), func(b []byte) []byte { return append(b[:len(b)-1:len(b)-1], b[len(b)-1]^1) })
		}, artifact.ErrDigest},
		"a layer that goes on": {blob, func(*http.Request) http.Handler {
			return servers.Alter(o.Server(), func(b []byte) []byte { return append(b, 0) })
		}, nil},
		"a layer that ends early": {blob, func(*http.Request) http.Handler {
			return servers.Alter(o.Server(), func(b []byte) []byte { return b[:len(b)-9] })
		}, nil},
		"a connection that is cut": {blob, func(*http.Request) http.Handler { return servers.Cut(o.Server(), 30) }, nil},
		"a byte of the manifest":   {manifest, func(*http.Request) http.Handler { return servers.Alter(o.Server(), flip) }, artifact.ErrDigest},
		"another manifest": {manifest, func(r *http.Request) http.Handler {
			r.URL.Path = "/v2/other/manifests/" + other.Digest
			return o.Server()
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o.Fault(func(r *http.Request) (http.Handler, bool) {
				if !c.at(r) || r.Method != http.MethodGet {
					return nil, false
				}
				return c.answer(r), true
			})
			defer o.Fault(nil)
			_, err := artifact.Pull(t.Context(), repository(o, "shop"), pushed.Digest, artifact.PullOptions{})
			require.Error(t, err)
			require.ErrorContains(t, err, pushed.Digest)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
		})
	}
	_, err := artifact.Pull(t.Context(), repository(o, "shop"), pushed.Digest, artifact.PullOptions{})
	require.NoError(t, err)
}

func TestABombIsNotUnpacked(t *testing.T) {
	l := openLayout(t, t.TempDir())
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	const size = 256 << 20
	require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "a.yaml", Size: size}))
	zeros := make([]byte, 1<<20)
	for range size / len(zeros) {
		_, err := w.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	raw(t, l, artifact.TypeLayer, b.Bytes(), "bomb", nil)
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := artifact.Pull(context.Background(), l, "bomb", artifact.PullOptions{})
	runtime.ReadMemStats(&now)
	require.ErrorIs(t, err, artifact.ErrLimit)
	require.Less(t, now.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}
