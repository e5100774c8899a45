// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/test/servers"
)

// A module in a project that depends on one in a registry.
const language = "\nlanguage: version: \"v0.17.0\"\nsource: kind: \"self\"\n"

var vendoring = map[string]string{
	"base/cue.mod/module.cue":        `module: "example.com/base@v0"` + language,
	"base/base.cue":                  "package base\n\n#Labels: {team: \"blue\", ...}\n",
	"project/ropewalk.yaml":          "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: p}\nspec: {specs: [web.yaml]}\n",
	"project/web.yaml":               "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\nspec:\n  cueRef: {type: path, ref: web}\n",
	"project/web/cue.mod/module.cue": `module: "example.com/web@v0"` + language + `deps: "example.com/base@v0": v: "v0.1.0"`,
	"project/web/web.cue": `package web

import "example.com/base"

ropewalk: apiVersion: "v1alpha1"
graph: nodes: x: object: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "x", labels: base.#Labels}}
`,
}

// runCue runs the cue command of the tools module.
func runCue(t *testing.T, dir string, args ...string) {
	t.Helper()
	name, err := filepath.Abs("../../../../.bin/cue")
	require.NoError(t, err)
	if _, err := os.Stat(name); err != nil {
		out, err := exec.Command("make", "-C", "../../../..", name).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	cache := t.TempDir()
	t.Cleanup(func() { // what cue extracts is read-only
		_ = filepath.WalkDir(cache, func(name string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				return os.Chmod(name, 0o700)
			}
			return nil
		})
	})
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CUE_CACHE_DIR="+cache)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestAVendoredProjectRendersWithoutItsRegistry(t *testing.T) {
	alone(t)
	server := servers.Registry(t)
	t.Setenv("CUE_REGISTRY", server.Host+"+insecure")
	dir := t.TempDir()
	write := func(name, text string) {
		full := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o750))
		require.NoError(t, os.WriteFile(full, []byte(text), 0o600))
	}
	for name, text := range vendoring {
		write(name, text)
	}
	runCue(t, filepath.Join(dir, "base"), "mod", "publish", "v0.1.0")
	project, web := filepath.Join(dir, "project"), filepath.Join(dir, "project/web")
	emptyCache := func() { t.Setenv("ROPEWALK_CACHE", t.TempDir()) }

	code, _, diagnostics := call(t, "vendor", web, "--locked")
	require.Equal(t, command.Usage, code)
	require.Contains(t, diagnostics, "--locked: there is no ropewalk.lock in "+web+" or above")
	want := good(t, "render", project)
	require.Contains(t, want, "team: blue")
	good(t, "lock", project)
	lock, err := os.ReadFile(filepath.Join(project, "ropewalk.lock"))
	require.NoError(t, err)

	emptyCache()
	code, _, diagnostics = call(t, "vendor", web, "--offline")
	require.Equal(t, command.Environment, code)
	require.Contains(t, diagnostics, `module "example.com/base@v0.1.0": offline, and the cache`)
	code, _, _ = call(t, "render", project, "--offline")
	require.Equal(t, command.Environment, code)

	code, out, diagnostics := call(t, "vendor", web, "--locked")
	require.Zero(t, code, diagnostics)
	require.Regexp(t, `^example\.com/base@v0\.1\.0 sha256:[0-9a-f]{64}\n$`, out)
	require.Equal(t, filepath.Join(web, "cue.mod/vendor")+" written: 1 module\n", diagnostics)
	code, again, diagnostics := call(t, "vendor", web)
	require.Zero(t, code, diagnostics)
	require.Equal(t, out, again)
	require.Equal(t, filepath.Join(web, "cue.mod/vendor")+" is up to date\n", diagnostics)
	runCue(t, web, "vet", "-c=false", "./...")

	emptyCache()
	server.Reset()
	require.Equal(t, want, good(t, "render", project, "--offline"))
	require.Empty(t, server.Requests())

	// The lock that was written before holds for the module, not for a path.
	require.Contains(t, string(lock), "example.com/base")
	require.Equal(t, want, good(t, "render", project, "--offline", "--locked"))
	require.Empty(t, good(t, "lock", project, "--check"), "a lock of what is vendored is the same")
	require.Empty(t, server.Requests())

	write("project/web/cue.mod/vendor/example.com/base@v0.1.0/base.cue", "package base\n\n#Labels: team: \"red\"\n")
	for _, args := range [][]string{{"render", project}, {"vendor", web}} {
		code, _, diagnostics = call(t, args...)
		require.Equal(t, command.Findings, code)
		require.Contains(t, diagnostics, `base.cue" was vendored and changed since`)
	}
}

