// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package output_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/plugin/host/output"
	"github.com/ropewalk/ropewalk/render/emit"
)

func write(dir string, files []emit.File) error {
	return output.Write(context.Background(), dir, files, output.Options{})
}

const marker = ".ropewalk-output"

func render(names ...string) []emit.File {
	out := make([]emit.File, len(names))
	for i, n := range names {
		out[i] = emit.File{Path: n, Data: []byte(n + "\n")}
	}
	return out
}

// listing is every file below dir with its content.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return out
}

func TestWriteReplacesItsOwnOutput(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "deep", "out")
	require.NoError(t, write(dir, render("a.yaml", "0/b.yaml")))
	first := listing(t, dir)
	require.Equal(t, "a.yaml\n", first["a.yaml"])
	require.Contains(t, first, marker)

	require.NoError(t, write(dir, render("c.yaml")))
	require.Equal(t, "c.yaml\n", listing(t, dir)["c.yaml"])
	require.Len(t, listing(t, dir), 2)

	require.NoError(t, write(dir, render("0/b.yaml", "a.yaml")))
	require.Equal(t, first, listing(t, dir), "the order of the files does not matter")

	require.NoError(t, os.Remove(filepath.Join(dir, "a.yaml")))
	require.NoError(t, write(dir, render("c.yaml")), "a file that was taken away is no matter")

	empty := filepath.Join(parent, "empty")
	require.NoError(t, os.Mkdir(empty, 0o700))
	require.NoError(t, write(empty, render("a.yaml")))
	info, err := os.Stat(empty)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "the mode of the directory stays")

	link := filepath.Join(parent, "link")
	require.NoError(t, os.Symlink(empty, link))
	require.NoError(t, write(link, render("b.yaml")))
	require.Contains(t, listing(t, empty), "b.yaml", "a link stays a link")
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Len(t, entries, 3, "nothing stays beside")
}

func TestWriteRefusesFilesOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"a file": {
			func(dir string) error { return os.WriteFile(filepath.Join(dir, "mine.txt"), nil, 0o600) },
			`directory "%s" holds files that no render wrote: mine.txt; nothing was changed (move them away or choose another directory)`},
		"a folder": {
			func(dir string) error { return os.Mkdir(filepath.Join(dir, ".git"), 0o700) },
			`directory "%s" holds files that no render wrote: .git/; nothing was changed (move them away or choose another directory)`},
		"a file in a folder of ours": {
			func(dir string) error { return os.WriteFile(filepath.Join(dir, "0", "x"), nil, 0o600) },
			`directory "%s" holds files that no render wrote: 0/x; nothing was changed (move them away or choose another directory)`},
		"a link in the place of a file of ours": {
			func(dir string) error {
				return os.Rename(filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml"))
			},
			`directory "%s" holds files that no render wrote: b.yaml; nothing was changed (move them away or choose another directory)`},
		"a file that was edited": {
			func(dir string) error { return os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("mine"), 0o600) },
			`directory "%s" holds files that were changed after the render: a.yaml; nothing was changed (move them away or choose another directory)`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			require.NoError(t, write(dir, render("a.yaml", "0/b.yaml")))
			require.NoError(t, c.change(dir))
			before := listing(t, dir)
			err := write(dir, render("c.yaml"))
			require.EqualError(t, err, fmt.Sprintf(c.want, dir))
			require.ErrorIs(t, err, output.ErrForeign)
			require.Equal(t, before, listing(t, dir))
			err = output.Write(t.Context(), dir, render("c.yaml"), output.Options{Force: true})
			require.Equal(t, strings.Contains(name, "edited"), err == nil, "force is for what we wrote")
		})
	}
	dir := t.TempDir()
	for i := range 8 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i)), nil, 0o600))
	}
	require.ErrorContains(t, write(dir, render("a.yaml")), "f0, f1, f2, f3, f4 and 3 more")
	require.EqualError(t, write(filepath.Join(dir, "f0"), nil), fmt.Sprintf("%q is a file; expected a directory", filepath.Join(dir, "f0")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, marker), []byte("{}"), 0o600))
	require.ErrorIs(t, write(dir, nil), output.ErrForeign)
}

func TestWriteRefusesPaths(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	for _, name := range []string{"../a", "/a", "", "a//b", ".git/config"} {
		require.Error(t, write(dir, render(name)), name)
	}
	require.EqualError(t, write(dir, render("a", "a")), `two files are named "a"`)
	require.Error(t, write(dir, render(marker)))
	require.NoDirExists(t, dir)
}

// The process of a test that is limited or killed is this test itself, run
// once more with the directory in its environment.
const childDir = "ROPEWALK_TEST_WRITE_DIR"

