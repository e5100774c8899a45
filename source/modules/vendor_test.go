// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/local"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/test/servers"
)

const list = "cue.mod/pkg/.ropewalk-vendor"

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

func TestVendoredProjectsEvaluate(t *testing.T) {
	oci, files := shop(t)
	dir := folder(t, files)
	r := modules.Registry{Config: oci.Host}
	deps, err := r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	require.Len(t, deps, 2)
	require.Equal(t, []string{
		"app.cue", "cue.mod/module.cue", list,
		"cue.mod/pkg/example.com/base/LICENSE", "cue.mod/pkg/example.com/base/base.cue",
		"cue.mod/pkg/example.com/web/deep/down/deep.cue", "cue.mod/pkg/example.com/web/unused/unused.cue",
		"cue.mod/pkg/example.com/web/web.cue",
	}, cached(t, dir))
	require.Contains(t, get(t, dir, list), "module example.com/base@v0.1.0 "+deps[0].Digest+"\n")

	oci.Reset()
	tree, err := local.Fetcher{Root: dir}.Fetch(t.Context(), source.Ref{Type: source.TypePath, Ref: "."})
	require.NoError(t, err)
	out, none, err := (&modules.Registry{Config: oci.Host}).Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	require.Empty(t, none)
	require.Empty(t, oci.Requests(), "a vendored project needs no registry")
	require.Equal(t, "blue", team(t, out))

	before, err := os.Stat(filepath.Join(dir, "cue.mod/pkg/example.com/web/web.cue"))
	require.NoError(t, err)
	_, err = r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	after, err := os.Stat(filepath.Join(dir, "cue.mod/pkg/example.com/web/web.cue"))
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "nothing is written where nothing is new")
}

// The cue command finds what is vendored, and calls it ambiguous as long as the
// module file lists it too; the doc of Vendor warns of it.
func TestTheCueCommandReadsVendoredModulesThatAreNotListed(t *testing.T) {
	oci, files := shop(t)
	dir := folder(t, files)
	_, err := (&modules.Registry{Config: oci.Host}).Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	out, err := producer{registry: oci.Host}.try(t, dir, "vet", "-c=false", ".")
	require.Error(t, err)
	require.Contains(t, out, "ambiguous import")
	put(t, dir, "cue.mod/module.cue", `module: "example.com/app@v0"`+language)
	producer{registry: "none"}.run(t, dir, "vet", "-c=false", ".")
}

func TestVendorTakesAwayWhatItWroteAndNothingElse(t *testing.T) {
	oci, files := shop(t)
	dir := folder(t, files)
	r := &modules.Registry{Config: oci.Host}
	put(t, dir, "cue.mod/pkg/mine.example/a.cue", "package a")
	put(t, dir, "cue.mod/pkg/example.com/own/a.cue", "package a")
	put(t, dir, "cue.mod/gen/g.cue", "package g")
	_, err := r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)

	put(t, dir, "app.cue", "package app\n")
	put(t, dir, "cue.mod/module.cue", deps("example.com/base@v0", "v0.1.0"))
	_, err = r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Join(dir, "cue.mod/pkg/example.com/web"))
	require.FileExists(t, filepath.Join(dir, "cue.mod/pkg/example.com/base/base.cue"))

	put(t, dir, "cue.mod/module.cue", `module: "example.com/app@v0"`+language)
	_, err = r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		"app.cue", "cue.mod/gen/g.cue", "cue.mod/module.cue",
		"cue.mod/pkg/example.com/own/a.cue", "cue.mod/pkg/mine.example/a.cue",
	}, cached(t, dir))
}

func TestVendorFollowsTheModuleFile(t *testing.T) {
	oci, _ := shop(t)
	producer{registry: oci.Host}.publish(t, "v0.1.1", base("red"))
	dir := folder(t, map[string]string{"cue.mod/module.cue": deps("example.com/base@v0", "v0.1.0")})
	r := &modules.Registry{Config: oci.Host}
	_, err := r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	require.Contains(t, get(t, dir, "cue.mod/pkg/example.com/base/base.cue"), "blue")
	put(t, dir, "cue.mod/module.cue", deps("example.com/base@v0", "v0.1.1"))
	_, err = r.Vendor(t.Context(), dir, nil)
	require.NoError(t, err)
	require.Contains(t, get(t, dir, "cue.mod/pkg/example.com/base/base.cue"), "red")
	require.NotContains(t, get(t, dir, list), "v0.1.0")
	require.NoDirExists(t, filepath.Join(dir, "cue.mod/pkg/.ropewalk-new"))
}

