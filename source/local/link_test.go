// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/local"
)

// timoni is a repository as that of Timoni: its modules share schemas by a link
// out of the module.
func timoni(t testing.TB) string {
	t.Helper()
	root := project(t, "schemas/timoni.sh/core/v1alpha1/action.cue", "schemas/timoni.sh/core/v1alpha1/deep/x.cue", "schemas/timoni.sh/.hidden",
		"examples/minimal/cue.mod/module.cue", "examples/minimal/timoni.cue", "examples/minimal/templates/config.cue", ".git/config")
	link(t, root, "examples/minimal/cue.mod/pkg/timoni.sh", "../../../../schemas/timoni.sh")
	return root
}

func link(t testing.TB, root, name, to string) {
	t.Helper()
	name = filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.Symlink(to, name))
}

func TestALinkToAVendoredPackageIsFollowed(t *testing.T) {
	root := timoni(t)
	tree, err := fetch(root, "examples/minimal", "")
	require.NoError(t, err)
	require.Equal(t, []string{"cue.mod/module.cue", "cue.mod/pkg/timoni.sh/core/v1alpha1/action.cue", "cue.mod/pkg/timoni.sh/core/v1alpha1/deep/x.cue",
		"templates/config.cue", "timoni.cue"}, names(t, tree))
	data, err := fs.ReadFile(tree.FS, "cue.mod/pkg/timoni.sh/core/v1alpha1/action.cue")
	require.NoError(t, err)
	require.Equal(t, "schemas/timoni.sh/core/v1alpha1/action.cue", string(data))

	t.Run("also for a package inside of the module", func(t *testing.T) {
		part, err := fetch(root, "examples/minimal", "templates")
		require.NoError(t, err)
		require.Contains(t, names(t, part), "cue.mod/pkg/timoni.sh/core/v1alpha1/action.cue")
	})
	t.Run("and the tree is that of the module with the files in place", func(t *testing.T) {
		vendored := timoni(t)
		at := filepath.Join(vendored, "examples/minimal/cue.mod/pkg/timoni.sh")
		require.NoError(t, os.Remove(at))
		require.NoError(t, os.CopyFS(at, os.DirFS(filepath.Join(vendored, "schemas/timoni.sh"))))
		same, err := fetch(vendored, "examples/minimal", "")
		require.NoError(t, err)
		require.Equal(t, tree.Digest, same.Digest)
	})
}

func TestLinksAreFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		links [][2]string
		want  []string
	}{
		"to a file":               {[][2]string{{"m/cue.mod/pkg/x/l.cue", "../../../../lib/l.cue"}}, []string{"a.cue", "cue.mod/module.cue", "cue.mod/pkg/x/l.cue"}},
		"to a folder of the root": {[][2]string{{"m/cue.mod/pkg/x", "../../../lib/sub"}}, []string{"a.cue", "cue.mod/module.cue", "cue.mod/pkg/x/s.cue"}},
		"in place of cue.mod/pkg": {[][2]string{{"m/cue.mod/pkg", "../../lib"}}, []string{"a.cue", "cue.mod/module.cue", "cue.mod/pkg/l.cue", "cue.mod/pkg/sub/s.cue"}},
		"over other links": {[][2]string{{"m/cue.mod/pkg/x", "../../../one/./"}, {"one", "two//"}, {"two", "lib/sub"}},
			[]string{"a.cue", "cue.mod/module.cue", "cue.mod/pkg/x/s.cue"}},
		"behind links": {[][2]string{{"m/cue.mod/pkg/x", "../../../lib"}, {"lib/more.cue", "../other/o.cue"}},
			[]string{"a.cue", "cue.mod/module.cue", "cue.mod/pkg/x/l.cue", "cue.mod/pkg/x/more.cue", "cue.mod/pkg/x/sub/s.cue"}},
		"in place of cue.mod/gen": {[][2]string{{"m/cue.mod/gen/lib.example", "../../../lib"}},
			[]string{"a.cue", "cue.mod/gen/lib.example/l.cue", "cue.mod/gen/lib.example/sub/s.cue", "cue.mod/module.cue"}},
		"of the module to itself":  {[][2]string{{"m/b.cue", "a.cue"}, {"m/text.md", "cue.mod/module.cue"}}, []string{"a.cue", "b.cue", "cue.mod/module.cue", "text.md"}},
		"to a folder of templates": {[][2]string{{"m/templates", "../lib/sub"}}, []string{"a.cue", "cue.mod/module.cue", "templates/s.cue"}},
		"to another module":        {[][2]string{{"m/beside", "../module"}}, []string{"a.cue", "cue.mod/module.cue"}},
		"to one folder twice": {[][2]string{{"m/cue.mod/pkg/x", "../../../lib/sub"}, {"m/cue.mod/pkg/y", "../../../lib/sub"}},
			[]string{"a.cue", "cue.mod/module.cue", "cue.mod/pkg/x/s.cue", "cue.mod/pkg/y/s.cue"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t, "m/cue.mod/module.cue", "m/a.cue", "lib/l.cue", "lib/sub/s.cue", "other/o.cue", "module/cue.mod/module.cue")
			for _, l := range c.links {
				link(t, root, l[0], l[1])
			}
			tree, err := fetch(root, "m", "")
			require.NoError(t, err)
			require.Equal(t, c.want, names(t, tree))
			memory, err := local.Fetcher{Root: ".", FS: os.DirFS(root)}.Fetch(t.Context(), source.Ref{Ref: "m"})
			require.NoError(t, err)
			require.Equal(t, tree.Digest, memory.Digest, "a file system has the links of the disk")
		})
	}
}