func child(t *testing.T, test, dir string, before ...string) *exec.Cmd {
	t.Helper()
	args := append(before, os.Args[0], "-test.run=^"+test+"$")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	return cmd
}

func TestWriteOnAFullDiskLeavesTheOldOutput(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		large := []emit.File{{Path: "a.yaml"}, {Path: "large.yaml", Data: make([]byte, 32<<20)}}
		fmt.Println("child:", write(dir, large))
		return
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	require.NoError(t, write(dir, render("old.yaml")))
	before := listing(t, dir)
	// A limit on the size of files fails a write in its middle as a full disk
	// does. It leaves room for what the child itself writes of its coverage.
	cmd := child(t, t.Name(), dir, "sh", "-c", `trap '' XFSZ; ulimit -f 16384; exec "$0" "$@"`)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), fmt.Sprintf("child: write %q: large.yaml: file too large; nothing was changed", dir))
	require.Equal(t, before, listing(t, dir))
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing stays beside")
}

func TestAKilledWriteLeavesTheOldOutputOrTheNew(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		for i := 0; ; i++ {
			files := render("version.yaml")
			for j := range 200 {
				files = append(files, emit.File{Path: fmt.Sprintf("%d.yaml", j), Data: []byte(fmt.Sprint(i))})
			}
			if err := write(dir, files); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	for i := range 12 {
		cmd := child(t, t.Name(), dir)
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(30+7*i) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			continue
		}
		got := listing(t, dir)
		require.Len(t, got, 202)
		for j := range 200 {
			require.Equal(t, got["0.yaml"], got[fmt.Sprintf("%d.yaml", j)], "all files are of one render")
		}
	}
	require.NoError(t, write(dir, render("new.yaml")))
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Len(t, entries, 1, "the next write clears what the killed ones left")
}

func TestWritesAtTheSameTimeDoNotMix(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	require.NoError(t, write(dir, render("0/a.yaml")))
	var group errgroup.Group
	for i := range 4 {
		group.Go(func() error {
			for range 10 {
				name := fmt.Sprint(i)
				if err := write(dir, render(name+"/a.yaml", name+"/b.yaml")); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.NoError(t, write(dir, render("a.yaml")))
	require.Len(t, listing(t, dir), 2)
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func ExampleWrite() {
	parent, err := os.MkdirTemp("", "ropewalk")
	if err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(parent) }()
	dir := filepath.Join(parent, "out")
	fmt.Println(output.Write(context.Background(), dir, []emit.File{{Path: "00-Namespace--shop.yaml", Data: []byte("kind: Namespace\n")}}, output.Options{}))
	fmt.Println(os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600))
	err = output.Write(context.Background(), dir, nil, output.Options{})
	fmt.Println(strings.Contains(err.Error(), "notes.txt"))
	// Output:
	// <nil>
	// <nil>
	// true
}

func TestTheLastOfManyWritersWins(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	renders := [][]emit.File{
		render("a.yaml", "0/b.yaml"),
		render("c.yaml", "1/d.yaml", "1/e.yaml"),
		render("f.yaml"),
	}
	for round := range 40 {
		if round%4 == 0 {
			require.NoError(t, os.RemoveAll(dir), "they also make it at once")
		}
		var group errgroup.Group
		for i := range 2 * len(renders) {
			group.Go(func() error { return write(dir, renders[i%len(renders)]) })
		}
		require.NoError(t, group.Wait())
		found := listing(t, dir)
		require.True(t, slices.ContainsFunc(renders, func(files []emit.File) bool {
			return len(found) == len(files)+1 && !slices.ContainsFunc(files, func(f emit.File) bool { return found[f.Path] != string(f.Data) })
		}), "%v", found)
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing stays beside")
}

func TestAnEarlierOutputIsPutBackAfterAKillBetweenTheRenames(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	require.NoError(t, write(dir, render("a.yaml")))
	require.NoError(t, os.Rename(dir, filepath.Join(parent, ".ropewalk-out-old")))
	require.NoError(t, os.WriteFile(filepath.Join(parent, ".ropewalk-out-old", "mine"), nil, 0o600))
	require.ErrorIs(t, write(dir, render("b.yaml")), output.ErrForeign, "what is put back is looked at as any other output")
	require.Contains(t, listing(t, dir), "a.yaml")
	require.NoError(t, os.Remove(filepath.Join(dir, "mine")))
	require.NoError(t, os.Mkdir(filepath.Join(parent, ".ropewalk-out-new"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(parent, ".ropewalk-out-old"), 0o700))
	require.NoError(t, write(dir, render("b.yaml")))
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestALinkThatLeadsNowhereIsRefused(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink("missing", link))
	require.ErrorContains(t, write(link, render("a.yaml")), "is a symbolic link to a directory that does not exist")
}
