// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/source/local"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/source/tarball"
	"github.com/ropewalk/ropewalk/test/servers"
)

// Where things are in a vendored project.
const (
	vendored = "cue.mod/vendor/"
	list     = vendored + "ropewalk-vendor"
	baseFile = vendored + "example.com/base@v0.1.0/base.cue"
	webFile  = vendored + "example.com/web@v0.2.0/web.cue"
)

// put writes a file of a project.
func put(t testing.TB, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
	require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
}

func get(t testing.TB, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(data)
}

// project is a shop with its app in a folder, vendored.
func project(t testing.TB) (r *modules.Registry, dir string, oci *servers.OCI) {
	t.Helper()
	oci, files := shop(t)
	r, dir = online(&modules.Registry{Config: oci.Host}), folder(t, files)
	_, changed, err := r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	require.True(t, changed)
	return r, dir, oci
}

// offline has no registry and no cache.
func offline() *modules.Registry {
	return online(&modules.Registry{Config: "127.0.0.1:1", Offline: true})
}

// read is the tree of a folder.
func read(t testing.TB, dir string) source.Tree {
	t.Helper()
	tree, err := local.Fetcher{Root: dir}.Fetch(t.Context(), source.Ref{Type: source.TypePath, Ref: "."})
	require.NoError(t, err)
	return tree
}

func TestVendoredProjectsGiveTheSameTree(t *testing.T) {
	oci, files := shop(t)
	dir := folder(t, files)
	r := online(&modules.Registry{Config: oci.Host})
	want, wantDeps, err := r.Complete(t.Context(), read(t, dir), nil)
	require.NoError(t, err)

	deps, _, err := r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	require.Equal(t, wantDeps, deps)
	require.Equal(t, []string{
		"app.cue", "cue.mod/module.cue",
		vendored + "example.com/base@v0.1.0/LICENSE", baseFile, vendored + "example.com/base@v0.1.0.mod",
		vendored + "example.com/web@v0.2.0/deep/down/deep.cue", vendored + "example.com/web@v0.2.0/unused/unused.cue",
		webFile, vendored + "example.com/web@v0.2.0.mod", list,
	}, cached(t, dir))
	require.Contains(t, get(t, dir, list), "module example.com/base@v0.1.0 "+deps[0].Digest+"\n")

	oci.Reset()
	out, got, err := online(&modules.Registry{Config: oci.Host}).Complete(t.Context(), read(t, dir), nil)
	require.NoError(t, err)
	require.Empty(t, oci.Requests(), "a vendored project needs no registry")
	require.Equal(t, deps, got, "a lock is written from vendored modules too")
	require.Equal(t, want.Digest, out.Digest)
	require.Equal(t, "blue", team(t, out))
	_, err = fs.Stat(out.FS, "cue.mod/vendor")
	require.ErrorIs(t, err, fs.ErrNotExist)

	before, err := os.Stat(filepath.Join(dir, webFile))
	require.NoError(t, err)
	_, changed, err := r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	require.False(t, changed)
	after, err := os.Stat(filepath.Join(dir, webFile))
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "nothing is written where nothing is new")
}

// Every way by which a tree comes leaves cue.mod/vendor in it, whole.
func TestVendoredModulesArriveByEveryWay(t *testing.T) {
	_, dir, _ := project(t)
	files := map[string]string{}
	for _, name := range cached(t, dir) {
		files["apps/one/"+name] = get(t, dir, name)
	}
	files["apps/one/sub/sub.cue"] = "package sub\n"
	const hidden = "apps/one/cue.mod/vendor/.gitattributes"
	files[hidden] = "* -text\n"
	want := func(t *testing.T, tree source.Tree) {
		out, deps, err := offline().Complete(t.Context(), tree, nil)
		require.NoError(t, err)
		require.Len(t, deps, 2)
		_, err = fs.Stat(out.FS, "cue.mod/pkg/example.com/web/web.cue")
		require.NoError(t, err)
	}
	for _, sub := range []string{"apps/one", "apps/one/sub"} {
		t.Run("a folder, "+sub, func(t *testing.T) {
			tree, err := local.Fetcher{Root: folder(t, files)}.Fetch(t.Context(), source.Ref{Type: source.TypePath, Ref: sub})
			require.NoError(t, err)
			want(t, tree)
		})
		t.Run("an archive, "+sub, func(t *testing.T) {
			for name := range files {
				require.Equal(t, name != hidden, tarball.Visible(name), name)
			}
			tree, err := tarball.Narrow(t.Context(), treeOf(t, files), sub, source.Limits{})
			require.NoError(t, err)
			want(t, tree)
		})
		t.Run("git, "+sub, func(t *testing.T) {
			root := t.TempDir()
			servers.NewGit(t, filepath.Join(root, "repo.git")).Commit(files, "all")
			f := &git.Fetcher{Binary: git.FindBinary(), PlainHTTP: func(string) bool { return true }}
			tree, err := f.Fetch(t.Context(), source.Ref{Type: source.TypeGit, Ref: servers.GitHTTP(t, root) + "/repo.git", Path: sub})
			require.NoError(t, err)
			want(t, tree)
		})
	}
}

