// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source/rootfs"
)

// repository is a folder with what repositories have.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		".git/config": "secret", ".github/x.yaml": "x", "app/web.yaml": "web", "app/notes.txt": "notes", "lib/a/b.cue": "b", "run.sh": "run",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "run.sh"), 0o700))
	require.NoError(t, os.Symlink("../lib", filepath.Join(dir, "app/lib")))
	return dir
}

func open(t *testing.T, dir string) fs.FS {
	t.Helper()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return root.FS()
}

// whole packs a folder.
func whole(t *testing.T, dir string, opts Options) *Archive {
	t.Helper()
	files := open(t, dir)
	entries, err := All(t.Context(), files)
	require.NoError(t, err)
	a, err := Make(t.Context(), files, entries, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// listed is an archive as text: name, type with permissions, content or target.
func listed(t *testing.T, a *Archive) []string {
	t.Helper()
	z, err := gzip.NewReader(a.Reader())
	require.NoError(t, err)
	var out []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		require.True(t, h.ModTime.Equal(time.Unix(0, 0)))
		require.Zero(t, h.Uid)
		require.Empty(t, h.Uname)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		out = append(out, h.FileInfo().Mode().String()+" "+h.Name+" "+h.Linkname+string(data))
	}
}

func TestAnArchiveIsTheRepositoryWithoutWhatGitKeeps(t *testing.T) {
	a := whole(t, repository(t), Options{})
	require.Equal(t, []string{
		"drwxr-xr-x .github/ ", "-rw-r--r-- .github/x.yaml x",
		"drwxr-xr-x app/ ", "Lrwxrwxrwx app/lib ../lib", "-rw-r--r-- app/notes.txt notes", "-rw-r--r-- app/web.yaml web",
		"drwxr-xr-x lib/ ", "drwxr-xr-x lib/a/ ", "-rw-r--r-- lib/a/b.cue b", "-rwxr-xr-x run.sh run",
	}, listed(t, a))
}

func TestTheSameFilesGiveTheSameBytes(t *testing.T) {
	first, second := whole(t, repository(t), Options{}), whole(t, repository(t), Options{Memory: 100})
	require.Equal(t, first.Checksum, second.Checksum)
	data, err := io.ReadAll(second.Reader())
	require.NoError(t, err)
	sum := sha256.Sum256(data)
	require.Equal(t, second.Checksum, hex.EncodeToString(sum[:]))
	require.EqualValues(t, len(data), second.Size)
}

func TestALargeArchiveLiesInAFileWithoutAName(t *testing.T) {
	dir, temporary := t.TempDir(), t.TempDir()
	noise := make([]byte, 3<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, err := random.Read(noise)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "noise"), noise, 0o600))
	a := whole(t, dir, Options{Dir: temporary, Memory: 1 << 20})
	require.LessOrEqual(t, a.body.first.Len(), 1<<20)
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
	for range 2 {
		var all bytes.Buffer
		_, err = all.ReadFrom(a.Reader())
		require.NoError(t, err)
		require.EqualValues(t, a.Size, all.Len())
	}
	files := open(t, dir)
	entries, err := All(t.Context(), files)
	require.NoError(t, err)
	_, err = Make(t.Context(), files, entries, Options{Dir: temporary, Size: 1 << 20})
	require.ErrorIs(t, err, ErrLimit)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Make(ended, files, entries, Options{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = All(ended, files)
	require.ErrorIs(t, err, context.Canceled)
}

func TestARecordingHoldsWhatWasAskedFor(t *testing.T) {
	files := open(t, repository(t))
	r := Record(files)
	folder, err := rootfs.Of(r, ".")
	require.NoError(t, err)
	_, err = folder.List("app", 10)
	require.NoError(t, err)
	data, err := fs.ReadFile(folder, "app/lib/a/b.cue")
	require.NoError(t, err)
	require.Equal(t, "b", string(data))
	_, err = folder.Stat("missing")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = fs.ReadFile(folder, ".git/config")
	require.NoError(t, err)
	a, err := Make(t.Context(), files, r.Entries(), Options{})
	require.NoError(t, err)
	require.Equal(t, []string{
		"drwxr-xr-x app/ ", "Lrwxrwxrwx app/lib ../lib", "-rw-r--r-- app/notes.txt ", "-rw-r--r-- app/web.yaml ",
		"drwxr-xr-x lib/ ", "drwxr-xr-x lib/a/ ", "-rw-r--r-- lib/a/b.cue b",
	}, listed(t, a))
}