func TestLinksAreRefused(t *testing.T) {
	const at = "m/cue.mod/pkg/x"
	leads := func(to, why string) string { return fmt.Sprintf("%q is a symlink to %q, which %s", at, to, why) }
	const out, hidden = "leads out of the repository or project", "is hidden: a module holds no hidden files"
	outside := project(t, "secret.cue")
	for name, c := range map[string]struct {
		links [][2]string
		want  string
		is    error
	}{
		"out of the root":                 {[][2]string{{at, "../../../../x"}}, leads("../../../../x", out), source.ErrNotRegular},
		"out of the root and back in":     {[][2]string{{at, "../../../../x/lib"}}, leads("../../../../x/lib", out), source.ErrNotRegular},
		"to an absolute path":             {[][2]string{{at, outside}}, leads(outside, out), source.ErrNotRegular},
		"to an absolute path in the root": {[][2]string{{at, "/lib"}}, leads("/lib", out), source.ErrNotRegular},
		"over a link out of the root":     {[][2]string{{at, "../../../lib/out"}, {"lib/out", outside}}, leads("../../../lib/out", out), source.ErrNotRegular},
		"with a backslash":                {[][2]string{{at, `..\..\..\lib`}}, leads(`..\..\..\lib`, "leads to nothing"), source.ErrNotRegular},
		"to what is hidden":               {[][2]string{{at, "../../../.git"}}, leads("../../../.git", hidden), source.ErrNotRegular},
		"to a file that is hidden":        {[][2]string{{at, "../../../.git/config"}}, leads("../../../.git/config", hidden), source.ErrNotRegular},
		"to nothing":                      {[][2]string{{at, "../../../none"}}, leads("../../../none", "leads to nothing"), source.ErrNotRegular},
		"to itself":                       {[][2]string{{at, "x"}}, leads("x", "leads to itself"), source.ErrNotRegular},
		"to its folder":                   {[][2]string{{at, "."}}, leads(".", `leads to itself: "m/cue.mod/pkg" is a folder around it`), source.ErrNotRegular},
		"to the module":                   {[][2]string{{at, "../.."}}, leads("../..", `leads to itself: "m" is a folder around it`), source.ErrNotRegular},
		"to the root":                     {[][2]string{{at, "../../.."}}, leads("../../..", `leads to itself: "." is a folder around it`), source.ErrNotRegular},
		"in a circle": {[][2]string{{at, "../../../lib"}, {"lib/y", "../other"}, {"other/z", "../lib"}},
			`"m/cue.mod/pkg/x/y/z" is a symlink to "../lib", which leads to itself: "lib" is a folder around it`, source.ErrNotRegular},
		"to another module": {[][2]string{{at, "../../../module"}},
			leads("../../../module", `is another module, "module": link to a folder inside of it, or depend on it`), source.ErrNotRegular},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t, "m/cue.mod/module.cue", "m/a.cue", "lib/l.cue", "other/o.cue", ".git/config", "module/cue.mod/module.cue")
			for _, l := range c.links {
				link(t, root, l[0], l[1])
			}
			_, err := fetch(root, "m", "")
			require.EqualError(t, err, c.want)
			require.ErrorIs(t, err, c.is)
		})
	}
}

