// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/artifact"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/test/servers"
)

// keyword is a password that must not be anywhere.
const keyword = "canary-3b8d-pass"

// webModule is a module of one file.
func webModule() map[string]string {
	return map[string]string{"web.cue": `package web

ropewalk: apiVersion: "v1alpha1"
graph: nodes: config: object: {
	apiVersion: "v1"
	kind:       "ConfigMap"
	metadata: name: "web"
}
`}
}

// writeIn writes files below a folder, which it returns.
func writeIn(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o750))
		require.NoError(t, os.WriteFile(full, []byte(files[name]), 0o600))
	}
	return dir
}

// specOf is a document that uses the module at a reference, whose text is at
// 5:28 of it.
func specOf(name, cueRef string) string {
	return fmt.Sprintf("apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: %s}\nspec:\n  cueRef: {%s}\n", name, cueRef)
}

// secretOf is a Secret with entries.
func secretOf(name string, entries map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s}\nstringData:\n", name)
	for _, entry := range slices.Sorted(maps.Keys(entries)) {
		fmt.Fprintf(&b, "  %q: %q\n", entry, entries[entry])
	}
	return b.String()
}

// webRepository is a repository web.git below a root.
func webRepository(t *testing.T) (root string, repo *servers.Git) {
	t.Helper()
	root = t.TempDir()
	repo = servers.NewGit(t, filepath.Join(root, "web.git"))
	repo.Commit(webModule(), "a module")
	repo.Tag("v1.0.0")
	return root, repo
}

func hostOfURL(url string) string { _, host, _ := strings.Cut(url, "://"); return host }

// TestGitFollowsTheOptionsOfServers goes both ways: with the git binary, and
// without where PATH has none.
func TestGitFollowsTheOptionsOfServers(t *testing.T) {
	alone(t)
	root, _ := webRepository(t)
	var ca []byte
	plain, secure := servers.GitHTTP(t, root), servers.GitHTTP(t, root, servers.WithGitTLS(&ca))
	dir := writeIn(t, t.TempDir(), map[string]string{"ca.pem": string(ca), "none.pem": "none"})
	render := func(url string, args ...string) (int, string) {
		spec := filepath.Join(writeIn(t, dir, map[string]string{"web.yaml": specOf("web", "type: git, ref: \""+url+"/web.git\"")}), "web.yaml")
		code, _, diagnostics := call(t, append([]string{"render", spec, "--cache-dir", t.TempDir()}, args...)...)
		return code, diagnostics
	}
	for _, path := range []string{os.Getenv("PATH"), t.TempDir()} {
		t.Setenv("PATH", path)
		code, diagnostics := render(plain)
		require.Equal(t, command.Findings, code)
		require.Contains(t, diagnostics, "hint: --plain-http "+hostOfURL(plain)+"\n")
		code, diagnostics = render(plain, "--plain-http", hostOfURL(plain))
		require.Equal(t, command.Good, code, diagnostics)
		code, _ = render(plain, "--plain-http", "127.0.0.1")
		require.Equal(t, command.Findings, code, "a host is one with its port")

		code, diagnostics = render(secure)
		require.Equal(t, command.Environment, code)
		require.Contains(t, diagnostics, "hint: --ca FILE\n")
		code, diagnostics = render(secure, "--ca", filepath.Join(dir, "ca.pem"))
		require.Equal(t, command.Good, code, diagnostics)
	}
	code, _ := render(secure, "--ca", filepath.Join(dir, "none.pem"))
	require.Equal(t, command.Usage, code)
	code, _ = render(secure, "--ca", filepath.Join(dir, "missing.pem"))
	require.Equal(t, command.Environment, code)
}

func TestARegistryWithoutTLSIsNamedWithItsOption(t *testing.T) {
	alone(t)
	registry := servers.InProcess(t)
	project := writeIn(t, t.TempDir(), map[string]string{"web.yaml": specOf("web", "type: oci, ref: \"oci://"+registry.Host+"/web:v1\"")})
	code, _, diagnostics := call(t, "render", project)
	require.Equal(t, command.Environment, code)
	require.Contains(t, diagnostics, "hint: --plain-http "+registry.Host+"\n")
}