func TestVendorSaysWhatIsWrong(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	write := func(text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "cue.mod"), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cue.mod/module.cue"), []byte(text), 0o600))
	}
	code, _, diagnostics := call(t, "vendor", dir)
	require.Equal(t, command.Usage, code)
	require.Contains(t, diagnostics, "name the folder of a CUE module")

	write(vendoring["base/cue.mod/module.cue"])
	code, out, diagnostics := call(t, "vendor", dir)
	require.Zero(t, code)
	require.Empty(t, out)
	require.Contains(t, diagnostics, "lists nothing to vendor")

	write(vendoring["project/web/cue.mod/module.cue"])
	t.Setenv("CUE_REGISTRY", "127.0.0.1:1+insecure")
	code, _, diagnostics = call(t, "vendor", dir)
	require.Equal(t, command.Environment, code, diagnostics)
	require.Contains(t, diagnostics, `module "example.com/base@v0.1.0" at oci://127.0.0.1:1/`)
	write(`module: "example.com/web@v0"` + language + "deps: {")
	code, _, diagnostics = call(t, "vendor", dir)
	require.Equal(t, command.Findings, code, diagnostics)
	require.NoFileExists(t, filepath.Join(dir, "cue.mod/vendor"))
}

func TestVendorBringsTheSchema(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	code, _, diagnostics := call(t, "vendor", dir)
	require.Equal(t, command.Usage, code)
	require.Contains(t, diagnostics, "cue mod init example.com/NAME@v0")
	runCue(t, dir, "mod", "init", "example.com/second@v0")
	_, _, diagnostics = call(t, "vendor", dir)
	require.Contains(t, diagnostics, "lists nothing to vendor")
	module := filepath.Join(dir, "second.cue")
	require.NoError(t, os.WriteFile(module, []byte("package second\n\nimport \"ropewalk.dev/schema\"\n\nropewalk: apiVersion: \"v1alpha1\"\n"+
		"context: schema.#Context\ngraph: schema.#Graph\ngraph: nodes: c: object: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"c\"}\n"), 0o600))
	code, _, diagnostics = call(t, "vendor", dir)
	require.Zero(t, code, diagnostics)
	require.Contains(t, diagnostics, filepath.Join("cue.mod", "pkg", "ropewalk.dev", "schema")+" written")
	runCue(t, dir, "vet", "-c=false", ".")
	runCue(t, dir, "mod", "tidy")
	require.Contains(t, good(t, "render", dir), "kind: ConfigMap")
	_, _, diagnostics = call(t, "vendor", dir)
	require.Contains(t, diagnostics, "is up to date")
}

// TestAPublishedModuleIsUsedByCUE: the schema that it imports is in no registry, and comes by vendor.
func TestAPublishedModuleIsUsedByCUE(t *testing.T) {
	alone(t)
	server := servers.Registry(t)
	t.Setenv("CUE_REGISTRY", server.Host+"+insecure")
	page, dir := filepath.Join(t.TempDir(), "page"), t.TempDir()
	good(t, "module", "init", page, "--name", "example.com/page@v0")
	good(t, "module", "publish", "oci://"+server.Host+"/example.com/page:v0.1.0", page, "--plain-http", server.Host)
	runCue(t, dir, "mod", "init", "example.com/site@v0")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "site.cue"), []byte("package site\n\nimport \"example.com/page@v0\"\n\n"+
		"out: page.#Input & {image: \"nginx:1.29\"}\n"), 0o600))
	runCue(t, dir, "mod", "get", "example.com/page@latest")
	require.Contains(t, good(t, "vendor", dir), "example.com/page@v0.1.0")
	runCue(t, dir, "vet", "-c", ".")
}
