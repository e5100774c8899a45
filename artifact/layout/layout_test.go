// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/test/artifacts"
)

func TestALayoutIsReadByOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pushed := artifacts.Push(t, open(t, dir), artifacts.Layered(t, "a", "b", ""), "v1")
	other, err := oci.New(dir)
	require.NoError(t, err)
	d, err := other.Resolve(t.Context(), "v1")
	require.NoError(t, err)
	require.Equal(t, pushed.Digest, d.Digest.String())
	parent := t.TempDir()
	written, err := oci.New(filepath.Join(parent, "theirs"))
	require.NoError(t, err)
	_, err = oras.Copy(t.Context(), other, "v1", written, "v2", oras.DefaultCopyOptions)
	require.NoError(t, err)
	l, err := layout.Open(filepath.Join(parent, "theirs"), false)
	require.NoError(t, err)
	_, err = artifact.Pull(t.Context(), l, "v2", artifact.PullOptions{})
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

func TestTheSameContentIsTheSameLayout(t *testing.T) {
	t.Parallel()
	read := func(first, second string) (string, []byte) {
		dir := t.TempDir()
		l := open(t, dir)
		artifacts.Push(t, l, artifacts.Single(t, first, ""), first)
		artifacts.Push(t, l, artifacts.Single(t, second, ""), second)
		data, err := os.ReadFile(filepath.Join(dir, "index.json"))
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "a.tar")
		archive := openArchive(t, file)
		for _, tag := range []string{first, second} {
			_, err := artifact.Copy(t.Context(), l, archive, tag, artifact.CopyOptions{})
			require.NoError(t, err)
		}
		require.NoError(t, archive.Close())
		tar, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(data), tar
	}
	one, oneTar := read("a", "b")
	two, twoTar := read("b", "a")
	require.Equal(t, one, two)
	require.True(t, bytes.Equal(oneTar, twoTar))
	var index ocispec.Index
	require.NoError(t, json.Unmarshal([]byte(one), &index))
	var tags []string
	for _, d := range index.Manifests {
		tags = append(tags, d.Annotations[ocispec.AnnotationRefName])
	}
	require.Len(t, tags, 4)
	require.Equal(t, []string{"a", "b"}, tags[:2])
}

func TestALayoutOfOthersIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make   func(dir string) error
		create bool
		is     error
		want   string
	}{
		"a folder with files": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600) }, true, artifact.ErrNotLayout, `contains "notes.txt", which is not part of an image layout`},
		"a file beside a layout": {func(dir string) error {
			_ = os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o600)
			return os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600)
		}, true, artifact.ErrNotLayout, `contains "notes.txt"`},
		"another version": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"2.0.0"}`), 0o600)
		}, true, artifact.ErrNotLayout, "of an unsupported version"},
		"an empty folder to read":  {func(string) error { return nil }, false, artifact.ErrNotLayout, `is not an image layout: it has no "oci-layout"`},
		"a folder that is missing": {os.Remove, false, artifact.ErrNotFound, "there is no image layout"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, c.make(dir))
			_, err := layout.Open(dir, c.create)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestWhatWasAlteredInALayoutIsFoundOut(t *testing.T) {
	t.Parallel()
	blob := func(dir string, d ocispec.Descriptor) string {
		return filepath.Join(dir, "blobs", "sha256", d.Digest.Encoded())
	}
	for name, change := range map[string]func(file string) error{
		"a byte": func(file string) error {
			data, err := os.ReadFile(file)
			data[len(data)/2] ^= 1
			_ = os.WriteFile(file, data, 0o600)
			return err
		},
		"the end":    func(file string) error { return os.Truncate(file, 20) },
		"everything": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			for _, part := range []string{"layer", "manifest"} {
				dir := t.TempDir()
				l := open(t, dir)
				set := artifacts.Single(t, "kind: A\n", "")
				artifacts.Push(t, l, set, "v1")
				require.NoError(t, artifacts.VerifyLayout(dir))
				d := set.Complete.Layer
				if part == "manifest" {
					d = set.Complete.Descriptor
				}
				require.NoError(t, change(blob(dir, d)))
				_, err := artifact.Pull(t.Context(), open(t, dir), "v1", artifact.PullOptions{})
				require.Error(t, err)
				require.ErrorContains(t, artifacts.VerifyLayout(dir), d.Digest.String())
			}
		})
	}
	dir := t.TempDir()
	artifacts.Push(t, open(t, dir), artifacts.Single(t, "a", ""), "v1")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.json"), []byte(`{"schemaVersion":2,"manif`), 0o600))
	_, err := open(t, dir).Resolve(t.Context(), "v1")
	require.ErrorIs(t, err, artifact.ErrNotLayout)
}

func TestALayoutRefusesWhatIsNotWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir)
	ctx := t.Context()
	set := artifacts.Single(t, "a", "")
	err := l.PushReference(ctx, set.Complete.Descriptor, bytes.NewReader(set.Complete.Manifest), "v1")
	require.ErrorIs(t, err, artifact.ErrNotFound)
	require.ErrorContains(t, err, "which the manifest")
	require.ErrorIs(t, l.Push(ctx, set.Complete.Layer, strings.NewReader("other")), artifact.ErrDigest)
	require.ErrorIs(t, l.Push(ctx, set.Complete.Descriptor, strings.NewReader("other")), artifact.ErrDigest)
	require.ErrorIs(t, l.PushReference(ctx, set.Complete.Descriptor, nil, "a b"), artifact.ErrReference)
	_, err = l.Resolve(ctx, "v1")
	require.ErrorIs(t, err, artifact.ErrNotFound)
	require.NoError(t, artifacts.VerifyLayout(dir))
	exists, err := l.Exists(ctx, set.Complete.Layer)
	require.NoError(t, err)
	require.False(t, exists)
}

func TestDeleteKeepsWhatOthersShare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir)
	one, two := artifacts.Single(t, "a", "1"), artifacts.Single(t, "a", "2") // the same layer under two manifests
	artifacts.Push(t, l, one, "v1")
	_, err := artifact.Push(t.Context(), l, two, []string{"v2"}, artifact.PushOptions{})
	require.NoError(t, err)
	require.Equal(t, one.Complete.Layer.Digest, two.Complete.Layer.Digest)
	require.NoError(t, l.Delete(t.Context(), one.Complete.Descriptor))
	require.ErrorIs(t, l.Delete(t.Context(), one.Complete.Descriptor), artifact.ErrNotFound)
	_, err = artifact.Pull(t.Context(), l, "v2", artifact.PullOptions{})
	require.NoError(t, err)
	require.NoError(t, l.Delete(t.Context(), two.Complete.Descriptor))
	entries, err := os.ReadDir(filepath.Join(dir, "blobs", "sha256"))
	require.NoError(t, err)
	require.Empty(t, entries)
	require.NoError(t, artifacts.VerifyLayout(dir))
}

func TestManyWriteToOneLayout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var group errgroup.Group
	for i := range 6 {
		l := open(t, dir)
		tag := string(rune('a' + i))
		set := artifacts.Single(t, tag, "")
		group.Go(func() error {
			for range 5 {
				if _, err := artifact.Push(context.Background(), l, set, []string{tag}, artifact.PushOptions{}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	l := open(t, dir)
	require.NoError(t, artifacts.VerifyLayout(dir))
	var tags []string
	require.NoError(t, l.Tags(t.Context(), "", func(page []string) error { tags = append(tags, page...); return nil }))
	require.Equal(t, []string{"a", "b", "c", "d", "e", "f"}, slices.DeleteFunc(tags, func(s string) bool { return strings.HasPrefix(s, "rw-") }))
}

func TestAnArchive(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.tar")
	_, err := layout.OpenArchive(file, false)
	require.ErrorIs(t, err, artifact.ErrNotFound)
	open := func() *layout.Layout { return openArchive(t, file) }
	l := open()
	pushed := artifacts.Push(t, l, artifacts.Layered(t, "a", "b", ""), "v1")
	require.NoFileExists(t, file)
	require.NoError(t, l.Close())
	l = open()
	require.NoError(t, artifacts.VerifyLayout(file))
	got, err := artifact.Pull(t.Context(), l, "v1", artifact.PullOptions{})
	require.NoError(t, err)
	require.Equal(t, pushed.Digest, got.Digest)
	before, err := os.Stat(file)
	require.NoError(t, err)
	require.False(t, artifacts.Push(t, l, artifacts.Layered(t, "a", "b", ""), "v1").Changed)
	require.NoError(t, l.Close())
	now, err := os.Stat(file)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, now), "what is unchanged is not written")

	for _, tag := range []string{"one", "two"} {
		l := open()
		artifacts.Push(t, l, artifacts.Single(t, tag, ""), tag)
		require.NoError(t, l.Close())
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing stays beside")
	l = open()
	require.NoError(t, artifacts.VerifyLayout(file))
	for _, tag := range []string{"v1", "one", "two"} {
		_, err = artifact.Pull(t.Context(), l, tag, artifact.PullOptions{})
		require.NoError(t, err, tag)
	}

	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for name, bad := range map[string][]byte{"cut": data[:len(data)-1024-512+2], "no tar": []byte(strings.Repeat("no tar", 200)), "empty": nil} {
		other := filepath.Join(t.TempDir(), "b.tar")
		require.NoError(t, os.WriteFile(other, bad, 0o600))
		_, err := layout.OpenArchive(other, true)
		require.ErrorIs(t, err, artifact.ErrNotLayout, name)
	}
}