// failure is a reference that cannot be fetched, with what follows it.
type failure struct {
	kind, ref, more string
	code            int
	says            string
}

// failures are what users do wrong, and servers.
func failures(git, closed, broken, registry, private, tls string, ssh *servers.SSH) []failure {
	oci := "oci://" + registry
	return []failure{
		{"git", "ftp://x/web.git", "", command.Findings, "unsupported scheme"},
		{"git", "web.git", "", command.Findings, "it is not a URL: write https://"},
		{"git", "--upload-pack=touch x", "", command.Findings, "holds spaces or control characters"},
		{"git", "https://u:" + keyword + "@127.0.0.1/web.git", "", command.Findings, "a URL must hold no credentials"},
		{"git", "http://127.0.0.1:1/web.git", "", command.Environment, "connection refused: correct host and port"},
		{"git", "ssh://git@127.0.0.1:1/web.git", "", command.Environment, "connection refused: correct host and port, or try again later (ssh: connect to host 127.0.0.1 port 1: Connection refused)"},
		{"git", ssh.URL("web.git"), ", pullSecretRef: {name: stranger}", command.Environment, "get it with ssh-keyscan"},
		{"git", ssh.URL("none.git"), ", pullSecretRef: {name: ssh}", command.Environment, "there is no repository"},
		{"git", git + "/none.git", "", command.Environment, "there is no repository"},
		{"git", git + "/web.git?tag=none", "", command.Environment, `the repository has no tag "none"`},
		{"git", git + "/web.git?semver=^7", "", command.Environment, `is a version in "^7"`},
		{"git", git + "/web.git", ", path: none", command.Findings, `the commit has no folder "none": correct the path`},
		{"git", git + "/web.git", ", path: ../none", command.Findings, `leaves its root`},
		{"git", closed + "/web.git", "", command.Environment, "credentials are wrong or missing"},
		{"git", closed + "/web.git", ", pullSecretRef: {name: wrong}", command.Environment, "check the Secret of the reference"},
		{"git", closed + "/web.git", ", pullSecretRef: {name: none}", command.Findings, `no Secret is named "none": pass its manifest with --secrets FILE`},
		{"git", broken + "/web.git", "", command.Environment, "try again later"},
		{"oci", "https://127.0.0.1:1/web:v1", "", command.Findings, "does not begin with oci://"},
		{"oci", "oci://u:" + keyword + "@127.0.0.1:1/web:v1", "", command.Findings, "must hold no credentials"},
		{"oci", oci + "/web@sha256:abc", "", command.Findings, "is not a digest: write oci://"},
		{"oci", "oci://127.0.0.1:1/web:v1", "", command.Environment, "connection refused"},
		{"oci", oci + "/web:none", "", command.Environment, "not found in the registry: correct the name"},
		{"oci", oci + "/none:v1", "", command.Environment, "not found in the registry: correct the name"},
		{"oci", oci + "/web?semver=^7", "", command.Environment, "is a version in this range"},
		{"oci", oci + "/web:v1", ", path: none", command.Findings, `has no folder "none"`},
		{"oci", oci + "/web:v1", ", verify: {provider: cosign, secretRef: {name: wrong}}", command.Findings, "has no entry *.pub"},
		{"oci", "oci://" + private + "/web:v1", "", command.Environment, "requires credentials"},
		{"oci", "oci://" + private + "/web:v1", ", pullSecretRef: {name: wrong}", command.Environment, "requires valid credentials (401 unauthorized)"},
		{"oci", "oci://" + tls + "/web:v1", "", command.Environment, "--ca FILE"},
	}
}

