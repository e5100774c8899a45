// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/plugin/krm"
)

// bench is what ways work with.
type bench struct {
	command string
	// repositories are folders by the name of their repository.
	repositories map[string]string
	// socket is that of a plugin that runs.
	socket string
}

// folder is that of a request.
func (b bench) folder(r request) string { return filepath.Join(b.repositories[r.Repository], r.Dir) }

// way is one way to render a project.
type way struct {
	name string
	// render gives the objects in their order, each as JSON with sorted keys.
	render func(t *testing.T, b bench, r request) []string
	// lacks says why the way cannot render a request, "" where it can; nil is a
	// way that lacks nothing.
	lacks func(r request) string
}

func (w way) missing(r request) string {
	if w.lacks == nil {
		return ""
	}
	return w.lacks(r)
}

// ways are all of them; the others are compared with the first.
func ways() []way {
	return []way{
		{name: "command line", render: commandLine},
		{name: "KRM, specs as items", render: krmItems, lacks: krmLacks},
		{name: "KRM, specs as files", render: krmFiles, lacks: krmLacks},
		{name: "Argo CD socket", render: socket, lacks: argocdOnly},
		{name: "stock server", render: stock, lacks: argocdOnly},
	}
}

// krmLacks: a function has a functionConfig, and that is a document.
func krmLacks(r request) string {
	if r.Bare {
		return "there is no document to be its functionConfig"
	}
	return ""
}

// install builds the command, with the program that renders charts beside it, or takes that
// of ROPEWALK_BIN.
func install(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv("ROPEWALK_BIN"); binary != "" {
		return binary
	}
	dir := t.TempDir()
	const module = "github.com/ropewalk/ropewalk/cmd/"
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", dir, module+"ropewalk", module+"ropewalk-components").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(dir, "ropewalk")
}

// run runs the command in a folder and gives what it prints.
func run(t *testing.T, dir, stdin, command string, args ...string) []byte {
	t.Helper()
	var out, diagnostics bytes.Buffer
	c := exec.CommandContext(t.Context(), command, args...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = dir, strings.NewReader(stdin), &out, &diagnostics
	require.NoError(t, c.Run(), "%s", diagnostics.String())
	return out.Bytes()
}

// flags are what a request says as flags of the commands that render.
func (r request) flags() []string {
	var out []string
	for _, f := range r.Values {
		out = append(out, "--values", f)
	}
	for _, s := range r.Set {
		out = append(out, "--set", s)
	}
	if r.Namespace != "" {
		out = append(out, "--namespace", r.Namespace)
	}
	if r.KubeVersion != "" {
		out = append(out, "--kube-version", r.KubeVersion)
	}
	return out
}

// commandLine is `ropewalk render`.
func commandLine(t *testing.T, b bench, r request) []string {
	args := append([]string{"render", "--format", "json", "--dialect", r.Dialect}, r.flags()...)
	if r.Environment != "" {
		args = append(args, "--env", r.Environment)
	}
	var list struct{ Items []map[string]any }
	require.NoError(t, json.Unmarshal(run(t, b.folder(r), "", b.command, args...), &list))
	return texts(t, list.Items)
}

// krmItems is `ropewalk plugin krm` with the project as functionConfig and its
// specs as items.
func krmItems(t *testing.T, b bench, r request) []string {
	project, specs, _ := documents(t, b.folder(r))
	return krmFunction(t, b, r, project, specs)
}

// krmFiles is the same with a project that names the files of its specs.
func krmFiles(t *testing.T, b bench, r request) []string {
	project, _, files := documents(t, b.folder(r))
	project["spec"].(map[string]any)["specs"] = files
	return krmFunction(t, b, r, project, nil)
}

func krmFunction(t *testing.T, b bench, r request, project map[string]any, items []map[string]any) []string {
	t.Helper()
	annotations := map[string]any{"ropewalk.dev/dialect": r.Dialect}
	if r.Environment != "" {
		annotations["ropewalk.dev/environment"] = r.Environment
	}
	project["metadata"].(map[string]any)["annotations"] = annotations
	in, err := json.Marshal(map[string]any{
		"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items, "functionConfig": project,
	})
	require.NoError(t, err)
	var list struct{ Items []map[string]any }
	require.NoError(t, yaml.Unmarshal(run(t, b.folder(r), string(in), b.command, append([]string{"plugin", "krm"}, r.flags()...)...), &list))
	require.Equal(t, texts(t, items), texts(t, list.Items[:len(items)]), "the specs pass through")
	made := list.Items[len(items):]
	for _, o := range made {
		meta := o["metadata"].(map[string]any)
		a := meta["annotations"].(map[string]any)
		for _, own := range []string{krm.RenderedBy, krm.PathAnnotation} {
			require.Contains(t, a, own)
			delete(a, own)
		}
		if len(a) == 0 {
			delete(meta, "annotations")
		}
	}
	return texts(t, made)
}

// documents are the project of a folder, its specs, and their files.
func documents(t *testing.T, dir string) (project map[string]any, specs []map[string]any, files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	require.NoError(t, err)
	slices.Sort(all)
	for _, file := range all {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		decoder := yaml.NewDecoder(bytes.NewReader(data))
		var doc map[string]any
		for decoder.Decode(&doc) == nil {
			if doc["kind"] == "Project" {
				project = doc
			} else {
				specs = append(specs, doc)
				files = append(files, filepath.Base(file))
			}
			doc = nil
		}
	}
	require.NotNil(t, project)
	require.NotEmpty(t, specs)
	return project, specs, files
}

// texts are objects as JSON with sorted keys, and with numbers as JSON has them.
func texts(t *testing.T, objects []map[string]any) []string {
	t.Helper()
	out := make([]string, len(objects))
	for i, o := range objects {
		data, err := json.Marshal(o)
		require.NoError(t, err)
		out[i] = string(data)
	}
	return out
}
