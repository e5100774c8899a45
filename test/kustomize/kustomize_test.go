// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// programs are those under test.
type programs struct{ kustomize, ropewalk string }

// build builds kustomize from its module, and the command and what builds components for it from
// this tree.
func build(t *testing.T) programs {
	t.Helper()
	dir := t.TempDir()
	p := programs{kustomize: filepath.Join(dir, "kustomize"), ropewalk: filepath.Join(dir, "ropewalk")}
	compile(t, ".", p.kustomize, "sigs.k8s.io/kustomize/kustomize/v5")
	compile(t, "../..", p.ropewalk, "./cmd/ropewalk")
	compile(t, "../..", p.ropewalk+"-components", "./cmd/ropewalk-components")
	return p
}

func compile(t *testing.T, dir, binary, pkg string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", "build", "-o", binary, pkg)
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// run runs kustomize in a folder.
func (p programs) run(t *testing.T, dir string, args ...string) (out, diagnostics string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(t.Context(), p.kustomize, args...)
	c.Dir, c.Stdout, c.Stderr = dir, &stdout, &stderr
	err = c.Run()
	return stdout.String(), stderr.String(), err
}

// good is the output of a build that must succeed.
func (p programs) good(t *testing.T, dir string) string {
	t.Helper()
	out, diagnostics, err := p.run(t, filepath.Dir(dir), "build", "--enable-alpha-plugins", "--enable-exec", filepath.Base(dir))
	require.NoError(t, err, "%s", diagnostics)
	return out
}

// folder copies a folder of testdata to where it may be changed, and puts the
// path of the command in.
func (p programs) folder(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	from := filepath.Join("testdata", name)
	require.NoError(t, os.CopyFS(dir, os.DirFS(from)))
	require.NoError(t, filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		replace(t, file, "ROPEWALK", p.ropewalk)
		return nil
	}))
	return dir
}

// replace replaces text in a file, which may lack it.
func replace(t *testing.T, file, from, to string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(data), from, to)), 0o600))
}

// objects are the documents of a stream by kind and name.
func objects(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var o map[string]any
		if decoder.Decode(&o) != nil {
			return out
		}
		meta := o["metadata"].(map[string]any)
		if a, ok := meta["annotations"].(map[string]any); ok {
			delete(a, "ropewalk.dev/rendered-by")
			if len(a) == 0 {
				delete(meta, "annotations")
			}
		}
		key := o["kind"].(string) + " " + meta["name"].(string)
		require.NotContains(t, out, key)
		out[key] = o
	}
}

func TestKustomizeRunsTheRender(t *testing.T) {
	p := build(t)
	t.Run("as a generator, with a module beside the kustomization", func(t *testing.T) {
		dir := p.folder(t, "generator")
		got := objects(t, p.good(t, dir))
		require.Len(t, got, 2)
		require.Equal(t, map[string]any{"color": "green"}, got["ConfigMap color"]["data"])
		require.NotContains(t, got["ConfigMap color"]["metadata"], "annotations", "no path of a run is left")
		require.Contains(t, got, "ConfigMap theirs")
	})
	t.Run("as a transformer, behind which others go on", func(t *testing.T) {
		dir := p.folder(t, "generator")
		replace(t, filepath.Join(dir, "kustomization.yaml"), "generators:", "transformers:")
		got := objects(t, p.good(t, dir))
		require.Len(t, got, 2)
		require.Equal(t, map[string]any{"color": "green"}, got["ConfigMap color"]["data"])
		require.Equal(t, map[string]any{"a": "no", "b": "yes"}, got["ConfigMap theirs"]["data"], "what is not ours stays")
	})
	t.Run("a project with the same objects as the command line", func(t *testing.T) {
		dir := p.folder(t, "project")
		got := objects(t, p.good(t, dir))
		c := exec.CommandContext(t.Context(), p.ropewalk, "render", filepath.Join(dir, "project.yaml"), "--env", "prod", "--dialect", "argocd")
		want, err := c.Output()
		require.NoError(t, err)
		require.NotEmpty(t, got)
		require.Equal(t, objects(t, string(want)), got)
	})
	t.Run("a mistake ends the build and is told", func(t *testing.T) {
		dir := p.folder(t, "generator")
		replace(t, filepath.Join(dir, "color.yaml"), "green", "7")
		out, diagnostics, err := p.run(t, dir, "build", "--enable-alpha-plugins", "--enable-exec", ".")
		require.Error(t, err)
		require.Empty(t, out)
		require.Contains(t, diagnostics, "Transform color: spec.input.color: expected text, got 7")
	})
	t.Run("an object that is there already ends the build", func(t *testing.T) {
		dir := p.folder(t, "generator")
		replace(t, filepath.Join(dir, "kustomization.yaml"), "generators:", "transformers:")
		replace(t, filepath.Join(dir, "theirs.yaml"), "name: theirs", "name: color")
		_, diagnostics, err := p.run(t, dir, "build", "--enable-alpha-plugins", "--enable-exec", ".")
		require.Error(t, err)
		require.Contains(t, diagnostics, "ConfigMap color is an item already that this function did not render")
	})
}