// TestWhatFailsToBeFetchedIsSaidOnce is about the exit code and the line.
func TestWhatFailsToBeFetchedIsSaidOnce(t *testing.T) {
	alone(t)
	root, _ := webRepository(t)
	git, closed := servers.GitHTTP(t, root), servers.GitHTTP(t, root, servers.WithGitAuth("alice", keyword))
	broken := servers.GitHTTP(t, root, servers.WithGitFault(func(*http.Request) (http.Handler, bool) {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }), true
	}))
	ssh := servers.GitSSH(t, root)
	registry, private, tls := servers.Registry(t), servers.InProcess(t, servers.WithBasicAuth("alice", keyword)), servers.InProcess(t, servers.WithTLS())
	dir := writeIn(t, t.TempDir(), map[string]string{
		"m/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
		"secrets.yaml": secretOf("wrong", map[string]string{"username": "alice", "password": "not-" + keyword}) +
			secretOf("ssh", map[string]string{"identity": string(ssh.ClientKey), "known_hosts": ssh.KnownHosts}) +
			secretOf("stranger", map[string]string{"identity": string(ssh.ClientKey), "known_hosts": strings.Replace(ssh.KnownHosts, "127.0.0.1", "127.0.0.9", 1)}),
	})
	args := []string{"--secrets", filepath.Join(dir, "secrets.yaml"), "--plain-http", "127.0.0.1:1"}
	for _, host := range []string{registry.Host, private.Host, hostOfURL(git), hostOfURL(closed), hostOfURL(broken)} {
		args = append(args, "--plain-http", host)
	}
	good(t, "artifact", "push", filepath.Join(dir, "m"), "oci://"+registry.Host+"/web:v1", "--plain-http", registry.Host)
	for _, c := range failures(git, closed, broken, registry.Host, private.Host, tls.Host, ssh) {
		t.Run(c.kind+" "+c.ref+c.more, func(t *testing.T) {
			spec := filepath.Join(writeIn(t, dir, map[string]string{"web.yaml": specOf("web", fmt.Sprintf("type: %s, ref: %q%s", c.kind, c.ref, c.more))}), "web.yaml")
			code, _, diagnostics := call(t, append([]string{"render", spec}, args...)...)
			require.Equal(t, c.code, code, diagnostics)
			line, rest, _ := strings.Cut(diagnostics, "\n")
			require.True(t, strings.HasPrefix(line, spec+":5:28: spec.cueRef.ref: "), line)
			require.Contains(t, line+rest, c.says)
			_, message, _ := strings.Cut(line, "cueRef.ref: ")
			base, _, _ := strings.Cut(c.ref, "?")
			if !strings.Contains(c.ref, keyword) && c.more != ", path: none" {
				require.Contains(t, message, base)
				require.Equal(t, 1, strings.Count(message, strings.TrimPrefix(base, "--")), message)
			}
			first, _, _ := strings.Cut(message, ": ")
			require.LessOrEqual(t, strings.Count(message, first), 1, "said twice: %s", message)
			require.NotContains(t, strings.ReplaceAll(diagnostics, c.ref, ""), keyword)
		})
	}
}

