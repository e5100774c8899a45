// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

func ExampleModule() {
	files, ok := cue.Module("webservice")
	fmt.Println(ok)
	_, err := fs.Stat(files, "cue.mod/module.cue")
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}

func ExampleNames() {
	fmt.Println(cue.Names())
	// Output: [cluster database gateway policies provisioners webservice workload]
}

// objects is a plain module with the given objects.
func objects(source []byte) evaluate.Module {
	return evaluate.Module{
		FS:     fstest.MapFS{"objects.cue": &fstest.MapFile{Data: source}},
		Digest: string(source),
		Label:  "objects",
	}
}

func TestOnlyEmbeddedModulesAreFound(t *testing.T) {
	for _, name := range []string{"", ".", "..", "webservice/cue.mod", "Webservice", "nothing"} {
		_, ok := cue.Module(name)
		require.False(t, ok, name)
	}
}

func TestEveryModuleIsDocumented(t *testing.T) {
	for _, name := range cue.Names() {
		files, _ := cue.Module(name)
		readme, err := fs.ReadFile(files, "README.md")
		require.NoError(t, err, name)
		require.Contains(t, string(readme), name)
	}
}

// A lock has the digest of a module: cases lie beside its tree.
func TestEveryModuleHasCasesOutsideOfItsTree(t *testing.T) {
	for _, name := range cue.Names() {
		files, err := fs.Glob(cue.Cases(name), "test/*.yaml")
		require.NoError(t, err)
		require.Contains(t, files, "test/cases.yaml", name)
		tree, _ := cue.Module(name)
		require.Empty(t, slices.DeleteFunc(slices.Collect(maps.Keys(contents(t, tree))), func(file string) bool { return !strings.HasPrefix(file, "test") }), name)
	}
}

// vendored is every module outside of the embedded ones, each of which carries
// the schema for the cue command and for editors.
func vendored(t *testing.T) []string {
	var dirs []string
	for _, pattern := range []string{"template/modules/*", "examples/*/modules/*"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		dirs = append(dirs, found...)
	}
	require.NotEmpty(t, dirs)
	return dirs
}

func TestEveryVendoredSchemaIsTheSchema(t *testing.T) {
	want := contents(t, cue.Schema())
	require.NotEmpty(t, want)
	for _, dir := range vendored(t) {
		dir = filepath.Join(dir, "cue.mod", "pkg", filepath.FromSlash(cue.SchemaPath))
		if update() {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.CopyFS(dir, cue.Schema()))
		}
		require.Equal(t, want, contents(t, os.DirFS(dir)), "%s; ROPEWALK_UPDATE=1 copies the schema", dir)
	}
}

func contents(t *testing.T, files fs.FS) map[string]string {
	out := map[string]string{}
	require.NoError(t, fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		out[path] = string(data)
		return err
	}))
	return out
}

// Without Schemas the evaluator has nothing to lay over: what compiles then
// compiles for the cue command too.
func TestModulesCompileWithTheSchemaVendored(t *testing.T) {
	alone := inprocess.New(inprocess.Options{})
	for _, dir := range vendored(t) {
		m := evaluate.Module{FS: os.DirFS(dir), Digest: dir, Label: dir}
		requireCompiles(t, alone, m)
	}
	for _, name := range []string{"webservice", "database", "workload", "cluster"} {
		files, _ := cue.Module(name)
		tree := fstest.MapFS{}
		for path, text := range contents(t, files) {
			tree[path] = &fstest.MapFile{Data: []byte(text)}
		}
		for path, text := range contents(t, cue.Schema()) {
			tree["cue.mod/pkg/"+cue.SchemaPath+"/"+path] = &fstest.MapFile{Data: []byte(text)}
		}
		requireCompiles(t, alone, evaluate.Module{FS: tree, Digest: name, Label: name})
	}
}

// requireCompiles asks for an unknown field, which a module can only refuse
// after it has been compiled.
func requireCompiles(t *testing.T, e evaluate.Evaluator, m evaluate.Module) {
	_, err := e.Evaluate(context.Background(), request(t, m, "input.yaml", []byte("nonsense: 1\n")))
	require.ErrorContains(t, err, "nonsense", m.Label)
	require.NotContains(t, err.Error(), "schema", m.Label)
}
