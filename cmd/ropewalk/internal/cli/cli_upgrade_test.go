// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/upgrade"
	"github.com/ropewalk/ropewalk/test/servers"
)

// upgradable is a project whose references lead to a registry and a Git server.
type upgradable struct {
	publisher
	project, git string
	repo         *servers.Git
}

const upgradeSpec = `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata:
  name: web
spec:
  cueRef:
    type: oci
    ref: "WEB:v0.1.0" # the module of the web team
  input: {image: "nginx:1.29"}
---
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: other}
spec:
  cueRef: {type: oci, ref: 'WEB:v0.1.0'}   # twice in one file
  input:
    image: nginx:1.29
`

const upgradeProject = `apiVersion: ropewalk.dev/v1alpha1
kind: Project
metadata: {name: shop}
spec:
  environments:
    dev: {}
    prod:
      inputs:
        web: {replicas: 5}
        other: {replicas: 5}
`

func newUpgradable(t *testing.T, server *servers.OCI) upgradable {
	t.Helper()
	root, repo := webRepository(t)
	u := upgradable{publisher: newModule(t, server), git: servers.GitHTTP(t, root), repo: repo}
	u.publish("v0.1.0", "--skip-checks")
	base := strings.TrimSuffix(u.at(""), ":")
	u.project = writeIn(t, filepath.Join(t.TempDir(), "shop"), map[string]string{
		"ropewalk.yaml": upgradeProject, "web.yaml": strings.ReplaceAll(upgradeSpec, "WEB", base),
	})
	return u
}

func (u upgradable) flags(args ...string) []string {
	return append([]string{"upgrade", u.project, "--plain-http", u.server.Host, "--plain-http", strings.TrimPrefix(u.git, "http://")}, args...)
}

func (u upgradable) upgrade(args ...string) (out upgrade.Upgrades) {
	u.t.Helper()
	require.NoError(u.t, json.Unmarshal([]byte(good(u.t, u.flags(append(args, "--format", "json")...)...)), &out))
	return out
}

func (u upgradable) read(name string) string {
	u.t.Helper()
	text, err := os.ReadFile(filepath.Join(u.project, name))
	require.NoError(u.t, err)
	return string(text)
}

func (u upgradable) lock(args ...string) (code int, out string) {
	u.t.Helper()
	code, out, text := call(u.t, append([]string{"lock", u.project, "--plain-http", u.server.Host, "--plain-http", strings.TrimPrefix(u.git, "http://")}, args...)...)
	return code, out + text
}

func TestUpgradeWritesReferencesInTheirPlace(t *testing.T) {
	for name, open := range registries() {
		t.Run(name, func(t *testing.T) {
			alone(t)
			u := newUpgradable(t, open(t))
			code, text := u.lock()
			require.Zero(t, code, text)
			out := u.upgrade()
			require.Empty(t, out.Upgrades)
			require.Equal(t, 1, out.Current)
			require.Empty(t, out.Environments, "nothing is rendered where nothing is newer")

			u.edit("replicas: *2", "replicas: *3")
			u.publish("v0.1.1", "--skip-checks")
			u.edit("\treplicas:", "\tcount:")
			u.publish("v0.2.0", "--skip-checks")
			before := u.read("web.yaml")

			out = u.upgrade()
			require.Len(t, out.Upgrades, 1)
			up := out.Upgrades[0]
			require.Equal(t, []any{"v0.1.0", "v0.1.1", "v0.2.0", "minor"}, []any{up.From, up.To, up.Beyond, up.Verdict})
			require.Len(t, up.At, 2)
			require.Len(t, out.Environments, 2)
			require.Equal(t, "dev", out.Environments[0].Name)
			require.Len(t, out.Environments[0].Diff.Changes, 2, "the default of replicas moved")
			require.True(t, out.Environments[1].Diff.Empty(), "prod sets replicas")
			require.Equal(t, before, u.read("web.yaml"))

			code, data, _ := call(t, u.flags("--to", "major", "--write", "--format", "json")...)
			require.Equal(t, command.Findings, code)
			require.NoError(t, json.Unmarshal([]byte(data), &out))
			require.Equal(t, "major", out.Upgrades[0].Verdict)
			require.NotEmpty(t, out.Environments[1].Errors, "prod sets an input that is gone")
			require.Empty(t, out.Written)
			require.Equal(t, before, u.read("web.yaml"), "what does not render is not written")

			markdown := good(t, u.flags("--write", "--format", "markdown")...)
			for _, part := range []string{"## Upgrades", "v0.1.1 (v0.2.0 is there)", ": minor: replicas: ", "## Environment dev", "| `~` | `Deployment", "## Environment prod\n\n### Rendered manifests"} {
				require.Contains(t, markdown, part)
			}
			require.Equal(t, strings.ReplaceAll(before, "v0.1.0", "v0.1.1"), u.read("web.yaml"), "nothing but the versions changes")
			locked := u.read("ropewalk.lock")
			require.Contains(t, locked, "acme.example/web:v0.1.1")
			require.NotContains(t, locked, "v0.1.0")
			code, text = u.lock("--check")
			require.Zero(t, code, text)
			require.Empty(t, u.upgrade().Environments)
		})
	}
}