// TestTheCacheGivesNobodyWhatTheServerWouldNot has two Secrets of one name, one of
// them with a wrong password.
func TestTheCacheGivesNobodyWhatTheServerWouldNot(t *testing.T) {
	alone(t)
	root, repo := webRepository(t)
	git := servers.GitHTTP(t, root, servers.WithGitAuth("alice", keyword))
	registry := servers.InProcess(t)
	module := writeIn(t, t.TempDir(), map[string]string{"x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"})
	var pushed artifact.Built
	require.NoError(t, json.Unmarshal([]byte(good(t, "artifact", "push", module, "oci://"+registry.Host+"/web:v1", "--plain-http", registry.Host, "--format", "json")), &pushed))
	private := servers.InProcess(t, servers.WithBasicAuth("alice", keyword))
	private.Fault(func(r *http.Request) (http.Handler, bool) {
		user, password, _ := r.BasicAuth()
		return registry.Server(), user == "alice" && password == keyword // as if both had the same content
	})
	dir := writeIn(t, t.TempDir(), map[string]string{
		"right.yaml": secretOf("s", map[string]string{"username": "alice", "password": keyword}),
		"wrong.yaml": secretOf("s", map[string]string{"username": "alice", "password": "not-" + keyword}),
	})
	for name, ref := range map[string]string{
		"a branch": "type: git, ref: \"" + git + "/web.git?branch=main\"",
		"a commit": "type: git, ref: \"" + git + "/web.git?commit=" + repo.Hash("main") + "\"",
		"a tag":    "type: oci, ref: \"oci://" + private.Host + "/web:v1\"",
		"a digest": "type: oci, ref: \"oci://" + private.Host + "/web@" + pushed.Digest + "\"",
	} {
		t.Run(name, func(t *testing.T) {
			project := writeIn(t, t.TempDir(), map[string]string{"web.yaml": specOf("web", ref+", pullSecretRef: {name: s}")})
			run := func(secrets string, args ...string) (int, string) {
				code, _, diagnostics := call(t, append([]string{
					"lock", project, "--check", "--secrets", filepath.Join(dir, secrets), "--plain-http", hostOfURL(git), "--plain-http", private.Host,
				}, args...)...)
				return code, diagnostics
			}
			render := func(secrets string, args ...string) (int, string) {
				code, _, diagnostics := call(t, append([]string{
					"render", project, "--secrets", filepath.Join(dir, secrets), "--plain-http", hostOfURL(git), "--plain-http", private.Host,
				}, args...)...)
				return code, diagnostics
			}
			fetched := func(code int, diagnostics string) {
				t.Helper()
				// An artifact of manifests is no module; that it is said so means that it
				// was given.
				require.True(t, code == command.Good || code == command.Findings && strings.Contains(diagnostics, "no .cue file"), diagnostics)
			}
			fetched(render("right.yaml"))
			fetched(render("right.yaml"))
			code, diagnostics := render("wrong.yaml")
			require.Equal(t, command.Environment, code, diagnostics)
			require.NotContains(t, diagnostics, keyword)
			code, _ = run("wrong.yaml")
			require.Equal(t, command.Environment, code)
			fetched(render("wrong.yaml", "--offline"))
		})
	}
}

// TestADigestWithoutASecretAsksNobody is what a cache is for.
func TestADigestWithoutASecretAsksNobody(t *testing.T) {
	alone(t)
	root, repo := webRepository(t)
	var mu sync.Mutex
	asked := 0
	git := servers.GitHTTP(t, root, servers.WithGitFault(func(*http.Request) (http.Handler, bool) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return nil, false
	}))
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		out := asked
		asked = 0
		return out
	}
	one := writeIn(t, t.TempDir(), map[string]string{"web.yaml": specOf("web", "type: git, ref: \""+git+"/web.git?commit="+repo.Hash("main")+"\"")})
	good(t, "render", one, "--plain-http", hostOfURL(git))
	alone := count()
	require.NotZero(t, alone)
	good(t, "render", one, "--plain-http", hostOfURL(git))
	require.Zero(t, count())

	// Many specs fetch one module once, and with it each other's.
	many := map[string]string{}
	for i := range 24 {
		many[fmt.Sprintf("%d.yaml", i)] = specOf(fmt.Sprintf("web-%d", i), "type: git, ref: \""+git+"/web.git?commit="+repo.Hash("main")+"\"")
	}
	call(t, "render", writeIn(t, t.TempDir(), many), "--plain-http", hostOfURL(git), "--cache-dir", t.TempDir())
	require.Equal(t, alone, count())
}

