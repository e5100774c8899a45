// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/servers"
)

// password is what lies everywhere around the program.
const password = head + "-" + tail

// program is the command line as a process, with canaries in its surroundings.
type program struct {
	binary, project, home, cache string
	leaks                        leaks
}

// install builds the command, or takes that of ROPEWALK_BIN.
func install(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv("ROPEWALK_BIN"); binary != "" {
		return binary
	}
	binary := filepath.Join(t.TempDir(), "ropewalk")
	out, err := exec.Command("go", "build", "-o", binary, "github.com/ropewalk/ropewalk/cmd/ropewalk").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// run runs the program, wants no canary in what it prints, and returns that; good
// says whether it is to succeed.
func (p program) run(t *testing.T, good bool, args ...string) string {
	t.Helper()
	cmd := exec.Command(p.binary, args...)
	cmd.Dir = p.project
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "ROPEWALK_CACHE=" + p.cache}
	for _, name := range []string{
		"DB_PASSWORD", "A_URL", "password", "AWS_SECRET_ACCESS_KEY", "VAULT_TOKEN", "GITHUB_TOKEN", "COSIGN_PASSWORD", "REGISTRY_PASSWORD",
		"ROPEWALK_SECRET_DB__PASSWORD", "GIT_ASKPASS_PASSWORD",
	} {
		cmd.Env = append(cmd.Env, name+"="+password)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	what := strings.Join(args, " ")
	p.leaks.Require(t, "standard output of "+what, stdout.Bytes())
	p.leaks.Require(t, "standard error of "+what, stderr.Bytes())
	require.Equal(t, good, cmd.ProcessState.ExitCode() == 0, "%s: %s", what, stderr.String())
	require.NotContains(t, stderr.String(), "panic:", what)
	return stdout.String() + stderr.String()
}

// surroundings puts a project between files that hold canaries: a module behind
// a password, credentials, a Secret and files beside the specs.
func surroundings(t *testing.T, git, registry string) program {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	p := program{
		binary: install(t), project: t.TempDir(), home: t.TempDir(), cache: t.TempDir(),
		leaks: newLeaks(strings.Split(string(private), "\n")[1]),
	}
	secret := func(name, user, password string) string {
		return fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s}\nstringData: {username: %s, password: %q}\n", name, user, password)
	}
	auth := base64.StdEncoding.EncodeToString([]byte("alice:" + password))
	write(t, p.home, map[string]string{
		".docker/config.json": fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, registry, auth),
		".netrc":              "machine 127.0.0.1 login alice password " + password + "\n",
		".git-credentials":    "http://alice:" + password + "@127.0.0.1\n",
		"secrets.yaml":        secret("right", "alice", password) + secret("wrong", "alice", password+"-no"),
		"broken.yaml":         "apiVersion: v1\nkind: Secret\nstringData: {a: \"" + password + "\n",
		"signing.pem":         string(private),
	})
	project := func(secret string) string {
		return "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec:\n  context: {namespace: shop}\n  workloads:\n    provisioners:\n" +
			"      - {name: platform, cueRef: {type: git, ref: \"" + git + "/platform.git\", pullSecretRef: {name: " + secret + "}}}\n"
	}
	write(t, p.project, map[string]string{
		"ropewalk.yaml": project("right"), "wrong/ropewalk.yaml": project("wrong"), "wrong/web.yaml": webFile(""),
		"web.yaml": webFile(""), "broken/ropewalk.yaml": project("right"), "broken/web.yaml": webFile("x${resources.db.nope}"),
		"secret.yaml": secret("beside", "alice", password), ".env": "DB_PASSWORD=" + password + "\n", "id_rsa": string(private),
		"password.txt": password, ".netrc": password,
	})
	return p
}

// webFile is a workload that has secrets in all places.
func webFile(more string) string {
	return `apiVersion: score.dev/v1b1
metadata: {name: web}
containers:
  main:
    image: registry.example.com/web:1
    variables:
      DB_URL: ${resources.db.connection_string}
      DB_PASSWORD: ${resources.db.password}
      MIXED: $(DB_PASSWORD) ${resources.ledger.dsn}
      MORE: "` + more + `"
    files:
      /etc/db: {content: "a ${resources.db.password}"}
resources:
  db: {type: postgres}
  cache: {type: redis, class: operator}
  ledger: {type: ledger}
`
}