func TestUpgradeOfRangesBranchesAndPinnedReferences(t *testing.T) {
	alone(t)
	u := newUpgradable(t, servers.InProcess(t))
	base := strings.TrimSuffix(u.at(""), ":")
	first := u.publish("v0.1.0", "--skip-checks")
	input := "  input: {image: \"nginx:1.29\"}\n"
	writeIn(t, u.project, map[string]string{
		"web.yaml":    specOf("web", "type: oci, ref: \""+base+"?semver=~0.1\"") + input,
		"latest.yaml": specOf("other", "type: oci, ref: \""+base+":latest\"") + input,
		"pinned.yaml": specOf("pinned", "type: oci, ref: \""+base+"@"+first.Digest+"\"") + input,
		"both.yaml":   specOf("both", "type: oci, ref: \""+base+":v0.1.0@"+first.Digest+"\"") + input,
		"git.yaml":    specOf("git", "type: git, ref: \""+u.git+"/web.git?tag=v1.0.0\""),
	})
	code, text := u.lock()
	require.Zero(t, code, text)
	u.edit("replicas: *2", "replicas: *3")
	second := u.publish("v0.1.1", "--skip-checks")
	u.edit("replicas: *3", "replicas: *4")
	third := u.publish("v0.2.0", "--skip-checks")
	u.repo.Commit(map[string]string{"README.md": "a module"}, "describe it")
	u.repo.Tag("v1.1.0")
	u.repo.Tag("v2.0.0-rc.1")
	code, text = u.lock("--check")
	require.Equal(t, command.Different, code)
	require.Contains(t, text, "?semver=~0.1\" moved from v0.1.0@")

	out := u.upgrade()
	found := map[string]upgrade.Upgrade{}
	for _, up := range out.Upgrades {
		found[strings.TrimPrefix(up.Ref, base)] = up
	}
	require.Len(t, found, 4)
	require.Equal(t, []string{base + "@" + first.Digest}, out.Pinned)
	require.Zero(t, out.Current)
	require.Equal(t, u.git+"/web.git?tag=v1.1.0", found[u.git+"/web.git?tag=v1.0.0"].New)
	require.Equal(t, "undecided", found[u.git+"/web.git?tag=v1.0.0"].Verdict, "the module has no cases")
	require.Equal(t, []string{"v0.1.1@" + second.Digest, "v0.2.0", ""}, []string{found["?semver=~0.1"].To, found["?semver=~0.1"].Beyond, found["?semver=~0.1"].New})
	require.Equal(t, []string{"latest@" + third.Digest, ""}, []string{found[":latest"].To, found[":latest"].New})
	require.Equal(t, base+":v0.1.1@"+second.Digest, found[":v0.1.0@"+first.Digest].New)

	out = u.upgrade("--only", base, "--write")
	require.Equal(t, []string{filepath.Join(u.project, "both.yaml"), filepath.Join(u.project, "ropewalk.lock")}, out.Written)
	require.Contains(t, u.read("both.yaml"), "\""+base+":v0.1.1@"+second.Digest+"\"")
	code, text = u.lock("--check")
	require.Zero(t, code, text)
	u.edit("replicas: *4", "replicas: *5")
	u.publish("v0.2.1", "--skip-checks")
	t.Chdir(u.project)
	require.Contains(t, good(t, "upgrade", "--plain-http", u.server.Host, "--plain-http", hostOfURL(u.git), "--to", "major", "--write"), "written: both.yaml\n")
	require.Contains(t, u.read("both.yaml"), ":v0.2.1@sha256:")
	require.Contains(t, u.read("git.yaml"), "?tag=v1.1.0")
	require.Contains(t, u.read("latest.yaml"), ":latest")
	code, text = u.lock("--check")
	require.Zero(t, code, text)
	code, _, text = call(t, u.flags("--only", "oci://example.com/web")...)
	require.Equal(t, command.Usage, code)
	require.Contains(t, text, "the project has no such reference")
}

