// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/test/conformance/cases"
	"github.com/ropewalk/ropewalk/test/reposerver"
)

// TestEveryWayFindsTheSameMistakes compares what the ways print for cases that cannot be
// rendered: each mistake with its file, line and column.
func TestEveryWayFindsTheSameMistakes(t *testing.T) {
	b := prepare(t)
	for _, c := range cases.Mistaken() {
		if c.Repository != cases.Mistakes {
			continue // it is not locked, which the plugins ask for
		}
		r := request{c}
		t.Run(c.Name(), func(t *testing.T) {
			var mistakes []struct {
				Severity, Message string
				Pos               object.Pos
			}
			require.NoError(t, json.Unmarshal([]byte(fails(t, b, r, "", "render", "--format", "json")), &mistakes))
			require.NotEmpty(t, mistakes)
			variables := r.variables(t, false, true)
			_, answer := reposerver.Generate(t.Context(), b.socket, reposerver.Request{
				Files: os.DirFS(b.repositories[r.Repository]), Path: r.Dir, Variables: variables,
			})
			require.Error(t, answer)
			_, stock, err := b.exec(t, plugin(t).Spec.Generate, r, variables)
			require.Error(t, err)
			ways := map[string]string{
				"KRM": fails(t, b, r, functionOf(t, b.folder(r)), "plugin", "krm"), "Argo CD socket": answer.Error(), "stock server": stock,
			}
			for _, m := range mistakes {
				for way, said := range ways {
					// The plugins name files from the root of the repository.
					require.Contains(t, said, strings.TrimPrefix(m.Pos.String(), "../"), way)
					require.Contains(t, said, m.Message, way)
				}
				t.Logf("%s: %s", m.Pos, m.Message)
			}
		})
	}
}

// fails runs the command in the folder of a request, and returns what it writes on standard
// error as it exits with 1.
func fails(t *testing.T, b bench, r request, stdin string, args ...string) string {
	t.Helper()
	var diagnostics bytes.Buffer
	c := exec.CommandContext(t.Context(), b.command, args...)
	c.Dir, c.Stdin, c.Stderr = b.folder(r), strings.NewReader(stdin), &diagnostics
	var failed *exec.ExitError
	require.ErrorAs(t, c.Run(), &failed)
	require.Equal(t, 1, failed.ExitCode(), "%s", &diagnostics)
	return diagnostics.String()
}

// functionOf is a ResourceList whose function names the files of a folder as specs.
func functionOf(t *testing.T, dir string) string {
	t.Helper()
	project := map[string]any{
		"apiVersion": "ropewalk.dev/v1alpha1", "kind": "Project", "metadata": map[string]any{"name": "mistakes"}, "spec": map[string]any{},
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	require.NoError(t, err)
	var specs []string
	for _, file := range files {
		if filepath.Base(file) != "ropewalk.yaml" {
			specs = append(specs, filepath.Base(file))
			continue
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(data, &project))
	}
	project["spec"].(map[string]any)["specs"] = specs
	data, err := json.Marshal(map[string]any{
		"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": []any{}, "functionConfig": project,
	})
	require.NoError(t, err)
	return string(data)
}
