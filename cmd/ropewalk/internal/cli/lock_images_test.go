// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/test/servers"
)

// imaged is a project whose environments run different images of a registry.
type imaged struct {
	t       *testing.T
	server  *servers.OCI
	project string
}

const imagedProject = `apiVersion: ropewalk.dev/v1alpha1
kind: Project
metadata: {name: shop}
spec:
  environments:
    dev: {inputs: {web: {image: "HOST/app:dev"}}}
    prod: {inputs: {web: {image: "HOST/app:v1"}, worker: {image: "HOST/other@sha256:DIGEST"}}}
`

// newImaged is the project. In no environment it has no image, and does not render.
func newImaged(t *testing.T, server *servers.OCI) imaged {
	t.Helper()
	m := imaged{t: t, server: server, project: filepath.Join(t.TempDir(), "shop")}
	text := strings.NewReplacer("HOST", server.Host, "DIGEST", strings.Repeat("7", 64)).Replace(imagedProject)
	web := specOf("web", "type: embedded, ref: webservice") + "  input: {}\n"
	worker := specOf("worker", "type: embedded, ref: webservice") + "  input: {image: \"" + server.Host + "/app\"}\n"
	writeIn(t, m.project, map[string]string{"ropewalk.yaml": text, "web.yaml": web, "worker.yaml": worker})
	return m
}

// push pushes a manifest of its own for a content, and returns its digest.
func (m imaged) push(name, content string) string {
	m.t.Helper()
	dir := writeIn(m.t, m.t.TempDir(), map[string]string{
		"x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {content: " + content + "}\n",
	})
	var out struct{ Digest string }
	text := good(m.t, "artifact", "push", dir, "oci://"+m.server.Host+"/"+name, "--plain-http", m.server.Host, "--format", "json")
	require.NoError(m.t, json.Unmarshal([]byte(text), &out))
	return out.Digest
}

func (m imaged) lock(args ...string) (code int, out, diagnostics string) {
	m.t.Helper()
	return call(m.t, append([]string{"lock", m.project, "--plain-http", m.server.Host}, args...)...)
}

func (m imaged) text() string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.project, "ropewalk.lock"))
	require.NoError(m.t, err)
	return string(text)
}

// entries are the images of a lock, as it writes them.
func entries(pairs ...string) string {
	out := "images:\n"
	for i := 0; i < len(pairs); i += 2 {
		out += "  - image: " + pairs[i] + "\n    digest: " + pairs[i+1] + "\n"
	}
	return out
}

func TestALockOfTheImagesOfEveryEnvironment(t *testing.T) {
	for name, start := range registries() {
		t.Run(name, func(t *testing.T) {
			alone(t)
			m := newImaged(t, start(t))
			latest, dev, v1 := m.push("app:latest", "a"), m.push("app:dev", "b"), m.push("app:v1", "c")
			app, pinned := m.server.Host+"/app", "sha256:"+strings.Repeat("7", 64)

			code, _, says := m.lock()
			require.Zero(t, code, says)
			plain := m.text()
			require.NotContains(t, plain, "images")

			m.server.Reset()
			code, out, says := m.lock("--images")
			require.Zero(t, code, says)
			require.Contains(t, out, fmt.Sprintf("image %q is new, at %s\n", app+":dev", dev))
			require.Contains(t, says, "written: 1 source, 0 modules, 4 images")
			want := plain + entries(app, latest, app+":dev", dev, app+":v1", v1, m.server.Host+"/other@"+pinned, pinned)
			require.Equal(t, want, m.text(), "the rest of the lock stays as it was")
			require.Len(t, m.server.Lines(), 3, "one request for each tag, none for a digest")
			for _, r := range m.server.Requests() {
				require.Equal(t, http.MethodHead, r.Method)
			}
			for _, args := range [][]string{{"--check"}, {"--check", "--images"}, {"--check", "--env", "dev"}, nil} {
				code, out, says = m.lock(args...)
				require.Zero(t, code, says)
				require.Empty(t, out)
				require.Contains(t, says, "is up to date")
			}

			moved := m.push("app:v1", "d")
			line := fmt.Sprintf("image %q moved from %s to %s\n", app+":v1", v1, moved)
			code, out, says = m.lock("--check")
			require.Equal(t, command.Different, code, says)
			require.Equal(t, line, out)
			require.Equal(t, want, m.text())
			code, out, says = m.lock("--check", "--images=false")
			require.Zero(t, code, "the images are left out of the check: %s", says)
			require.Empty(t, out)
			render := []string{"render", m.project, "--env", "prod", "--locked"}
			require.Contains(t, good(t, render...), "image: "+app+":v1", "a render ignores the entries")
			code, out, says = m.lock()
			require.Zero(t, code, says)
			require.Equal(t, line, out)
			require.Equal(t, strings.Replace(want, v1, moved, 1), m.text())

			code, out, says = m.lock("--images=false")
			require.Zero(t, code, says)
			require.Equal(t, 4, strings.Count(out, " is gone, it was at "))
			require.Equal(t, plain, m.text())
		})
	}
}

