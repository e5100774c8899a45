// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/artifact"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/test/servers"
)

const shop = "../../../../cue/examples/shop"

// call runs the command line, with nothing of the user's own.
func call(t *testing.T, args ...string) (code int, out, diagnostics string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Run(t.Context(), args, command.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

// good runs the command line, which must succeed.
func good(t *testing.T, args ...string) string {
	t.Helper()
	code, out, diagnostics := call(t, args...)
	require.Zero(t, code, "%s: %s", strings.Join(args, " "), diagnostics)
	return out
}

// alone gives the process a home of its own.
func alone(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "XDG_CACHE_HOME": home, "ROPEWALK_CACHE": filepath.Join(home, "cache"), "DOCKER_CONFIG": home,
		"CUE_CACHE_DIR": home, "CUE_REGISTRY": "none",
	} {
		t.Setenv(name, value)
	}
}

// registries are both kinds: one with referrers, one without.
func registries() map[string]func(testing.TB, ...servers.Option) *servers.OCI {
	return map[string]func(testing.TB, ...servers.Option) *servers.OCI{"docker-registry": servers.Registry, "with referrers": servers.InProcess}
}

func TestBuildTwiceIsOnePush(t *testing.T) {
	alone(t)
	for name, start := range registries() {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			build := func(args ...string) artifact.Built {
				var out artifact.Built
				text := good(t, append([]string{
					"build", shop, "--dialect", "flux", "--to", "oci://" + server.Host + "/shop:v1", "--plain-http", server.Host, "--format", "json",
				}, args...)...)
				require.NoError(t, json.Unmarshal([]byte(text), &out))
				return out
			}
			first := build()
			require.True(t, first.Changed)
			require.Len(t, first.Layers, 4)
			server.Reset()
			second := build("--revision", "main@sha1:0123456789012345678901234567890123456789")
			require.False(t, second.Changed)
			require.Equal(t, first.Digest, second.Digest)
			require.LessOrEqual(t, len(server.Requests()), 2, server.Lines())

			third := build("--set", "storefront:image=docker.io/nginxinc/nginx-unprivileged:2")
			require.True(t, third.Changed)
			require.Equal(t, first.Digest, third.Previous)
			require.Equal(t, map[string]int{"changed": 1}, kindsOf(third))
			require.Equal(t, first.Layers[0], third.Layers[0], "a layer whose files are the same keeps its digest")
		})
	}
}

func kindsOf(b artifact.Built) map[string]int {
	out := map[string]int{}
	for k, n := range b.Changes {
		out[string(k)] = n
	}
	return out
}

func TestSignedArtifactsAreVerifiedAndCopied(t *testing.T) {
	alone(t)
	for name, start := range registries() {
		t.Run(name, func(t *testing.T) {
			server, second := start(t), servers.Registry(t)
			plain := []string{"--plain-http", server.Host, "--plain-http", second.Host}
			run := func(args ...string) string { return good(t, append(args, plain...)...) }
			key := filepath.Join(t.TempDir(), "release")
			good(t, "artifact", "keygen", key)
			ref, mirror := "oci://"+server.Host+"/shop:v1", "oci://"+second.Host+"/mirror:v1"

			run("build", shop, "--dialect", "flux", "--to", ref)
			code, _, diagnostics := call(t, append([]string{"artifact", "verify", ref, "--key", key + ".pub"}, plain...)...)
			require.Equal(t, command.Findings, code, diagnostics)
			run("artifact", "sign", ref, "--key", key+".key")
			require.Equal(t, 5, strings.Count(run("artifact", "verify", ref, "--key", key+".pub"), "is signed by a known key"))

			var graph struct {
				Predicate struct{ Waves int }
			}
			require.NoError(t, json.Unmarshal([]byte(run("artifact", "inspect", ref, "--show", "graph")), &graph))
			require.Equal(t, 4, graph.Predicate.Waves)
			require.Contains(t, run("artifact", "inspect", ref, "--show", "provenance"), `"project":"shop"`)
			require.Contains(t, run("artifact", "inspect", ref, "--show", "sbom"), "podinfo")

			run("artifact", "copy", ref, mirror)
			run("artifact", "verify", mirror, "--key", key+".pub")
			require.Contains(t, run("artifact", "inspect", mirror, "--show", "provenance"), `"project":"shop"`)

			good(t, "artifact", "keygen", key+"-other")
			// A signature that comes later is copied when it is asked for.
			run("artifact", "sign", ref, "--key", key+"-other.key")
			server.Reset()
			second.Reset()
			require.Contains(t, run("artifact", "copy", ref, mirror), "not looked at, since the artifact was there: --check")
			require.Len(t, slices.Concat(server.Lines(), second.Lines()), 2)
			code, _, diagnostics = call(t, append([]string{"artifact", "verify", mirror, "--key", key + "-other.pub"}, plain...)...)
			require.Equal(t, command.Findings, code, diagnostics)
			require.Contains(t, run("artifact", "copy", ref, mirror, "--check"), "5 referrers copied")
			run("artifact", "verify", mirror, "--key", key+"-other.pub")
			require.Contains(t, run("artifact", "copy", ref, mirror, "--check", "--format", "json"), `"checked": true`)

			// Someone changes a byte of what the registry sends.
			second.Fault(func(r *http.Request) (http.Handler, bool) {
				blob := r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/sha256:")
				return servers.Alter(second.Server(), func(data []byte) []byte { data[len(data)/2] ^= 1; return data }), blob
			})
			code, _, diagnostics = call(t, append([]string{"artifact", "verify", mirror, "--key", key + ".pub"}, plain...)...)
			require.NotZero(t, code)
			require.Contains(t, diagnostics, "digest")
		})
	}
}