func TestTheCueCommandIsNotDisturbed(t *testing.T) {
	oci, files := shop(t)
	cue := producer{registry: oci.Host}
	dir := folder(t, files)
	cue.run(t, dir, "vet", "-c=false", "./...")
	_, _, err := online(&modules.Registry{Config: oci.Host}).Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	cue.run(t, dir, "vet", "-c=false", "./...")
	tidy := get(t, dir, "cue.mod/module.cue")
	cue.run(t, dir, "mod", "tidy")
	require.Equal(t, tidy, get(t, dir, "cue.mod/module.cue"))
	put(t, dir, baseFile, "this is no CUE {")
	cue.run(t, dir, "vet", "-c=false", "./...")

	cue.run(t, dir, "mod", "publish", "v0.1.0")
	store := newStore(t)
	user := treeOf(t, map[string]string{"cue.mod/module.cue": strings.Replace(deps(
		"example.com/app@v0", "v0.1.0", "example.com/base@v0", "v0.1.0", "example.com/web@v0", "v0.2.0"), "/app@v0\"\n", "/user@v0\"\n", 1),
		"user.cue": "package user\n\nimport \"example.com/app\"\n\nx: app\n"})
	_, _, err = online(&modules.Registry{Config: oci.Host, Store: store}).Complete(t.Context(), user, nil)
	require.NoError(t, err)
	published := entry(t, store, "example.com/app@v0.1.0")
	data, _, err := store.Get(t.Context(), published.Kind, published.Key)
	require.NoError(t, err)
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	require.ElementsMatch(t, []string{"app.cue", "cue.mod/module.cue"}, names)
}

func TestVendoredModulesAreLocked(t *testing.T) {
	_, dir, _ := project(t)
	tree := read(t, dir)
	_, deps, err := offline().Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	locked := map[string]string{}
	for _, d := range deps {
		locked[d.String()] = d.Digest
	}
	strict := offline()
	strict.RequireLock = true
	_, _, err = strict.Complete(t.Context(), tree, locked)
	require.NoError(t, err)
	_, _, err = strict.Complete(t.Context(), tree, nil)
	require.ErrorIs(t, err, source.ErrLocked)
	require.ErrorContains(t, err, "not in ropewalk.lock")
	locked["example.com/base@v0.1.0"] = "sha256:0"
	_, _, err = offline().Complete(t.Context(), tree, locked)
	require.ErrorIs(t, err, source.ErrLocked)
	require.ErrorContains(t, err, `module "example.com/base@v0.1.0": what cue.mod/vendor has of it comes from a zip with the digest sha256:`)
}