func TestALockOfNoImagesIsStillOneWithImages(t *testing.T) {
	alone(t)
	dir := writeIn(t, t.TempDir(), map[string]string{
		"x.yaml":   "apiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: x}\nspec: {manifests: {paths: [m/x.yaml]}}\n",
		"m/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
	})
	good(t, "lock", dir, "--images")
	text, err := os.ReadFile(filepath.Join(dir, "ropewalk.lock"))
	require.NoError(t, err)
	require.Contains(t, string(text), "\nimages: []\n")
	good(t, "lock", dir, "--check")
	writeIn(t, dir, map[string]string{"m/x.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: a, image: \"localhost:1/a@sha256:" + strings.Repeat("1", 64) + "\"}]}\n"})
	code, out, says := call(t, "lock", dir, "--check", "--skip-schemas")
	require.Equal(t, command.Different, code, says)
	require.Contains(t, out, "image \"localhost:1/a@sha256:1")
}

func TestImagesThatCannotBeLockedAreNamedAtOnce(t *testing.T) {
	alone(t)
	m := newImaged(t, servers.InProcess(t))
	m.push("app:latest", "a")
	dead := servers.FreeAddress(t)
	code, _, says := m.lock("--images")
	require.Equal(t, command.Findings, code, says)
	for _, part := range []string{
		"web.yaml:1:1: web/deployment: environment dev: image \"" + m.server.Host + "/app:dev\": oci://" + m.server.Host + "/app:dev: ",
		"web.yaml:1:1: web/deployment: environment prod: image \"" + m.server.Host + "/app:v1\": ", "not found", "correct the name, or log in", "2 errors",
	} {
		require.Contains(t, says, part)
	}
	require.NoFileExists(t, filepath.Join(m.project, "ropewalk.lock"))

	m.push("app:dev", "b")
	m.push("app:v1", "c")
	worker := specOf("worker", "type: embedded, ref: webservice") + "  input: {image: \"" + dead + "/a\"}\n"
	writeIn(t, m.project, map[string]string{"worker.yaml": worker, "more.yaml": strings.Replace(worker, "name: worker", "name: more", 1)})
	code, _, says = m.lock("--images", "--plain-http", dead)
	require.Equal(t, command.Environment, code, says)
	require.Contains(t, says, "more.yaml:1:1: more/deployment: environment dev: image \""+dead+"/a\", of 2 objects: ")
	require.Contains(t, says, "connection refused: correct host and port, or try again later")
	require.NoFileExists(t, filepath.Join(m.project, "ropewalk.lock"))

	code, _, says = call(t, "lock", m.project, "--images")
	require.Equal(t, command.Environment, code, says)
	require.Contains(t, says, "--plain-http "+m.server.Host)

	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: a, image: \"user:canary-77@host/a\"}]}\n"
	writeIn(t, m.project, map[string]string{
		"worker.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: worker}\nspec: {manifests: {paths: [m/x.yaml]}}\n", "m/x.yaml": pod,
		"more.yaml": "", "ropewalk.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: p}\nspec: {specs: [worker.yaml]}\n",
	})
	code, _, says = m.lock("--images", "--skip-schemas")
	require.Equal(t, command.Findings, code, says)
	require.Contains(t, says, "write HOST/NAME:TAG")
	require.NotContains(t, strings.ReplaceAll(says, "  | "+strings.Split(pod, "\n")[3], ""), "canary-77")
}

func TestImagesOfARegistryWithAPassword(t *testing.T) {
	for name, with := range map[string]servers.Option{"basic": servers.WithBasicAuth("alice", "right"), "token": servers.WithTokenAuth("alice", "right")} {
		t.Run(name, func(t *testing.T) {
			alone(t)
			m := newImaged(t, servers.InProcess(t, with))
			login := func(password string) {
				config := fmt.Sprintf(`{"auths":{%q:{"username":"alice","password":%q}}}`, m.server.Host, password)
				require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), []byte(config), 0o600))
			}
			login("right")
			digest := m.push("app:latest", "a")
			m.push("app:dev", "b")
			m.push("app:v1", "c")
			code, out, says := m.lock("--images")
			require.Zero(t, code, says)
			require.Contains(t, out, digest)
			const canary = "canary-5d10"
			login(canary)
			code, out, says = m.lock("--check")
			require.Equal(t, command.Environment, code, says)
			require.Contains(t, says, "requires valid credentials")
			require.NotContains(t, out+says, canary)
		})
	}
}