// TestAPackageOnDiskIsKeptUpToDate runs the function as kpt does: the items are
// the files of a package, and what comes back is written to them.
func TestAPackageOnDiskIsKeptUpToDate(t *testing.T) {
	p := build(t)
	dir := p.folder(t, "generator")
	require.NoError(t, os.Remove(filepath.Join(dir, "kustomization.yaml")))
	before, err := os.ReadFile(filepath.Join(dir, "theirs.yaml"))
	require.NoError(t, err)
	results := t.TempDir()
	run := func() error {
		_, _, err := p.run(t, dir, "fn", "run", ".", "--enable-exec", "--results-dir", results)
		return err
	}
	made := filepath.Join(dir, "color", "configmap-color.yaml")

	require.NoError(t, run())
	first, err := os.ReadFile(made)
	require.NoError(t, err)
	require.NoError(t, run())
	second, err := os.ReadFile(made)
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))

	// A file that a user moved stays where it is.
	moved := filepath.Join(dir, "moved.yaml")
	require.NoError(t, os.Rename(made, moved))
	replace(t, filepath.Join(dir, "color.yaml"), "green", "blue")
	require.NoError(t, run())
	require.NoFileExists(t, made)
	third, err := os.ReadFile(moved)
	require.NoError(t, err)
	require.Contains(t, string(third), "color: blue")

	// What is not rendered any more goes; its file too.
	replace(t, filepath.Join(dir, "modules", "color", "main.cue"), `name: "color"`, `name: "colour"`)
	require.NoError(t, run())
	require.NoFileExists(t, moved)
	require.FileExists(t, filepath.Join(dir, "color", "configmap-colour.yaml"))

	// A mistake changes no file, and its result names the file of the spec.
	replace(t, filepath.Join(dir, "color.yaml"), "blue", "7")
	require.Error(t, run())
	require.FileExists(t, filepath.Join(dir, "color", "configmap-colour.yaml"))
	data, err := os.ReadFile(filepath.Join(results, "results-0.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(data), "path: color.yaml")
	require.Contains(t, string(data), "path: spec.input.color")

	after, err := os.ReadFile(filepath.Join(dir, "theirs.yaml"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "what a user wrote is what it was, comments too")
}

// TestARenderNamesTheReleaseAndTheFoldersThatKustomizeNames in what buildMetadata adds, also where
// fields are laid over the kustomization.
func TestARenderNamesTheReleaseAndTheFoldersThatKustomizeNames(t *testing.T) {
	p := build(t)
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write(".git/HEAD", "")
	write("base/kustomization.yaml", "resources: [a.yaml]\n")
	write("base/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n")
	write("app/kustomization.yaml", "resources: [../base]\nbuildMetadata: [managedByLabel, originAnnotations, transformerAnnotations]\n")
	write("over/kustomization.yaml", "resources: [../app]\nnamePrefix: p-\nbuildMetadata: [managedByLabel, originAnnotations, transformerAnnotations]\n")
	write("app.yaml", "apiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: app}\nspec: {kustomize: {path: app}}\n")
	write("over.yaml", "apiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: over}\nspec: {kustomize: {path: app, namePrefix: p-}}\n")
	for _, name := range []string{"app", "over"} {
		c := exec.CommandContext(t.Context(), p.ropewalk, "render", name+".yaml", "--dialect", "plain")
		c.Dir = dir
		got, err := c.Output()
		require.NoError(t, err)
		want := objects(t, p.good(t, filepath.Join(dir, name)))
		require.NotEmpty(t, want)
		require.Equal(t, want, objects(t, string(got)), name)
	}
}