func TestVendoredFilesThatWereTouchedAreErrors(t *testing.T) {
	_, dir, _ := project(t)
	for name, c := range map[string]struct {
		change map[string]string // "" removes the file
		says   string
		mended bool // by vendoring again
	}{
		"changed":               {map[string]string{baseFile: "package base\n"}, `"` + baseFile + `" was vendored and changed since`, false},
		"added":                 {map[string]string{vendored + "example.com/base@v0.1.0/more.cue": "package base\n"}, `more.cue" lies among vendored modules`, false},
		"removed":               {map[string]string{webFile: ""}, `"` + webFile + `" was vendored and is missing: run "ropewalk vendor"`, true},
		"a module file changed": {map[string]string{vendored + "example.com/base@v0.1.0.mod": "x"}, `base@v0.1.0.mod" was vendored and changed since`, false},
		"the list changed":      {map[string]string{list: "file sha256:1 ../../../victim\n"}, list + `:1: not a line that vendoring writes: delete "cue.mod/vendor"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for _, name := range cached(t, dir) {
				files[name] = get(t, dir, name)
			}
			for name, text := range c.change {
				files[name] = text
				if text == "" {
					delete(files, name)
				}
			}
			_, _, err := offline().Complete(t.Context(), treeOf(t, files), nil)
			require.ErrorIs(t, err, source.ErrDigest)
			require.ErrorContains(t, err, c.says)

			oci, _ := shop(t)
			again := folder(t, files)
			_, changed, err := online(&modules.Registry{Config: oci.Host}).Vendor(t.Context(), again, nil)
			if c.mended {
				require.NoError(t, err)
				require.True(t, changed)
				require.Equal(t, cached(t, dir), cached(t, again))
				return
			}
			require.ErrorIs(t, err, source.ErrDigest)
			require.ErrorContains(t, err, c.says)
			require.Empty(t, oci.Requests(), "before anything is fetched")
			for name, text := range files {
				require.Equal(t, text, get(t, again, name), "nothing is written")
			}
		})
	}
}

func TestVendorFollowsTheModuleFile(t *testing.T) {
	r, dir, oci := project(t)
	producer{registry: oci.Host}.publish(t, "v0.1.1", base("red"))
	put(t, dir, "app.cue", "package app\n\nimport \"example.com/base\"\n\nx: base\n")
	put(t, dir, "cue.mod/pkg/mine.example/a.cue", "package a")
	put(t, dir, "cue.mod/module.cue", deps("example.com/base@v0", "v0.1.1"))
	_, _, err := offline().Complete(t.Context(), read(t, dir), nil)
	require.ErrorContains(t, err, `module "example.com/base@v0.1.1": offline, and there is no cache: run "ropewalk lock" once with the network, or "ropewalk vendor"`)
	_, deps, err := online(&modules.Registry{Config: oci.Host}).Complete(t.Context(), read(t, dir), nil)
	require.NoError(t, err)
	require.Equal(t, "v0.1.1", deps[0].Version, "another version than the vendored one is fetched")

	_, changed, err := r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	require.True(t, changed)
	require.Contains(t, get(t, dir, vendored+"example.com/base@v0.1.1/base.cue"), "red")
	require.NotContains(t, get(t, dir, list), "v0.1.0")
	require.NotContains(t, get(t, dir, list), "web")
	require.NoDirExists(t, filepath.Join(dir, vendored, "example.com/web@v0.2.0"))

	put(t, dir, "cue.mod/module.cue", `module: "example.com/app@v0"`+language)
	tree := read(t, dir)
	require.True(t, modules.Depends(tree))
	out, none, err := offline().Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = fs.Stat(out.FS, "cue.mod/vendor")
	require.ErrorIs(t, err, fs.ErrNotExist, "left-over modules are no part of the tree")
	_, changed, err = r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, []string{"app.cue", "cue.mod/module.cue", "cue.mod/pkg/mine.example/a.cue"}, cached(t, dir))
	require.Equal(t, out.Digest, read(t, dir).Digest)
	_, changed, err = r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	require.False(t, changed)
}

// Trees have no hidden files, so vendored ones would not arrive.
func TestHiddenFilesOfADependencyAreLeftOut(t *testing.T) {
	oci := servers.InProcess(t)
	files := base("blue")
	files[".hidden"], files[".github/x.cue"], files["node_modules/y.cue"] = "x", "package x", "package y"
	producer{registry: oci.Host}.publish(t, "v0.1.0", files)
	dir := folder(t, map[string]string{"cue.mod/module.cue": deps("example.com/base@v0", "v0.1.0")})
	r := online(&modules.Registry{Config: oci.Host})
	want, _, err := r.Complete(t.Context(), read(t, dir), nil)
	require.NoError(t, err)
	_, _, err = r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	out, _, err := offline().Complete(t.Context(), read(t, dir), nil)
	require.NoError(t, err)
	require.Equal(t, want.Digest, out.Digest)
}

func TestAModuleInsideOfAnotherIsVendoredBesideIt(t *testing.T) {
	oci := servers.InProcess(t)
	cue := producer{registry: oci.Host}
	cue.publishAll(t)
	inner := base("green")
	inner["cue.mod/module.cue"] = `module: "example.com/base/inner@v0"` + language
	cue.publish(t, "v0.1.0", inner)
	dir := folder(t, map[string]string{
		"cue.mod/module.cue": deps("example.com/base@v0", "v0.1.0", "example.com/base/inner@v0", "v0.1.0"),
		"app.cue":            "package app\n\nimport \"example.com/base/inner\"\n\nx: inner\n",
	})
	_, _, err := online(&modules.Registry{Config: oci.Host}).Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	out, deps, err := offline().Complete(t.Context(), read(t, dir), nil)
	require.NoError(t, err)
	require.Len(t, deps, 2)
	for name, team := range map[string]string{"base/base.cue": "blue", "base/inner/base.cue": "green"} {
		data, err := fs.ReadFile(out.FS, "cue.mod/pkg/example.com/"+name)
		require.NoError(t, err)
		require.Contains(t, string(data), team)
	}
}

func TestVendorLeavesTheWorkOfOthersAlone(t *testing.T) {
	oci, files := shop(t)
	r := online(&modules.Registry{Config: oci.Host})
	t.Run("a dependency that someone put into cue.mod/pkg", func(t *testing.T) {
		dir := folder(t, files)
		put(t, dir, "cue.mod/pkg/example.com/base/base.cue", base("green")["base.cue"])
		deps, _, err := r.Vendor(t.Context(), dir, nil)
		require.NoError(t, err)
		require.Len(t, deps, 1)
		out, _, err := offline().Complete(t.Context(), read(t, dir), nil)
		require.NoError(t, err)
		require.Equal(t, "green", team(t, out))
	})
	t.Run("a cue.mod/vendor of another program", func(t *testing.T) {
		dir := folder(t, files)
		put(t, dir, vendored+".other", "theirs")
		_, _, err := r.Vendor(t.Context(), dir, nil)
		require.ErrorContains(t, err, `"cue.mod/vendor/.other" lies among vendored modules`)
		put(t, dir, vendored+"other.txt", "theirs")
		out, _, err := r.Complete(t.Context(), read(t, dir), nil)
		require.NoError(t, err)
		_, err = fs.Stat(out.FS, vendored+"other.txt")
		require.NoError(t, err)
	})
	t.Run("a cue.mod/vendor that leads elsewhere", func(t *testing.T) {
		dir, outside := folder(t, files), t.TempDir()
		require.NoError(t, os.Symlink(outside, filepath.Join(dir, "cue.mod", "vendor")))
		put(t, outside, "mine", "x")
		_, _, err := r.Vendor(t.Context(), dir, nil)
		require.Error(t, err)
		require.Equal(t, []string{"mine"}, cached(t, outside))
	})
}

// A vendoring that ended anywhere in the middle is ended by the next.
func TestVendorAfterACrash(t *testing.T) {
	r, dir, _ := project(t)
	want := cached(t, dir)
	for name, crash := range map[string]func(dir string) error{
		"while it staged": func(dir string) error {
			return os.MkdirAll(filepath.Join(dir, "cue.mod/.ropewalk-vendor-new/x"), 0o755)
		},
		"between the renames": func(dir string) error {
			return os.Rename(filepath.Join(dir, "cue.mod/vendor"), filepath.Join(dir, "cue.mod/.ropewalk-vendor-old"))
		},
		"before it cleaned up": func(dir string) error {
			return os.MkdirAll(filepath.Join(dir, "cue.mod/.ropewalk-vendor-old/x"), 0o755)
		},
	} {
		require.NoError(t, crash(dir), name)
		_, _, err := r.Complete(t.Context(), read(t, dir), nil)
		require.NoError(t, err, name)
		require.NoError(t, os.RemoveAll(filepath.Join(dir, webFile))) // something to do
		_, _, err = r.Vendor(t.Context(), dir, nil)
		require.NoError(t, err, name)
		require.Equal(t, want, cached(t, dir), name)
		require.NoDirExists(t, filepath.Join(dir, "cue.mod/.ropewalk-vendor-new"))
		require.NoDirExists(t, filepath.Join(dir, "cue.mod/.ropewalk-vendor-old"))
	}
}

func TestVendorWritesNothingWhenAModuleIsMissing(t *testing.T) {
	oci, files := shop(t)
	dir := folder(t, files)
	r := online(&modules.Registry{Config: oci.Host})
	oci.Fault(only("/example.com/web/", servers.Answer(404, "MANIFEST_UNKNOWN", "no")))
	_, _, err := r.Vendor(t.Context(), dir, nil)
	require.ErrorIs(t, err, source.ErrNotFound)
	require.Equal(t, []string{"app.cue", "cue.mod/module.cue"}, cached(t, dir))
	_, _, err = r.Vendor(t.Context(), dir, map[string]string{"example.com/base@v0.1.0": "sha256:0"})
	require.ErrorIs(t, err, source.ErrLocked)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = r.Vendor(ctx, dir, nil)
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = r.Vendor(t.Context(), filepath.Join(dir, "none"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, _, err = r.Vendor(t.Context(), t.TempDir(), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}
