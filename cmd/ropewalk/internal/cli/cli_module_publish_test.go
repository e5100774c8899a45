// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/test/servers"
)

// publisher is a module in a folder, and where it is published to.
type publisher struct {
	t      *testing.T
	dir    string
	server *servers.OCI
}

func newModule(t *testing.T, server *servers.OCI) publisher {
	t.Helper()
	m := publisher{t: t, dir: filepath.Join(t.TempDir(), "web"), server: server}
	good(t, "module", "init", m.dir, "--name", "acme.example/web@v0")
	return m
}

func (m publisher) at(version string) string {
	return "oci://" + m.server.Host + "/mods/acme.example/web:" + version
}

func (m publisher) args(version string, args ...string) []string {
	return append([]string{"module", "publish", m.at(version), m.dir, "--plain-http", m.server.Host, "--format", "json"}, args...)
}

// outcome is what publish prints.
type outcome struct {
	Digest, Since, Verdict string
	Changed                bool
	Moved, Kept            []string
}

func (m publisher) publish(version string, args ...string) (out outcome) {
	m.t.Helper()
	require.NoError(m.t, json.Unmarshal([]byte(good(m.t, m.args(version, args...)...)), &out))
	return out
}

// edit replaces text in what the module takes.
func (m publisher) edit(from, to string) {
	m.t.Helper()
	name := filepath.Join(m.dir, "input.cue")
	text, err := os.ReadFile(name)
	require.NoError(m.t, err)
	require.Contains(m.t, string(text), from)
	require.NoError(m.t, os.WriteFile(name, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
}

// tags are those of the repository, with the digests that they lead to.
func (m publisher) tags() map[string]string {
	m.t.Helper()
	out := map[string]string{}
	answer := m.ask(http.MethodGet, "tags/list")
	if answer.StatusCode == http.StatusNotFound {
		return out
	}
	var list struct{ Tags []string }
	require.NoError(m.t, json.NewDecoder(answer.Body).Decode(&list))
	for _, tag := range list.Tags {
		out[tag] = m.ask(http.MethodHead, "manifests/"+tag).Header.Get("Docker-Content-Digest")
	}
	return out
}

// ask sends a request about the repository.
func (m publisher) ask(method, path string) *http.Response {
	m.t.Helper()
	r, err := http.NewRequestWithContext(m.t.Context(), method, m.server.URL+"/v2/mods/acme.example/web/"+path, http.NoBody)
	require.NoError(m.t, err)
	r.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(m.t, err)
	m.t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func TestAModuleIsPublishedAndConsumed(t *testing.T) {
	for name, open := range registries() {
		t.Run(name, func(t *testing.T) {
			alone(t)
			m := newModule(t, open(t))
			keys := filepath.Join(t.TempDir(), "release")
			good(t, "artifact", "keygen", keys)

			dry := m.publish("v0.1.0", "--dry-run")
			require.False(t, dry.Changed)
			require.Equal(t, []string{"0.1", "0", "latest"}, dry.Moved)
			code, _, _ := call(t, "artifact", "inspect", m.at("v0.1.0"), "--plain-http", m.server.Host)
			require.Equal(t, command.Environment, code, "a dry run writes nothing")

			flags := []string{"--sign-key", keys + ".key", "--source", "https://example.com/web", "--revision", "main@sha1:0123456789abcdef0123456789abcdef01234567"}
			one := m.publish("v0.1.0", flags...)
			require.True(t, one.Changed)
			good(t, "artifact", "verify", m.at("v0.1.0"), "--key", keys+".pub", "--plain-http", m.server.Host)
			shown := good(t, "artifact", "inspect", m.at("v0.1.0"), "--plain-http", m.server.Host)
			for _, attached := range []string{"attached provenance", "attached sbom", "attached signature", "module.readme", "module.picture", "  module   of CUE: ropewalk show " + m.at("v0.1.0")} {
				require.Contains(t, shown, attached)
			}

			good(t, "artifact", "inspect", strings.Replace(m.at("v0.1.0"), "127.0.0.1", "localhost", 1))

			m.server.Reset()
			again := m.publish("v0.1.0", flags...)
			require.False(t, again.Changed)
			require.Equal(t, one.Digest, again.Digest)
			require.Len(t, m.server.Lines(), 2, "an unchanged module costs two requests: %v", m.server.Lines())

			consumer := filepath.Join(t.TempDir(), "consumer")
			require.NoError(t, os.Mkdir(consumer, 0o700))
			t.Setenv("CUE_REGISTRY", m.server.Host+"/mods+insecure")
			runCue(t, consumer, "mod", "init", "acme.example/consumer@v0")
			runCue(t, consumer, "mod", "get", "acme.example/web@latest")
			text, err := os.ReadFile(filepath.Join(consumer, "cue.mod", "module.cue"))
			require.NoError(t, err)
			require.Contains(t, string(text), `v: "v0.1.0"`)

			spec := filepath.Join(consumer, "web.yaml")
			require.NoError(t, os.WriteFile(spec, []byte("apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\nspec:\n  cueRef: {type: oci, ref: \""+m.at("latest")+"\"}\n  input: {image: \"nginx:1.29\"}\n"), 0o600))
			require.Contains(t, good(t, "render", spec, "--plain-http", m.server.Host), "kind: Deployment")
		})
	}
}

func TestVersionsFollowWhatChanged(t *testing.T) {
	alone(t)
	m := newModule(t, servers.InProcess(t))
	m.publish("v0.1.0")
	refused := func(version, says string, args ...string) {
		t.Helper()
		code, _, text := call(t, append([]string{"module", "publish", m.at(version), m.dir, "--plain-http", m.server.Host}, args...)...)
		require.Equal(t, command.Findings, code, text)
		require.Contains(t, text, says)
	}

	m.edit("replicas: *2", "replicas: *3")
	refused("v0.1.0", "v0.1.0 is there already with other content")
	out := m.publish("v0.1.1", "--skip-checks")
	require.Equal(t, "v0.1.0", out.Since)
	require.Equal(t, "minor", out.Verdict)

	m.edit("\treplicas:", "\tcount:")
	refused("v0.1.2", "v0.1.2 breaks users of v0.1.1: replicas: it was removed", "--skip-checks")
	refused("v0.1.2", "publish v0.2.0 or higher", "--skip-checks")
	m.publish("v0.2.0", "--skip-checks")
	require.NotEqual(t, m.tags()["0.1"], m.tags()["0"])

	m.edit("\tcount:", "\treplicas:")
	old := m.publish("v0.1.2", "--skip-checks")
	require.Equal(t, []string{"0.1"}, old.Moved)
	require.Equal(t, []string{"0", "latest"}, old.Kept, "a higher version is there")
	require.Equal(t, m.tags()["v0.2.0"], m.tags()["latest"])

	list := good(t, "module", "list", strings.TrimSuffix(m.at(""), ":"), "--plain-http", m.server.Host)
	require.Regexp(t, `^VERSION  DIGEST +TAGS
v0.2.0   sha256:[0-9a-f]{64}  0.2, 0, latest
v0.1.2   sha256:[0-9a-f]{64}  0.1
v0.1.1   sha256:[0-9a-f]{64}
v0.1.0   sha256:[0-9a-f]{64}
$`, list)
	require.Contains(t, good(t, "module", "list", "oci://"+m.server.Host, "--plain-http", m.server.Host), strings.TrimSuffix(m.at(""), ":")+"\n")
	code, _, says := call(t, "module", "list", "oci://"+m.server.Host+"/nothing", "--plain-http", m.server.Host)
	require.Equal(t, command.Environment, code)
	require.Contains(t, says, "has no tag that is a version")

	pre := m.publish("v0.3.0-rc.1", "--skip-checks")
	require.Empty(t, pre.Moved, "no floating tag leads to a prerelease")
	for version, says := range map[string]string{"v1.0.0": "is for versions v0", "0.4.0": "begin with v", "latest": "is no version", "v1": "is no version"} {
		code, _, text := call(t, m.args(version)...)
		require.NotZero(t, code)
		require.Contains(t, text, says)
	}
	code, _, text := call(t, "module", "publish", "oci://"+m.server.Host+"/web:v0.4.0", m.dir, "--plain-http", m.server.Host)
	require.Equal(t, command.Usage, code)
	require.Contains(t, text, "does not end in the path of the module")
}

// TestAPublishIsKilledAtEveryRequest: a version is there wholly or not at all, a floating tag never leads
// to another, and a second run finishes with the same digest. With ROPEWALK_FAULTS each request is one of
// the points, and else every seventh.
func TestAPublishIsKilledAtEveryRequest(t *testing.T) {
	for name, open := range registries() {
		t.Run(name, func(t *testing.T) {
			alone(t)
			want, points, step := "", 0, 7
			if os.Getenv("ROPEWALK_FAULTS") != "" {
				step = 1
			}
			for n := 1; ; n += step {
				m := newModule(t, open(t))
				keys := filepath.Join(t.TempDir(), "release")
				good(t, "artifact", "keygen", keys)
				ctx, kill := context.WithCancel(t.Context())
				var seen atomic.Int64
				m.server.Fault(func(*http.Request) (http.Handler, bool) {
					if seen.Add(1) < int64(n) {
						return nil, false
					}
					kill()
					return servers.Reset(), true
				})
				var out, text bytes.Buffer
				code := Run(ctx, m.args("v0.1.0", "--sign-key", keys+".key"), command.Streams{In: strings.NewReader(""), Out: &out, Err: &text})
				kill()
				m.server.Fault(nil)
				if seen.Load() < int64(n) {
					require.Zero(t, code, text.String())
					break
				}
				points++
				tags := m.tags()
				complete := tags["v0.1.0"]
				for tag, digest := range tags {
					if slices.Contains([]string{"0.1", "0", "latest"}, tag) {
						require.Equal(t, complete, digest, "killed at request %d: %s", n, tag)
					}
				}
				if complete != "" {
					good(t, "artifact", "verify", m.at("v0.1.0"), "--key", keys+".pub", "--plain-http", m.server.Host)
					require.Contains(t, good(t, "module", "show", m.at("v0.1.0"), "--plain-http", m.server.Host), "replicas")
				}
				second := m.publish("v0.1.0", "--sign-key", keys+".key")
				if want == "" {
					want = second.Digest
				}
				require.Equal(t, want, second.Digest, "killed at request %d", n)
				tags = m.tags()
				for _, tag := range []string{"v0.1.0", "0.1", "0", "latest"} {
					require.Equal(t, want, tags[tag], "killed at request %d: %s", n, tag)
				}
			}
			require.Greater(t, points, 5)
			t.Logf("%d points", points)
		})
	}
}

// TestWhatIsVendoredIsNotPublished: imports from cue.mod do not resolve for consumers, because it is
// not published; imports from a folder of the module do.
func TestWhatIsVendoredIsNotPublished(t *testing.T) {
	alone(t)
	m := newModule(t, servers.InProcess(t))
	good(t, "vendor", "k8s", "-m", m.dir)
	m.edit("package web\n", "package web\n\nimport corev1 \"k8s.io/api/core/v1\"\n\n#Settings: corev1.#ConfigMap\n")
	code, _, says := call(t, m.args("v0.1.0", "--skip-checks")...)
	require.Equal(t, command.Findings, code, says)
	require.Contains(t, says, `imports \"k8s.io/api/core/v1\", which is in cue.mod`)
	require.Contains(t, says, `"line": 3`)

	good(t, "vendor", "k8s", "-m", m.dir, "--in", "types")
	m.edit(`"k8s.io/api/core/v1"`, `"acme.example/web/types/k8s.io/api/core/v1"`)
	m.publish("v0.1.0", "--skip-checks")
	spec := filepath.Join(t.TempDir(), "web.yaml")
	require.NoError(t, os.WriteFile(spec, []byte("apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\nspec:\n  cueRef: {type: oci, ref: \""+m.at("latest")+"\"}\n  input: {image: \"nginx:1.29\"}\n"), 0o600))
	require.Contains(t, good(t, "render", spec, "--plain-http", m.server.Host), "kind: Deployment")
}
