// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render/object"
)

// TestTwoPreviewsOfAnExampleShareNothing renders examples in two previews, and without one.
func TestTwoPreviewsOfAnExampleShareNothing(t *testing.T) {
	useComponents(t)
	const rules = "  previews:\n    namespace: ${namespace}-pr-${preview}\n    host: pr-${preview}.${host}\n"
	hash := regexp.MustCompile(`"ropewalk.dev/config-hash":"[0-9a-f]+"`)
	host := regexp.MustCompile(`[a-z0-9.-]+\.example\.(com|test)`)
	others := []string{"app.example.com", "payments.example.com"} // One calls, one is called.
	for _, example := range []string{"shop", "gateways", "workloads", "orders", "environments", "components"} {
		t.Run(example, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("../../../../cue/examples", example))))
			file := filepath.Join(dir, "ropewalk.yaml")
			project, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, append(project, rules...), 0o600))

			objects := map[string]map[object.Ref]bool{}
			text := map[string]string{}
			hosts := map[string]map[string]bool{}
			for _, preview := range []string{"", "12", "13"} {
				args := []string{"render", dir, "--format", "json"}
				if preview != "" {
					args = append(args, "--preview", preview)
				}
				var out, diagnostics strings.Builder
				require.Equal(t, command.Good, Run(t.Context(), args, command.Streams{In: strings.NewReader(""), Out: &out, Err: &diagnostics}), diagnostics.String())
				o, err := object.Decode([]byte(out.String()))
				require.NoError(t, err)
				objects[preview], hosts[preview] = map[object.Ref]bool{}, map[string]bool{}
				for _, item := range o.List("items") {
					one, _ := item.(map[string]any)
					objects[preview][object.Object(one).Ref()] = true
				}
				data, err := json.Marshal(o)
				require.NoError(t, err)
				text[preview] = hash.ReplaceAllString(string(data), "")
				for _, name := range host.FindAllString(text[preview], -1) {
					hosts[preview][name] = !slices.Contains(others, name)
				}
				require.NotRegexp(t, `"(nodePort|hostPort)":[1-9]`, text[preview])
			}
			require.Equal(t, example != "components", len(hosts["12"]) > 0)
			require.Len(t, objects["12"], len(objects[""]))
			for _, pair := range [][2]string{{"12", "13"}, {"12", ""}} {
				for ref := range objects[pair[0]] {
					require.NotContains(t, objects[pair[1]], ref)
				}
				for name, served := range hosts[pair[0]] {
					require.False(t, served && hosts[pair[1]][name], name)
				}
			}
			require.Equal(t, text["13"], strings.ReplaceAll(text["12"], "pr-12", "pr-13"), "the rest is the same")
		})
	}
}