func TestALinkThatNothingNeedsIsLeftOut(t *testing.T) {
	for name, c := range map[string]struct{ link, cue, refused string }{
		"of a build tool, into nothing": {link: "m/result"},
		"out of the root":               {link: "m/docs/guide.md"},
		"that is imported":              {"m/sub", `import "m.example/sub"`, "m/sub"},
		"behind one that is imported":   {"m/sub/deep", `import "m.example/sub/deep:x"`, "m/sub/deep"},
		"where files are embedded":      {"m/data.json", `d: _ @embed(glob=*.json)`, "m/data.json"},
		"of CUE":                        {link: "m/b.cue", refused: "m/b.cue"},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t, "m/cue.mod/module.cue", "m/a.cue")
			put(t, root, "m/a.cue", c.cue)
			link(t, root, c.link, "/nix/store/nowhere")
			tree, err := fetch(root, "m", "")
			if c.refused != "" {
				require.ErrorContains(t, err, fmt.Sprintf("%q is a symlink to", c.refused))
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{"a.cue", "cue.mod/module.cue"}, names(t, tree))
		})
	}
	root := project(t, "plain/a.yaml")
	link(t, root, "plain/b.yaml", "/nowhere")
	_, err := fetch(root, "plain", "")
	require.ErrorContains(t, err, "is a symlink to", "files that are no module are all needed")
}

func TestLinksThatMultiplyEndAtTheLimits(t *testing.T) {
	root := project(t, "m/cue.mod/module.cue", "m/a.cue")
	for i := range 9 {
		put(t, root, fmt.Sprintf("lib/d%d/x.cue", i), "x")
		for j := range 9 {
			link(t, root, fmt.Sprintf("lib/d%d/to%d", i, j), fmt.Sprintf("../d%d/again", j))
			if i == 0 {
				link(t, root, fmt.Sprintf("lib/d%d/again", j), fmt.Sprintf("../d%d", (j+1)%9))
			}
		}
	}
	link(t, root, "m/cue.mod/pkg/lib", "../../../lib")
	start := time.Now()
	_, err := fetch(root, "m", "")
	require.Error(t, err)
	require.Less(t, time.Since(start), 10*time.Second)
}

// TestALinkThatIsExchangedNeverLeadsOut swaps what a link leads to, in and out
// of the root, while trees are read.
func TestALinkThatIsExchangedNeverLeadsOut(t *testing.T) {
	root, outside := timoni(t), project(t, "core/v1alpha1/action.cue")
	put(t, outside, "core/v1alpha1/action.cue", "secret")
	at := filepath.Join(root, "schemas", "timoni.sh")
	require.NoError(t, os.Rename(at, at+".real"))
	require.NoError(t, os.Symlink("timoni.sh.real", at))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			to := []string{outside, "timoni.sh.real"}[i%2]
			_ = os.Symlink(to, at+".new")
			_ = os.Rename(at+".new", at)
		}
	}()
	read, refused := 0, 0
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		tree, err := local.Fetcher{Root: root}.Fetch(t.Context(), source.Ref{Ref: "examples/minimal"})
		if err != nil {
			refused++
			continue
		}
		read++
		data, err := fs.ReadFile(tree.FS, "cue.mod/pkg/timoni.sh/core/v1alpha1/action.cue")
		require.NoError(t, err)
		require.Equal(t, "schemas/timoni.sh/core/v1alpha1/action.cue", string(data))
	}
	close(stop)
	<-done
	require.NotZero(t, read)
	require.NotZero(t, refused)
}