// TestImagesAreThoseOfTheModulesThatAreLocked moves a module to another image: the old lock is not
// what is rendered.
func TestImagesAreThoseOfTheModulesThatAreLocked(t *testing.T) {
	alone(t)
	u := newUpgradable(t, servers.InProcess(t))
	m := imaged{t: t, server: u.server}
	one, two := m.push("app:one", "a"), m.push("app:two", "b")
	u.edit("image!: string", "image: *\""+u.server.Host+"/app:one\" | string")
	u.publish("v0.1.1", "--skip-checks")
	ref := strings.TrimSuffix(u.at(""), ":") + "?semver=~0.1"
	writeIn(t, u.project, map[string]string{
		"ropewalk.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {}\n",
		"web.yaml":      specOf("web", "type: oci, ref: \""+ref+"\""),
	})
	code, out := u.lock("--images")
	require.Zero(t, code, out)
	require.Contains(t, u.read("ropewalk.lock"), entries(u.server.Host+"/app:one", one))

	u.edit("/app:one", "/app:two")
	u.publish("v0.1.2", "--skip-checks")
	good(t, u.flags("--write")...)
	require.Contains(t, u.read("ropewalk.lock"), "v0.1.2@")
	require.Contains(t, u.read("ropewalk.lock"), entries(u.server.Host+"/app:one", one), "upgrade keeps the images")
	code, out = u.lock("--check")
	require.Equal(t, command.Different, code, out)
	require.Contains(t, out, "/app:two\" is new, at "+two)

	u.edit("/app:two", "/app:one")
	u.publish("v0.1.3", "--skip-checks")
	code, out = u.lock()
	require.Zero(t, code, out)
	require.Contains(t, u.read("ropewalk.lock"), "v0.1.3@")
	require.Contains(t, u.read("ropewalk.lock"), entries(u.server.Host+"/app:one", one))
}

func TestImagesOfTheCasesOfAModule(t *testing.T) {
	alone(t)
	server := servers.InProcess(t)
	m, images := newModule(t, server), imaged{t: t, server: server}
	digest, carried := images.push("app:v1", "a"), "sha256:"+strings.Repeat("5", 64)
	write := func(one, two string) {
		writeIn(t, m.dir, map[string]string{"test/cases.yaml": fmt.Sprintf(
			"name: one\ninput: {image: %q}\nexpect: {count: 2}\n---\nname: two\ninput: {image: %q}\nexpect: {count: 2}\n", one, two)})
	}
	tag, pinned := server.Host+"/app:v1", server.Host+"/b@"+carried
	write(pinned, tag)
	run := func(args ...string) (int, string, string) {
		return call(t, append([]string{"module", "images", m.dir, "--plain-http", server.Host}, args...)...)
	}
	code, out, says := run()
	require.Zero(t, code, says)
	var lines [][]string
	for line := range strings.Lines(out) {
		lines = append(lines, strings.Fields(line))
	}
	require.Equal(t, [][]string{{"IMAGE", "DIGEST"}, {tag, digest}, {pinned, carried}}, lines)
	code, out, says = run("--format", "json")
	require.Zero(t, code, says)
	require.JSONEq(t, fmt.Sprintf(`[{"image": %q, "digest": %q}, {"image": %q, "digest": %q}]`, tag, digest, pinned, carried), out)
	server.Reset()
	code, out, says = run("--format", "json", "--offline")
	require.Zero(t, code, says)
	require.JSONEq(t, fmt.Sprintf(`[{"image": %q}, {"image": %q, "digest": %q}]`, tag, pinned, carried), out)
	require.Empty(t, server.Lines())

	write(server.Host+"/app:gone", tag)
	code, _, says = run()
	require.Equal(t, command.Findings, code, says)
	require.Contains(t, says, "image \""+server.Host+"/app:gone\"")
	writeIn(t, m.dir, map[string]string{"test/cases.yaml": "name: one\ninput: {image: a}\nexpect: {count: 5}\n"})
	code, _, says = run("--offline")
	require.Equal(t, command.Findings, code, says)
	require.Contains(t, says, "cases.yaml:")
}
