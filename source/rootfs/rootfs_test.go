// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rootfs_test

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// both are the same files on disk and in memory; what begins with -> is a link,
// and what ends in / a folder.
func both(t testing.TB, files map[string]string) (disk, memory rootfs.Folder) {
	t.Helper()
	dir, in := t.TempDir(), fstest.MapFS{}
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		to, isLink := strings.CutPrefix(text, "->")
		switch {
		case strings.HasSuffix(name, "/"):
			require.NoError(t, os.MkdirAll(full, 0o755))
			in[path.Clean(name)] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		case isLink:
			require.NoError(t, os.Symlink(to, full))
			in[name] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
		default:
			require.NoError(t, os.WriteFile(full, []byte(text), 0o600))
			in[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	disk, err := rootfs.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, disk.Close()) })
	memory, err = rootfs.Of(in, ".")
	require.NoError(t, err)
	return disk, memory
}

// says is what a name leads to: text, entries or the error.
func says(f rootfs.Folder, name string) string {
	info, err := f.Stat(name)
	if err != nil {
		return cause(err)
	}
	if info.IsDir() {
		entries, err := f.List(name, 100)
		if err != nil {
			return cause(err)
		}
		out := make([]string, len(entries))
		for i, e := range entries {
			out[i] = e.Type().String()[:1] + " " + e.Name()
		}
		return fmt.Sprint(out)
	}
	file, err := f.Open(name)
	if err != nil {
		return cause(err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(file)
	return fmt.Sprint(string(data), err)
}

func cause(err error) string {
	if p, ok := err.(*fs.PathError); ok { //nolint:errorlint // it is promised to be of this type
		return p.Err.Error()
	}
	return "no PathError: " + err.Error()
}

func TestLinksLeadWhereTheyDoOnDisk(t *testing.T) {
	files := map[string]string{
		"f": "text", "d/g": "more", "d/e/h": "deep", "empty/": "",
		"up": "->d/e/../g", "todir": "->d", "d/out": "->../../f", "d/back": "->../f", "abs": "->/f", "none": "->missing",
		"self": "->self", "filedir": "->f/", "slash": "->d/", "through": "->todir/e/h", "over": "->f/..", "here": "->.", "wide": "->d/./e//h",
	}
	for i := range 9 {
		files[fmt.Sprintf("l%d", i+1)] = fmt.Sprintf("->l%d", i)
	}
	files["l0"] = "->f"
	disk, memory := both(t, files)
	for name, want := range map[string]string{
		"f": "text<nil>", "d/g": "more<nil>", "d": "[L back d e - g L out]", "up": "more<nil>", "todir/e": "[- h]", "todir/back": "text<nil>",
		"d/out": rootfs.ErrLeaves.Error(), "abs": rootfs.ErrLeaves.Error(), "../x": rootfs.ErrLeaves.Error(), "todir/out": rootfs.ErrLeaves.Error(),
		"none": "no such file or directory", "f/x": "not a directory", "filedir": "not a directory", "over": "not a directory",
		"self": "too many levels of symbolic links", "l7": "text<nil>", "l8": "too many levels of symbolic links",
		"slash": "[L back d e - g L out]", "through": "deep<nil>", "wide": "deep<nil>", "d/../f": "text<nil>", "empty": "[]", "x/y": "no such file or directory",
		"here/f": "text<nil>",
	} {
		require.Equal(t, want, says(disk, name), name)
		require.Equal(t, want, says(memory, name), name)
	}
}

func TestWhatALinkIsCanBeAsked(t *testing.T) {
	disk, memory := both(t, map[string]string{"f": "text", "d/l": "->../f", "to": "->d", "out": "->../x"})
	for name, f := range map[string]rootfs.Folder{"on disk": disk, "in memory": memory} {
		t.Run(name, func(t *testing.T) {
			for link, to := range map[string]string{"d/l": "../f", "to/l": "../f", "to": "d", "out": "../x"} {
				info, err := f.Lstat(link)
				require.NoError(t, err)
				require.Equal(t, fs.ModeSymlink, info.Mode().Type())
				got, err := f.ReadLink(link)
				require.NoError(t, err)
				require.Equal(t, to, got)
			}
			_, err := f.ReadLink("f")
			require.ErrorIs(t, err, syscall.EINVAL)
			_, err = f.Lstat("none")
			require.ErrorIs(t, err, fs.ErrNotExist)
			_, err = f.Stat("out")
			require.ErrorIs(t, err, rootfs.ErrLeaves)
			require.ErrorIs(t, err, source.ErrPath)
		})
	}
}

func TestAListStopsInTime(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("d/%02d", 19-i)] = ""
	}
	disk, memory := both(t, files)
	for _, f := range []rootfs.Folder{disk, memory} {
		entries, err := f.List("d", 100)
		require.NoError(t, err)
		require.Len(t, entries, 20)
		require.Equal(t, "00", entries[0].Name())
		entries, err = f.List("d", 3)
		require.NoError(t, err)
		require.Len(t, entries, 3)
		_, err = f.List("d/00", 3)
		require.ErrorIs(t, err, syscall.ENOTDIR)
	}
}

