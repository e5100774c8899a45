// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/canary/rejected"
)

// TestTheCommandShowsNoRejectedSecret runs the program over projects whose secrets are
// rejected, and looks for them in all that it writes.
func TestTheCommandShowsNoRejectedSecret(t *testing.T) {
	t.Parallel()
	binary, l := install(t), newLeaks()
	cache := t.TempDir()
	all := rejected.Cases(1, 0, rejected.Many(t))
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for secrecy
	for n := 0; len(all) > 0; n++ {
		size := min(len(all), 1+random.IntN(30))
		p := rejected.Join(all[:size]...)
		all = all[size:]
		dir := t.TempDir()
		write(t, dir, p.Files)
		args := [][]string{{"render"}, {"render", "--format", "json"}, {"vet"}, {"graph"}, {"explain", "configmap/x"}, {"diff", ".", "."}, {"build", "--to", "oci-layout:out"}, {"render", "--dialect", "argocd", "-o", "out"}, {"preview", "HEAD", "-o", "out"}}[n%9]
		if args[0] == "preview" {
			repository(t, dir)
		}
		args = append(args, "--env", "prod", "--offline", "--cache-dir", cache)
		if args[0] == "vet" || args[0] == "diff" {
			args = args[:len(args)-5]
		}
		for flag, values := range map[string][]string{"--values": p.Values, "--set": p.Set, "--override-property": p.Overrides, "--runtime": p.Runtime} {
			for _, v := range values {
				args = append(args, flag+"="+v)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, binary, args...) //nolint:gosec // it is ours
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		out, _ := cmd.CombinedOutput()
		cancel()
		require.NotZero(t, cmd.ProcessState.ExitCode(), "%q: %s", p.Names, out)
		require.NotContains(t, string(out), "panic", "%q", p.Names)
		if found, ok := l.Find(out); ok {
			t.Errorf("%v %q: %s", args[:2], p.Names, found)
		}
		if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
			checkTree(t, l, filepath.Join(dir, "out"))
		}
	}
}

// repository makes a Git repository of a folder, whose one commit is empty.
func repository(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "one"}} {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir = dir
		text, err := git.CombinedOutput()
		require.NoError(t, err, "%s", text)
	}
}

// TestTheCommandShowsNoSecretOfBrokenFiles has files beside the specs that cannot be read:
// locks, policies, Secrets, runtimes and logins, each with a secret in it.
func TestTheCommandShowsNoSecretOfBrokenFiles(t *testing.T) {
	t.Parallel()
	binary, l := install(t), newLeaks()
	lock := "apiVersion: ropewalk.dev/v1alpha1\nkind: Lock\nsources:\n"
	policy := "apiVersion: ropewalk.dev/v1alpha1\nkind: PullPolicy\nrules:\n- name: a\n  effect: Deny\n"
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		file, text string
		args       []string
	}{
		"a lock with a login":           {"ropewalk.lock", lock + "- {type: git, ref: 'https://a:SECRET@h/x', digest: x}\n", nil},
		"a lock with a token":           {"ropewalk.lock", lock + "- {type: nope, ref: 'https://h/x?token=SECRET', revision: [], digest: 'sha256:1'}\n", nil},
		"a lock with a field":           {"ropewalk.lock", lock + "- {type: git, password: SECRET}\n", nil},
		"a lock that is open":           {"ropewalk.lock", lock + "- {type: git, token: \"SECRET\n", nil},
		"a lock twice":                  {"ropewalk.lock", lock + "- {type: git, type: 'https://a:SECRET@h'}\n", nil},
		"a policy with a login":         {"policy.yaml", policy + "  sources: ['https://a:SECRET@h/x']\n", []string{"--pull-policy", "policy.yaml"}},
		"a policy with a field":         {"policy.yaml", policy + "  password: SECRET\n", []string{"--pull-policy", "policy.yaml"}},
		"a policy with a key":           {"policy.yaml", policy + "  sources: ['git:**']\n  verify: {password: SECRET}\n", []string{"--pull-policy", "policy.yaml"}},
		"a policy that is open":         {"policy.yaml", policy + "  token: \"SECRET\n", []string{"--pull-policy", "policy.yaml"}},
		"a Secret that is open":         {"secrets.yaml", secret + "stringData: {a: \"SECRET\n", []string{"--secrets", "secrets.yaml"}},
		"a Secret that is no base64":    {"secrets.yaml", secret + "data: {a: SECRET}\n", []string{"--secrets", "secrets.yaml"}},
		"a Secret twice":                {"secrets.yaml", secret + "stringData: {a: SECRET, a: SECRET}\n", []string{"--secrets", "secrets.yaml"}},
		"a Secret that is none":         {"secrets.yaml", "password: SECRET\n", []string{"--secrets", "secrets.yaml"}},
		"a runtime of lists":            {"runtime.yaml", "A: [SECRET]\nB: {c: SECRET}\n", []string{"--runtime", "runtime.yaml"}},
		"a runtime that is open":        {"runtime.yaml", "PASSWORD: \"SECRET\n", []string{"--runtime", "runtime.yaml"}},
		"a runtime of CUE":              {"runtime.cue", "runtime: {apiVersion: \"x\", password: \"SECRET\" & 3}\n", []string{"--runtime", "runtime.cue"}},
		"a certificate":                 {"ca.pem", "SECRET", []string{"--ca", "ca.pem"}},
		"a login of docker":             {".docker/config.json", `{"auths": {"127.0.0.1:9": {"auth": "SECRET"}}`, nil},
		"a helper of docker":            {".docker/config.json", `{"credHelpers": {"127.0.0.1:9": "SECRET"}}`, nil},
		"a project of a secret":         {"ropewalk.yaml", "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: a}\nspec: {workloads: {config: {password: SECRET}, token: SECRET}}\n", nil},
		"a project with a login":        {"ropewalk.yaml", "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: a}\nspec: {specs: ['https://a:SECRET@h/x'], workloads: {provisioners: [{name: p, cueRef: {type: git, ref: 'https://a:SECRET@h/x?token=SECRET'}}]}}\n", nil},
		"a reference to render":         {"x/a.yaml", "", []string{"oci://a:SECRET@127.0.0.1:9/x?token=SECRET"}},
		"a host of plain http":          {"x/a.yaml", "", []string{"--plain-http", "http://a:SECRET@127.0.0.1"}},
		"a variable of the environment": {"x/a.yaml", "", []string{"--runtime-from-env"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, value := t.TempDir(), head+"-"+tail
			write(t, dir, map[string]string{
				"web.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\nspec:\n  cueRef: {type: oci, ref: '127.0.0.1:9/x:v1'}\n  nope: 1\n",
				"in.yaml":  "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: in}\nspec: {cueRef: {type: inline, ref: 'a: int @timoni(runtime:int:TOKEN)'}}\n",
			})
			write(t, dir, map[string]string{c.file: strings.ReplaceAll(c.text, "SECRET", value)})
			for _, format := range []string{"yaml", "json"} {
				args := append([]string{"render", "--format", format}, c.args...)
				cmd := exec.CommandContext(t.Context(), binary, args...) //nolint:gosec // it is ours
				for i := range cmd.Args {
					cmd.Args[i] = strings.ReplaceAll(cmd.Args[i], "SECRET", value)
				}
				cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TOKEN=" + value}
				out, _ := cmd.CombinedOutput()
				require.NotZero(t, cmd.ProcessState.ExitCode(), "%s", out)
				l.Require(t, format, out)
			}
		})
	}
}