func TestNothingThatTheProgramWritesHoldsACanary(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	git := servers.GitHTTP(t, root, servers.WithGitAuth("alice", password))
	repository := servers.NewGit(t, filepath.Join(root, "platform.git"))
	repository.Commit(map[string]string{"platform.cue": platformModule, "cue.mod/module.cue": platform()["modules/platform/cue.mod/module.cue"]}, "a module")
	registry := servers.InProcess(t, servers.WithBasicAuth("alice", password))
	p := surroundings(t, git, registry.Host)
	plain := []string{"--plain-http", strings.TrimPrefix(git, "http://"), "--plain-http", registry.Host}
	common := append([]string{"--secrets", filepath.Join(p.home, "secrets.yaml")}, plain...)
	out := filepath.Join(t.TempDir(), "out")
	with := func(args ...string) []string { return append(args, common...) }

	require.Contains(t, p.run(t, true, with("render")...), "ExternalSecret")
	p.run(t, true, with("render", "--format", "json")...)
	for _, dialect := range []string{"plain", "argocd", "flux"} {
		p.run(t, true, with("render", "--dialect", dialect, "-o", filepath.Join(out, dialect))...)
	}
	layout := filepath.Join(out, "layout")
	p.run(t, true, with("build", "--to", "oci-layout:"+layout, "--sign-key", filepath.Join(p.home, "signing.pem"), "--format", "json")...)
	for _, format := range []string{"text", "json"} {
		p.run(t, true, append([]string{"artifact", "inspect", "oci-layout:" + layout, "--format", format}, plain...)...)
	}
	p.run(t, true, with("build", "--to", "oci://"+registry.Host+"/shop:v1")...)
	for _, format := range []string{"text", "json", "mermaid", "dot", "svg"} {
		p.run(t, true, with("graph", "--format", format)...)
	}
	for _, format := range []string{"text", "json"} {
		p.run(t, true, with("explain", "deployment/web", "--format", format)...)
	}
	for _, format := range []string{"text", "markdown", "json"} {
		p.run(t, true, with("diff", filepath.Join(out, "plain"), ".", "--format", format)...)
	}
	p.previews(t, with, out)
	p.run(t, true, with("lock")...)
	p.run(t, true, "cache", "ls", "--format", "json")

	for _, format := range []string{"yaml", "json"} {
		p.run(t, false, with("render", "wrong", "--format", format)...)
		p.run(t, false, with("render", "broken", "--format", format)...)
		p.run(t, false, with("render", "secret.yaml", "--format", format)...)
		p.run(t, false, append([]string{"render", "--format", format}, plain...)...)
	}
	p.run(t, false, with("render", "--values", "secret.yaml", "--format", "json")...)
	p.run(t, false, append([]string{"render", "--secrets", filepath.Join(p.home, "broken.yaml")}, plain...)...)
	p.run(t, false, with("build", "--to", "oci-layout:"+layout, "--sign-key", "password.txt")...)
	p.run(t, false, with("build", "--to", "oci://"+strings.TrimPrefix(git, "http://")+"/shop:v1")...)
	checkTree(t, p.leaks, out)
	checkTree(t, p.leaks, p.cache)
	data, err := os.ReadFile(filepath.Join(p.project, "ropewalk.lock"))
	require.NoError(t, err)
	p.leaks.Require(t, "the lock", data)
}

// previews shows a change of the project in a repository of its own: with projects that
// do not render, without them, and without a base.
func (p program) previews(t *testing.T, with func(...string) []string, out string) {
	t.Helper()
	from := p.project
	p.project = t.TempDir()
	require.NoError(t, os.CopyFS(p.project, os.DirFS(from)))
	repository(t, p.project)
	for _, args := range [][]string{{"add", "-A", "-f"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "two"}} {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir = p.project
		text, err := git.CombinedOutput()
		require.NoError(t, err, "%s", text)
	}
	changed := strings.NewReplacer("MIXED: ", "OTHER: ", "web:1", "web:2", "      DB_PASSWORD: ${resources.db.password}\n", "").Replace(webFile(""))
	changed = strings.ReplaceAll(changed, "$(DB_PASSWORD) ", "")
	write(t, p.project, map[string]string{"web.yaml": changed, "wrong/web.yaml": changed, "broken/web.yaml": changed + "  token: {type: nope, params: {password: " + password + "}}\n"})
	at := func(name string) string { return filepath.Join(out, "preview-"+name) }
	text := p.run(t, false, with("preview", "HEAD", "--format", "json", "-o", at("broken"))...)
	require.Contains(t, text, `"state": "failed"`)
	for _, name := range []string{"wrong", "broken"} {
		require.NoError(t, os.RemoveAll(filepath.Join(p.project, name)))
	}
	for _, format := range []string{"text", "markdown", "json"} {
		text = p.run(t, true, with("preview", "HEAD", "--format", format, "-o", at(format))...)
	}
	require.Contains(t, text, `"state": "changed"`)
	p.run(t, false, with("preview", "nowhere", "-o", at("alone"))...)
}