func TestAMovedTagFailsWhatIsLocked(t *testing.T) {
	alone(t)
	server := servers.InProcess(t)
	plain := []string{"--plain-http", server.Host}
	dir := t.TempDir()
	module := filepath.Join(dir, "module")
	write := func(name, text string) {
		full := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o750))
		require.NoError(t, os.WriteFile(full, []byte(text), 0o600))
	}
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {team: %s}\n"
	publish := func(team string) {
		// Any content layer will do: what is fetched is a tree.
		write("module/x.yaml", fmt.Sprintf(manifest, team))
		good(t, append([]string{"artifact", "push", module, "oci://" + server.Host + "/web:v1"}, plain...)...)
	}
	publish("blue")
	write("project/ropewalk.yaml", "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: p}\nspec: {specs: [web.yaml]}\n")
	write("project/web.yaml", "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\nspec:\n  cueRef: {type: oci, ref: \"oci://"+server.Host+"/web:v1\"}\n")
	project := filepath.Join(dir, "project")

	code, _, diagnostics := call(t, append([]string{"render", project, "--locked"}, plain...)...)
	require.Equal(t, command.Usage, code)
	require.Contains(t, diagnostics, `run "ropewalk lock"`)
	require.Contains(t, good(t, append([]string{"lock", project}, plain...)...), "/web:v1")
	require.Empty(t, good(t, append([]string{"lock", project, "--check"}, plain...)...))

	publish("red")
	code, _, diagnostics = call(t, append([]string{"render", project, "--locked"}, plain...)...)
	require.Equal(t, command.Findings, code, diagnostics)
	require.Contains(t, diagnostics, "web.yaml:5:28")
	require.Contains(t, diagnostics, "moved from v1@sha256:")
	require.Contains(t, diagnostics, `run "ropewalk lock"`)
	code, out, _ := call(t, append([]string{"lock", project, "--check"}, plain...)...)
	require.Equal(t, command.Different, code)
	require.Contains(t, out, "moved")
}

func TestServersThatRefuseAreNamedWithoutCredentials(t *testing.T) {
	alone(t)
	server := servers.InProcess(t, servers.WithBasicAuth("alice", "right"))
	const canary = "canary-91ab"
	config := fmt.Sprintf(`{"auths":{%q:{"username":"alice","password":%q}}}`, server.Host, canary)
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), []byte(config), 0o600))
	code, out, diagnostics := call(t, "artifact", "inspect", "oci://"+server.Host+"/shop:v1", "--plain-http", server.Host)
	require.Equal(t, command.Environment, code)
	require.Contains(t, diagnostics, server.Host+"/shop")
	require.NotContains(t, out+diagnostics, canary)
}

func TestWhoAsksForASignatureHasOne(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	ref, key, other := "oci-layout:"+filepath.Join(dir, "layout"), filepath.Join(dir, "one"), filepath.Join(dir, "two")
	good(t, "artifact", "keygen", key)
	good(t, "artifact", "keygen", other)
	good(t, "build", shop, "--to", ref)
	for _, k := range []string{key, other} {
		require.Contains(t, good(t, "build", shop, "--to", ref, "--sign-key", k+".key"), "changed  no")
		good(t, "artifact", "verify", ref, "--key", k+".pub")
	}
	// The attestations were pushed before anybody signed.
	code, _, diagnostics := call(t, "artifact", "verify", ref, "--key", key+".pub")
	require.Zero(t, code)
	require.Contains(t, diagnostics, "is attached and not signed")

	signed := "oci-layout:" + filepath.Join(dir, "signed")
	good(t, "build", shop, "--to", signed, "--sign-key", key+".key")
	_, _, diagnostics = call(t, "artifact", "verify", signed, "--key", key+".pub")
	require.Empty(t, diagnostics)
}

func TestPushTakesManifestsOnly(t *testing.T) {
	alone(t)
	for name, c := range map[string]struct{ file, text, link, want string }{
		"a link":             {link: "/etc/passwd", want: "regular files only"},
		"a Secret with data": {file: "s.yaml", text: "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: canary-2c9}\n", want: `Secret s: `},
		"a Secret that only says that it is encrypted": {
			file: "s.yaml", want: "in the clear",
			text: "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: canary-2c9}\nsops: {mac: x, lastmodified: x}\n",
		},
		"a Secret beside an empty mark": {
			file: "s.yaml", text: "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: canary-2c9}\nsops: {}\n", want: `Secret s: `,
		},
		"what is no manifest": {file: "x.yaml", text: "hi\n", want: "x.yaml:1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.link != "" {
				require.NoError(t, os.Symlink(c.link, filepath.Join(dir, "l.yaml")))
			} else {
				require.NoError(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600))
			}
			code, _, diagnostics := call(t, "artifact", "push", dir, "oci-layout:"+filepath.Join(t.TempDir(), "layout"))
			require.NotZero(t, code)
			require.Contains(t, diagnostics, c.want)
			require.NotContains(t, diagnostics, "canary")
		})
	}
	code, _, diagnostics := call(t, "artifact", "push", filepath.Join(t.TempDir(), "nowhere"), "oci-layout:"+t.TempDir())
	require.Equal(t, command.Environment, code)
	require.Contains(t, diagnostics, "nowhere")
}
