// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
)

// Modules that depend on each other, and what they hold.
const language = "\nlanguage: version: \"v0.17.0\"\nsource: kind: \"self\"\n"

func base(team string) map[string]string {
	return map[string]string{
		"cue.mod/module.cue": `module: "example.com/base@v0"` + language,
		"base.cue":           "package base\n\n#Labels: {team: \"" + team + "\", ...}\n",
		"LICENSE":            "Apache-2.0\n",
	}
}

// extra is what only a package of web needs that app does not import.
func extra() map[string]string {
	return map[string]string{
		"cue.mod/module.cue": `module: "example.com/extra@v0"` + language,
		"extra.cue":          "package extra\n",
	}
}

func web() map[string]string {
	return map[string]string{
		"cue.mod/module.cue":  `module: "example.com/web@v0"` + language + `deps: {"example.com/base@v0": {v: "v0.1.0", default: true}, "example.com/extra@v0": {v: "v0.1.0", default: true}}`,
		"web.cue":             "package web\n\nimport \"example.com/base\"\n\n#Deployment: {apiVersion: \"apps/v1\", kind: \"Deployment\", metadata: {name!: string, labels: base.#Labels}}\n",
		"unused/unused.cue":   "package unused\n\nimport \"example.com/extra\"\n\nx: extra\n",
		"deep/down/deep.cue":  "package down\n\nimport b \"example.com/base@v0:base\"\n\n#Team: b.#Labels.team\n",
		"cue.mod/pkg/a/a.cue": "package a\n",
	}
}

func app() map[string]string {
	return map[string]string{
		"cue.mod/module.cue": `module: "example.com/app@v0"` + language,
		"app.cue": `package app

import (
	"example.com/web"
	"example.com/web/deep/down"
)

ropewalk: apiVersion: "v1alpha1"
input: name!: string
graph: nodes: server: object: web.#Deployment & {metadata: {name: input.name, labels: by: down.#Team}}
`,
	}
}

// cueBinary is the cue command of the tools module: that of the build where
// there is one, otherwise one that is built once for all tests.
var cueBinary = sync.OnceValues(func() (string, error) {
	built, err := filepath.Abs("../../.bin/cue")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(built); err == nil {
		return built, nil
	}
	dir, err := os.MkdirTemp("", "ropewalk-cue")
	if err != nil {
		return "", err
	}
	built = filepath.Join(dir, "cue")
	build := exec.Command("go", "-C", "../../test/tools", "build", "-o", built, "cuelang.org/go/cmd/cue")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return built, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if name, err := cueBinary(); err == nil && filepath.Base(filepath.Dir(name)) != ".bin" {
		_ = os.RemoveAll(filepath.Dir(name))
	}
	os.Exit(code)
}

// producer runs the cue command against registries.
type producer struct {
	registry string // CUE_REGISTRY
	docker   []byte // config.json
	cacheDir string // CUE_CACHE_DIR
}

// run runs cue in dir.
func (p producer) run(t testing.TB, dir string, args ...string) {
	t.Helper()
	out, err := p.try(t, dir, args...)
	require.NoError(t, err, "%s", out)
}

// try runs cue in dir, which knows nothing of the user, and gives what it says.
func (p producer) try(t testing.TB, dir string, args ...string) (string, error) {
	t.Helper()
	name, err := cueBinary()
	require.NoError(t, err)
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, "config.json"), p.docker, 0o600))
	cache := p.cacheDir
	if cache == "" {
		cache = filepath.Join(home, "cache")
		t.Cleanup(func() { writable(cache) })
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "CUE_REGISTRY=" + p.registry, "DOCKER_CONFIG=" + home,
		"CUE_CACHE_DIR=" + cache, "CUE_CONFIG_DIR=" + home,
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// publish publishes files as a version of their module.
func (p producer) publish(t testing.TB, version string, files map[string]string) {
	t.Helper()
	p.run(t, folder(t, files), "mod", "publish", version)
}

// publishAll publishes what app needs.
func (p producer) publishAll(t testing.TB) {
	t.Helper()
	p.publish(t, "v0.1.0", base("blue"))
	p.publish(t, "v0.1.0", extra())
	p.publish(t, "v0.2.0", web())
}

// tidied is files with the module file as cue mod tidy completes it.
func (p producer) tidied(t testing.TB, files map[string]string) map[string]string {
	t.Helper()
	dir := folder(t, files)
	p.run(t, dir, "mod", "tidy")
	text, err := os.ReadFile(filepath.Join(dir, "cue.mod", "module.cue"))
	require.NoError(t, err)
	files["cue.mod/module.cue"] = string(text)
	return files
}

// writable lets a temporary folder be removed: cue's cache is read-only.
func writable(dir string) {
	_ = filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return os.Chmod(name, 0o755)
		}
		return nil
	})
}

// folder writes files to a folder of the test.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return dir
}

// treeOf is files as a tree.
func treeOf(t testing.TB, files map[string]string) source.Tree {
	t.Helper()
	data := map[string][]byte{}
	for name, text := range files {
		data[name] = []byte(text)
	}
	tree, err := source.NewTree(data, "git:app", "main@sha1:1")
	require.NoError(t, err)
	tree.Pinned = "app?commit=1"
	return tree
}

// dockerConfig is a config.json with a name and a password for each host.
func dockerConfig(user, password string, hosts ...string) []byte {
	text := `{"auths": {`
	for i, host := range hosts {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf("%q: {\"auth\": %q}", host, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
	return []byte(text + "}}")
}
