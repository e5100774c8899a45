// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package validators

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Rendered is what one call of render printed.
type Rendered struct {
	// Name is that of the example and the environment.
	Name    string
	Objects []*unstructured.Unstructured
}

// Of are the objects of a kind; group is that of its API.
func (r Rendered) Of(group, kind string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(r.Objects), func(o *unstructured.Unstructured) bool {
		return o.GetKind() != kind || o.GroupVersionKind().Group != group
	})
}

// As converts an object to its type, and refuses fields that it does not have.
func As[T any](t testing.TB, o *unstructured.Unstructured) *T {
	t.Helper()
	out := new(T)
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, out, true), o.GetName())
	return out
}

// root is the folder of the project.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for !strings.HasSuffix(dir, filepath.Join("test", "validators")) {
		require.NotEqual(t, dir, filepath.Dir(dir))
		dir = filepath.Dir(dir)
	}
	return filepath.Dir(filepath.Dir(dir))
}

// command builds the command, once.
//
//nolint:gochecknoglobals // of a run of tests
var command = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ropewalk-validators-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "ropewalk")
	build := exec.Command("go", "build", "-o", out, "github.com/ropewalk/ropewalk/cmd/ropewalk")
	build.Dir, build.Stderr = os.Getenv("ROPEWALK_ROOT"), os.Stderr
	return out, build.Run()
})

// Render runs the command, which may be that of ROPEWALK_BIN, and returns what it prints to
// both outputs.
func Render(t testing.TB, args ...string) (stdout, stderr []byte, err error) {
	t.Helper()
	name := os.Getenv("ROPEWALK_BIN")
	if name == "" {
		t.Setenv("ROPEWALK_ROOT", root(t))
		name, err = command()
		require.NoError(t, err)
	}
	var out, errs bytes.Buffer
	c := exec.CommandContext(t.Context(), name, append([]string{"render"}, args...)...) //nolint:gosec // the command
	c.Stdout, c.Stderr = &out, &errs
	err = c.Run()
	return out.Bytes(), errs.Bytes(), err
}

// more are arguments that an example needs.
func more(example string) []string {
	return map[string][]string{
		"compose": {"--image", "example.com/web:1"},
		"apps":    {"--image", "api-server=example.com/api:1", "--image", "report=example.com/report:1"},
	}[example]
}

// Examples renders every example in every environment that it has, with every file of its
// folder targets laid over the Gateway of that name, and testdata/everything; once.
func Examples(t testing.TB) []Rendered {
	t.Helper()
	examples.Do(func() { rendered = renderAll(t) })
	require.NotEmpty(t, rendered, "the first test has the reason")
	return rendered
}

//nolint:gochecknoglobals // of a run of tests
var (
	examples sync.Once
	rendered []Rendered
)

func renderAll(t testing.TB) []Rendered {
	t.Helper()
	base := root(t)
	folders, err := filepath.Glob(filepath.Join(base, "cue/examples/*"))
	require.NoError(t, err)
	var out []Rendered
	for _, folder := range append(folders, filepath.Join(base, "test/validators/testdata/everything")) {
		example := filepath.Base(folder)
		if example == "violation" { // It is there to be refused.
			continue
		}
		variants := [][]string{nil}
		for _, env := range environments(t, folder) {
			variants = append(variants, []string{"--env", env})
		}
		targets, err := filepath.Glob(filepath.Join(folder, "targets/*.yaml"))
		require.NoError(t, err)
		for _, target := range targets {
			variants = append(variants, []string{"--values", "gateway:" + target})
		}
		for _, args := range variants {
			stdout, stderr, err := Render(t, slices.Concat([]string{folder}, more(example), args)...)
			require.NoError(t, err, "%s %v: %s", example, args, stderr)
			name := example
			if len(args) > 0 {
				name += " " + strings.TrimSuffix(filepath.Base(args[1]), ".yaml")
			}
			out = append(out, Rendered{name, Objects(t, stdout)})
		}
	}
	return out
}

// environments are those of the project in a folder.
func environments(t testing.TB, folder string) []string {
	t.Helper()
	var project struct {
		Spec struct {
			Environments map[string]any `json:"environments"`
		} `json:"spec"`
	}
	data, err := os.ReadFile(filepath.Join(folder, "ropewalk.yaml")) //nolint:gosec // an example
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &project))
	var names []string
	for name := range project.Spec.Environments {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Objects are those of a stream.
func Objects(t testing.TB, stream []byte) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for d := yamlstream.NewYAMLOrJSONDecoder(bytes.NewReader(stream), 4096); ; {
		o := &unstructured.Unstructured{}
		err := d.Decode(&o.Object)
		if err == io.EOF { //nolint:errorlint // as it is returned
			return out
		}
		require.NoError(t, err)
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}
