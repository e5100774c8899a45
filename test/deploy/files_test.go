// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/object"
)

const (
	root = "../.."
	// folder is what these tests are about.
	folder = root + "/deploy/argocd"
	// kustomized is what kustomize makes of the components; test/kustomize writes it.
	kustomized = root + "/test/kustomize/testdata/argocd.yaml"
)

// read is the text of a file.
func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(data)
}

// documents are those of YAML; a key twice is an error.
func documents(t *testing.T, name, text string) []object.Object {
	t.Helper()
	var out []object.Object
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var o map[string]any
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err, name)
		if len(o) > 0 {
			out = append(out, normal(o).(map[string]any))
		}
	}
}

// manifests are the files of the folder that kubectl takes as they are. Patches, and
// what kustomize, Helm and argocd-cmp-server read, are none.
func manifests(t *testing.T) map[string][]object.Object {
	t.Helper()
	out := map[string][]object.Object{kustomized: documents(t, kustomized, read(t, kustomized))}
	require.NoError(t, filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".yaml" {
			return err
		}
		for _, o := range documents(t, file, read(t, file)) {
			other := slices.Contains([]string{"container.yaml", "socket.yaml", "plugin.yaml"}, filepath.Base(file))
			if o.Kind() == "" || o.Group() == "kustomize.config.k8s.io" || o.Group() == "ropewalk.dev" || other {
				continue
			}
			out[file] = append(out[file], o)
		}
		return nil
	}))
	require.Greater(t, len(out), 5)
	return out
}

// undefined are the kinds whose definitions are not at hand; see the package doc.
func undefined() []string { return []string{"ApplicationSet", "PodMonitor"} }

// findings is what an API server would say of objects.
func findings(objects ...object.Object) []string {
	var nodes []*object.Node
	for _, o := range objects {
		nodes = append(nodes, &object.Node{ID: object.MakeID(o.Kind(), o.Name()), Object: o})
	}
	var out []string
	found, err := check.New(check.Options{Engine: "argocd"}).Check(context.Background(), nodes)
	if err != nil {
		return []string{err.Error()}
	}
	for _, f := range found {
		if f.Rule == finding.RuleKind && slices.Contains(undefined(), strings.Split(string(f.Node), "/")[0]) {
			continue
		}
		out = append(out, string(f.Node)+": "+f.Path.String()+": "+f.Message)
	}
	return out
}

// normal is a value with the types that the check knows.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = normal(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = normal(value)
		}
		return out
	case int:
		return int64(v)
	}
	return v
}

// at is a value inside of another, by names and the names of list items.
func at(t *testing.T, in object.Object, path ...string) any {
	t.Helper()
	var v any = map[string]any(in)
	for _, name := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			v = nil
			for _, item := range in {
				if m, ok := item.(map[string]any); ok && m["name"] == name {
					v = item
				}
			}
		}
		require.NotNil(t, v, "no %q in %q", name, path)
	}
	return v
}

// install builds the command, or takes that of ROPEWALK_BIN.
func install(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv("ROPEWALK_BIN"); binary != "" {
		return binary
	}
	binary := filepath.Join(t.TempDir(), "ropewalk")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/ropewalk/ropewalk/cmd/ropewalk").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// run runs the command and gives what it prints.
func run(t *testing.T, command string, args ...string) string {
	t.Helper()
	var out, diagnostics bytes.Buffer
	c := exec.CommandContext(t.Context(), command, args...)
	c.Env = append(os.Environ(), "HOME="+t.TempDir())
	c.Stdout, c.Stderr = &out, &diagnostics
	require.NoError(t, c.Run(), "ropewalk %s\n%s", strings.Join(args, " "), diagnostics.String())
	return out.String()
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