func TestAFolderInMemoryCanBeAPartOfAFileSystem(t *testing.T) {
	in := fstest.MapFS{
		"a/b/f": {Data: []byte("x")}, "secret": {Data: []byte("secret")}, "a/b/out": {Data: []byte("../../secret"), Mode: fs.ModeSymlink},
		"to": {Data: []byte("a/b"), Mode: fs.ModeSymlink},
	}
	for _, dir := range []string{"a/b", "to"} {
		f, err := rootfs.Of(in, dir)
		require.NoError(t, err)
		require.Equal(t, "x<nil>", says(f, "f"))
		require.Equal(t, rootfs.ErrLeaves.Error(), says(f, "out"))
	}
	_, err := rootfs.Of(in, "secret")
	require.ErrorIs(t, err, syscall.ENOTDIR)
	_, err = rootfs.Of(in, "none")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestAFileSystemIsNeverAskedToFollow gives one that follows links out of its
// root, as os.DirFS does.
func TestAFileSystemIsNeverAskedToFollow(t *testing.T) {
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	dir := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "file")))
	require.NoError(t, os.Symlink("../"+filepath.Base(outside), filepath.Join(dir, "folder")))
	f, err := rootfs.Of(os.DirFS(dir), ".")
	require.NoError(t, err)
	for _, name := range []string{"file", "folder", "folder/secret"} {
		require.Equal(t, rootfs.ErrLeaves.Error(), says(f, name))
		_, err := f.Open(name)
		require.ErrorIs(t, err, rootfs.ErrLeaves)
	}
}

// bare is a file system of which nothing is known: no links, and folders that
// cannot be read by themselves.
type bare struct{ fs.FS }

func (b bare) Open(name string) (fs.File, error) {
	f, err := b.FS.Open(name)
	return struct{ fs.File }{f}, err
}

func (b bare) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(b.FS, name) }

func TestAFileSystemNeedNotKnowLinks(t *testing.T) {
	tree, err := source.NewTree(map[string][]byte{"d/f": []byte("x"), "d/g": nil}, "", "")
	require.NoError(t, err)
	for _, fsys := range []fs.FS{tree.FS, bare{tree.FS}} {
		f, err := rootfs.Of(fsys, ".")
		require.NoError(t, err)
		require.Equal(t, "x<nil>", says(f, "d/f"))
		require.Equal(t, "[- f - g]", says(f, "d"))
		require.Equal(t, "no such file or directory", says(f, "none"))
		entries, err := f.List("d", 1)
		require.NoError(t, err)
		require.Len(t, entries, 1)
	}
}

func TestAPipeIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "p"), 0o600))
	f, err := rootfs.Open(dir)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	file, err := f.Open("p")
	require.NoError(t, err)
	info, err := file.Stat()
	require.NoError(t, err)
	require.Equal(t, fs.ModeNamedPipe, info.Mode().Type())
	require.NoError(t, file.Close())
}

// FuzzLinksLeadWhereTheyDoOnDisk compares links of any kind with those of
// os.Root: where they lead, and how they fail.
func FuzzLinksLeadWhereTheyDoOnDisk(f *testing.F) {
	f.Add([]byte("d/e"), []byte("../f"), []byte("l/g"), []byte("m"))
	f.Add([]byte("ud/f"), []byte("m/m"), []byte("dl"), []byte("l/f"))
	parts := []string{"f", "d", "e", "l", "m", "..", ".", "", "x", "k"}
	spell := func(text []byte) string {
		var out []string
		for _, b := range text[:min(len(text), 6)] {
			out = append(out, parts[int(b)%len(parts)])
		}
		return strings.Join(out, "/")
	}
	f.Fuzz(func(t *testing.T, l, m, k, name []byte) {
		files := map[string]string{"f": "f", "d/f": "df", "d/e/f": "def"}
		for at, to := range map[string][]byte{"l": l, "d/m": m, "d/e/k": k} {
			if to := spell(to); to != "" {
				files[at] = "->" + to
			}
		}
		disk, memory := both(t, files)
		asked := spell(name)
		if asked == "" {
			asked = "l"
		}
		asked = path.Clean(asked)
		require.Equal(t, says(disk, asked), says(memory, asked), "%q in %v", asked, files)
	})
}

func ExampleOf() {
	f, err := rootfs.Of(fstest.MapFS{
		"app/spec.yaml": {Data: []byte("../../secrets"), Mode: fs.ModeSymlink},
	}, ".")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = f.Open("app/spec.yaml")
	fmt.Println(err)
	// Output: open app/spec.yaml: leaves the root of the project by a link
}