func TestUpgradeRefuses(t *testing.T) {
	alone(t)
	u := newUpgradable(t, servers.InProcess(t))
	base := strings.TrimSuffix(u.at(""), ":")
	u.edit("replicas: *2", "replicas: *3")
	u.publish("v0.1.1", "--skip-checks")
	text := strings.Replace(specOf("web", "type: oci, ref: \""+base+":v0.1\\u002e0\"")+"  input: {image: \"nginx:1.29\"}\n", "name: web", "name: escaped", 1)
	writeIn(t, u.project, map[string]string{"escaped.yaml": text})
	before := u.read("web.yaml")
	code, _, says := call(t, u.flags("--write")...)
	require.Equal(t, command.Findings, code, says)
	require.Contains(t, says, "escaped.yaml:5:")
	require.Contains(t, says, "is not written here in one piece")
	require.Equal(t, before, u.read("web.yaml"), "nothing is written where one cannot be")

	for _, args := range [][]string{{"--locked"}, {"--offline"}} {
		code, _, says = call(t, u.flags(args...)...)
		require.Equal(t, command.Usage, code, says)
	}
	code, _, says = call(t, "upgrade", "-")
	require.Equal(t, command.Usage, code, says)

	u.server.Fault(func(*http.Request) (http.Handler, bool) { return servers.Reset(), true })
	code, _, says = call(t, u.flags()...)
	require.Equal(t, command.Environment, code, says)
	require.Contains(t, says, "escaped.yaml:5:28: ")
}

func TestUpgradeWritesVersionsThatAreFieldsOfTheirOwn(t *testing.T) {
	useComponents(t)
	alone(t)
	charts := httptest.NewServer(http.FileServer(http.Dir("../../../../source/helmrepo/testdata")))
	t.Cleanup(charts.Close)
	server := servers.InProcess(t)
	plain := []string{"--plain-http", server.Host, "--plain-http", hostOfURL(charts.URL)}
	timoni := filepath.Join(t.TempDir(), "timoni")
	good(t, "module", "init", timoni, "--from", "timoni", "--name", "acme.example/toy@v0")
	digests := map[string]string{}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		var out struct{ Digest string }
		require.NoError(t, os.WriteFile(filepath.Join(timoni, "README.md"), []byte("Version "+version+".\n"), 0o600))
		require.NoError(t, json.Unmarshal([]byte(good(t, append([]string{"module", "publish", "oci://" + server.Host + "/toy:" + version, timoni, "--skip-checks", "--format", "json"}, plain...)...)), &out))
		digests[version] = out.Digest
	}
	dir := writeIn(t, t.TempDir(), map[string]string{
		"chart/toy.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: toy}\nspec:\n  helm:\n    repo: " + charts.URL +
			"/charts\n    chart: toy\n    version: 1.0.0 # as tested\n",
		"bundle/bundle.cue": `bundle: {
	apiVersion: "v1alpha1"
	name:       "toys"
	instances: toy: {
		module: {
			url:     "oci://` + server.Host + `/toy"
			version: "1.0.0" // as tested
		}
		namespace: "toys"
		values: image: "nginx:1.29"
	}
}
`,
	})
	writeIn(t, dir, map[string]string{"pinned/bundle.cue": bundleOf(server.Host, digests["1.0.0"])})
	for folder, file := range map[string]string{"chart": "toy.yaml", "bundle": "bundle.cue", "pinned": "bundle.cue"} {
		name := filepath.Join(dir, folder, file)
		before, err := os.ReadFile(name)
		require.NoError(t, err)
		out := good(t, append([]string{"upgrade", filepath.Join(dir, folder), "--write"}, plain...)...)
		require.Contains(t, out, "written: "+name)
		after, err := os.ReadFile(name)
		require.NoError(t, err)
		want := map[string]string{"chart": "version: 1.2.0 # as", "bundle": "version: \"1.1.0\" // as", "pinned": `version: "1.1.0", digest: "` + digests["1.1.0"] + `"`}[folder]
		require.Contains(t, string(after), want)
		require.Len(t, after, len(before))
		require.Contains(t, good(t, append([]string{"upgrade", filepath.Join(dir, folder)}, plain...)...), "1 reference up to date")
	}
}