// TestAnInterruptedFetchLeavesNothing interrupts the process while a server
// is silent: git is gone, and so is all that it wrote.
func TestAnInterruptedFetchLeavesNothing(t *testing.T) {
	binary, err := exec.LookPath("ropewalk")
	require.NoError(t, err)
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("there is no /proc")
	}
	asked := make(chan struct{}, 8)
	silent := servers.GitHTTP(t, t.TempDir(), servers.WithGitFault(func(*http.Request) (http.Handler, bool) {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			<-r.Context().Done()
		}), true
	}))
	for _, ref := range []string{"type: git, ref: \"" + silent + "/web.git\"", "type: oci, ref: \"oci://" + hostOfURL(silent) + "/web:v1\""} {
		project := writeIn(t, t.TempDir(), map[string]string{"web.yaml": specOf("web", ref)})
		home, temp := t.TempDir(), t.TempDir()
		cmd := exec.Command(binary, "render", project, "--plain-http", hostOfURL(silent)) //nolint:gosec // it is this very test
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + temp, "ROPEWALK_CACHE=" + filepath.Join(home, "cache")}
		require.NoError(t, cmd.Start())
		<-asked
		if strings.Contains(ref, "git") {
			require.NotEmpty(t, processesOf(t, temp), "git runs")
		}
		start := time.Now()
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		_ = cmd.Wait() // the code says how it ended
		require.Equal(t, command.Interrupted, cmd.ProcessState.ExitCode())
		require.Less(t, time.Since(start), 2*time.Second)
		// What is killed is gone when it next has its turn.
		require.Eventually(t, func() bool { return len(processesOf(t, temp)) == 0 }, 10*time.Second, 10*time.Millisecond, "no process is left")
		left, err := os.ReadDir(temp)
		require.NoError(t, err)
		require.Empty(t, left)
		halves, err := filepath.Glob(filepath.Join(home, "cache", "tmp", "*"))
		require.NoError(t, err)
		require.Empty(t, halves)
	}
}

// processesOf are the processes of git that work in a folder.
func processesOf(t *testing.T, dir string) (found []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, name := range all {
		if env, err := os.ReadFile(name); err == nil && strings.Contains(string(env), "GIT_DIR="+dir) { //nolint:gosec // it is of this system
			found = append(found, name)
		}
	}
	return found
}

func TestExitCodesOfFetching(t *testing.T) {
	failed := func(is ...error) error {
		var out object.Errors
		for _, one := range is {
			out = append(out, &object.Error{Stage: object.StageResolve, Pos: object.Pos{File: "web.yaml", Line: 5}, Err: fmt.Errorf("git: %w", source.Refuse(one, "why"))})
		}
		return out
	}
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"no answer":                   {failed(source.ErrUnavailable), command.Environment},
		"no access":                   {failed(source.ErrUnauthorized), command.Environment},
		"nothing there":               {failed(source.ErrAbsent), command.Environment},
		"another host":                {failed(source.ErrHostKey), command.Environment},
		"not in the cache":            {failed(cache.ErrOffline), command.Environment},
		"several of them":             {failed(source.ErrAbsent, source.ErrUnavailable), command.Environment},
		"not signed":                  {failed(source.ErrSignature), command.Findings},
		"not as locked":               {failed(source.ErrLocked), command.Findings},
		"another digest":              {failed(source.ErrDigest), command.Findings},
		"one of them beside a server": {failed(source.ErrUnavailable, source.ErrLocked), command.Findings},
		"no such folder":              {failed(source.ErrNotFound), command.Findings},
		"a mistake in the reference":  {failed(source.ErrReference), command.Findings},
		"not signed, by itself":       {source.Refuse(source.ErrSignature, "why"), command.Findings},
		"not as locked, by itself":    {source.Refuse(source.ErrLocked, "why"), command.Findings},
	} {
		require.Equal(t, c.code, command.ExitCode(c.err), name)
	}
}

func TestTheListOfTheCacheHasTheKeysOfOtherJSON(t *testing.T) {
	alone(t)
	root, repo := webRepository(t)
	git := servers.GitHTTP(t, root)
	project := writeIn(t, t.TempDir(), map[string]string{"web.yaml": specOf("web", "type: "+source.TypeGit+", ref: \""+git+"/web.git?commit="+repo.Hash("main")+"\"")})
	require.Equal(t, "[]\n", good(t, "cache", "ls", "--format", "json"))
	good(t, "render", project, "--plain-http", hostOfURL(git))
	var entries []map[string]any
	require.NoError(t, json.Unmarshal([]byte(good(t, "cache", "ls", "--format", "json")), &entries))
	require.NotEmpty(t, entries)
	for _, e := range entries {
		require.Subset(t, []string{"kind", "key", "size", "used", "digest", "file", "bad"}, slices.Collect(maps.Keys(e)))
		require.Subset(t, slices.Collect(maps.Keys(e)), []string{"kind", "size", "used", "file"})
	}
}