func TestAModuleInsideOfAnotherIsVendoredBesideIt(t *testing.T) {
	oci := servers.InProcess(t)
	cue := producer{registry: oci.Host}
	cue.publishAll(t)
	inner := base("green")
	inner["cue.mod/module.cue"] = `module: "example.com/base/inner@v0"` + language
	cue.publish(t, "v0.1.0", inner)
	dir := folder(t, map[string]string{"cue.mod/module.cue": deps("example.com/base@v0", "v0.1.0", "example.com/base/inner@v0", "v0.1.0")})
	for range 2 {
		_, err := (&modules.Registry{Config: oci.Host}).Vendor(t.Context(), dir, nil)
		require.NoError(t, err)
		require.Contains(t, get(t, dir, "cue.mod/pkg/example.com/base/base.cue"), "blue")
		require.Contains(t, get(t, dir, "cue.mod/pkg/example.com/base/inner/base.cue"), "green")
		require.NoError(t, os.Remove(filepath.Join(dir, "cue.mod/pkg/example.com/base/base.cue")), "the second time mends it")
	}
}

func TestVendorLeavesTheWorkOfOthersAlone(t *testing.T) {
	oci, files := shop(t)
	const at = "cue.mod/pkg/example.com/base/"
	t.Run("a dependency that someone vendored by hand", func(t *testing.T) {
		dir := folder(t, files)
		put(t, dir, at+"base.cue", base("green")["base.cue"])
		deps, err := (&modules.Registry{Config: oci.Host}).Vendor(t.Context(), dir, nil)
		require.NoError(t, err)
		require.Len(t, deps, 1)
		require.Contains(t, get(t, dir, at+"base.cue"), "green")
	})
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		says   string
	}{
		"a vendored file that was changed": {
			func(t *testing.T, dir string) { put(t, dir, at+"base.cue", "package base\n") },
			`"cue.mod/pkg/example.com/base/base.cue" was vendored and changed since`,
		},
		"a file beside vendored ones": {
			func(t *testing.T, dir string) { put(t, dir, at+"more.cue", "package base\n") },
			`"cue.mod/pkg/example.com/base/more.cue" lies in the folder of a vendored module`,
		},
		"a list that names files outside": {
			func(t *testing.T, dir string) { put(t, dir, list, "file sha256:1 ../../../victim\n") },
			"not a line that vendoring writes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, files)
			r := &modules.Registry{Config: oci.Host}
			_, err := r.Vendor(t.Context(), dir, nil)
			require.NoError(t, err)
			c.change(t, dir)
			before := cached(t, dir)
			require.NoError(t, os.Remove(filepath.Join(dir, "cue.mod/pkg/example.com/web/web.cue"))) // something to do
			_, err = r.Vendor(t.Context(), dir, nil)
			require.ErrorContains(t, err, c.says)
			require.NotEqual(t, before, cached(t, dir))
			require.NoFileExists(t, filepath.Join(dir, "cue.mod/pkg/example.com/web/web.cue"), "nothing was written")
		})
	}
}

func TestVendorStaysInsideOfTheProject(t *testing.T) {
	oci, files := shop(t)
	dir, outside := folder(t, files), t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "cue.mod", "pkg")))
	_, err := (&modules.Registry{Config: oci.Host}).Vendor(t.Context(), dir, nil)
	require.Error(t, err)
	require.Empty(t, cached(t, outside))
}

// A vendoring that ended anywhere in the middle is ended by the next.
func TestVendorAfterACrash(t *testing.T) {
	oci, files := shop(t)
	whole := folder(t, files)
	r := &modules.Registry{Config: oci.Host}
	_, err := r.Vendor(t.Context(), whole, nil)
	require.NoError(t, err)
	want := cached(t, whole)
	for n := range want {
		dir := folder(t, files)
		put(t, dir, list, get(t, whole, list)) // written before any module is moved
		for _, name := range want[:n] {
			put(t, dir, name, get(t, whole, name))
		}
		put(t, dir, "cue.mod/pkg/.ropewalk-new/0/base.cue", "package ba")
		_, err := r.Vendor(t.Context(), dir, nil)
		require.NoError(t, err)
		require.Equal(t, want, cached(t, dir))
	}
}

func TestVendorWritesNothingWhenAModuleIsMissing(t *testing.T) {
	oci, files := shop(t)
	dir := folder(t, files)
	oci.Fault(only("/example.com/web/", servers.Answer(404, "MANIFEST_UNKNOWN", "no")))
	_, err := (&modules.Registry{Config: oci.Host}).Vendor(t.Context(), dir, nil)
	require.ErrorIs(t, err, source.ErrNotFound)
	require.NoDirExists(t, filepath.Join(dir, "cue.mod/pkg"))
	_, err = (&modules.Registry{Config: oci.Host}).Vendor(t.Context(), dir, map[string]string{"example.com/base@v0.1.0": "sha256:0"})
	require.ErrorIs(t, err, source.ErrLocked)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = (&modules.Registry{Config: oci.Host}).Vendor(ctx, dir, nil)
	require.ErrorIs(t, err, context.Canceled)
	_, err = (&modules.Registry{}).Vendor(t.Context(), filepath.Join(dir, "none"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}
