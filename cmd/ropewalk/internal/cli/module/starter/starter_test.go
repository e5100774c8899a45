// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package starter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/starter"
)

// TestCUETakesEveryStarterWithoutARegistry is what an editor does.
func TestCUETakesEveryStarterWithoutARegistry(t *testing.T) {
	cue, err := filepath.Abs("../../../../../../.bin/cue")
	require.NoError(t, err)
	if _, err := os.Stat(cue); err != nil { // There is no build.
		cue = filepath.Join(t.TempDir(), "cue")
		out, err := exec.Command("go", "-C", "../../../../../../test/tools", "build", "-o", cue, "cuelang.org/go/cmd/cue").CombinedOutput()
		require.NoError(t, err, string(out))
	}
	for _, kind := range starter.Kinds() {
		t.Run(kind, func(t *testing.T) {
			name, err := starter.ParseName("acme.example/modules/my-" + kind + "@v1")
			require.NoError(t, err)
			files, err := starter.Files(kind, name, "v1.2.3")
			require.NoError(t, err)
			dir := t.TempDir()
			for file, data := range files {
				require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o750))
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), data, 0o600))
				require.NotContains(t, string(data), "@VERSION", file)
				if strings.HasPrefix(file, ".") {
					require.Regexp(t, `module publish "\$MODULE:\$(\w+|\{\w+#v\})"`, string(data), file)
					require.Equal(t, kind == "timoni", strings.Contains(string(data), "#v}"), file)
				}
				if strings.HasSuffix(file, "ml") {
					var document any
					require.NoError(t, yaml.Unmarshal(data, &document), file)
				}
			}
			for _, args := range [][]string{{"vet", "-c=false", "./..."}, {"fmt", "--check", "./..."}, {"mod", "tidy", "--check"}} {
				cmd := exec.Command(cue, args...)
				cmd.Dir, cmd.Env = dir, []string{"CUE_REGISTRY=none", "CUE_CACHE_DIR=" + t.TempDir(), "HOME=" + t.TempDir()}
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%v: %s", args, out)
			}
		})
	}
}

func TestNamesOfModules(t *testing.T) {
	for text, want := range map[string]string{
		"example.com/web": "example.com/web@v0", "a.b/c/d-e@v12": "a.b/c/d-e@v12",
		"web": "", "example.com": "", "example.com/web@v01": "", "example.com/web@": "", "Example.com/web": "", "example.com/a//b": "", "example.com/web/@v1": "",
	} {
		name, err := starter.ParseName(text)
		if want == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, name.String())
	}
	for folder, want := range map[string]string{"web": "example.com/web@v0", "My Shop!": "example.com/my-shop@v0", "…": "example.com/module@v0"} {
		require.Equal(t, want, starter.Default(folder).String())
	}
}
