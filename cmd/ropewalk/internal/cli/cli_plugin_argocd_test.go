// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/plugin"
	"github.com/ropewalk/ropewalk/plugin/argocd"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
	"github.com/ropewalk/ropewalk/test/servers"
)

// argocdCommand runs plugin argocd with args until ctx ends.
func argocdCommand(ctx context.Context, args ...string) error {
	a := plugin.Commands{App: command.New(command.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})}
	cmd := a.ArgoCD()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	return cmd.ExecuteContext(ctx)
}

func TestTheServerForArgoCDIsReadyAndEnds(t *testing.T) {
	// The path of a socket has room for a hundred letters.
	dir, err := os.MkdirTemp("", "rw")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	address := servers.FreeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- argocdCommand(ctx, "--socket-dir", dir, "--http", address, "--cache-dir", t.TempDir(), "--workers", "1")
	}()
	require.Eventually(t, func() bool {
		response, err := http.Get("http://" + address + "/readyz") //nolint:noctx // loopback
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}, 20*time.Second, 5*time.Millisecond)
	require.FileExists(t, filepath.Join(dir, "ropewalk.sock"))
	cancel()
	require.NoError(t, <-ended)
	require.NoFileExists(t, filepath.Join(dir, "ropewalk.sock"))
}

func TestTheServerForArgoCDRefusesWhatCannotBe(t *testing.T) {
	for _, args := range [][]string{
		{"--workers", "0"}, {"--renders", "-1"}, {"--timeout", "0s"}, {"--memory", "1MiB"}, {"--memory", "256MiB"},
		{"--memory-total", "128MiB"}, {"--workers", "16"},
	} {
		var usage *command.UsageError
		require.ErrorAs(t, argocdCommand(t.Context(), args...), &usage, "%v", args)
	}
	file := write(t, "")
	for _, flag := range []string{"--temp-dir", "--cache-dir", "--secrets", "--git-credentials"} {
		var usage *command.UsageError
		require.ErrorAs(t, argocdCommand(t.Context(), flag, file), &usage, flag)
		require.ErrorContains(t, argocdCommand(t.Context(), flag, file), flag)
	}
	require.ErrorContains(t, argocdCommand(t.Context(), "--config", t.TempDir()), "is not a regular file")
	require.ErrorContains(t, argocdCommand(t.Context(), "--config", write(t, "apiVersion: v1\n")), "policy.yaml:1:13: apiVersion is")
	var environment *command.EnvironmentError
	require.ErrorAs(t, argocdCommand(t.Context(), "--config", filepath.Join(t.TempDir(), "missing")), &environment)
	require.ErrorAs(t, argocdCommand(t.Context(), "--socket-dir", filepath.Join(t.TempDir(), "missing"), "--http", ""), &environment)
}

func TestFlagsOfTheServerForArgoCDCanBeVariables(t *testing.T) {
	var usage *command.UsageError
	t.Run("a variable is a flag", func(t *testing.T) {
		t.Setenv("ROPEWALK_WORKERS", "0")
		require.ErrorContains(t, argocdCommand(t.Context()), "--workers 0: expected 1 or more")
		// The flag wins.
		require.ErrorContains(t, argocdCommand(t.Context(), "--workers", "16"), "cannot hold 16 workers")
	})
	t.Run("mistakes are named, all of them", func(t *testing.T) {
		t.Setenv("ROPEWALK_WORKERS", "many")
		t.Setenv("ROPEWALK_ARGOCD_HEALTH", "perhaps")
		err := argocdCommand(t.Context())
		require.ErrorAs(t, err, &usage)
		require.ErrorContains(t, err, `the variable ROPEWALK_ARGOCD_HEALTH: invalid argument "perhaps" for "--argocd-health" flag`)
		require.ErrorContains(t, err, `the variable ROPEWALK_WORKERS: invalid argument "many" for "--workers" flag`)
	})
	t.Run("one that is no flag is reported", func(t *testing.T) {
		for name, value := range map[string]string{
			"ROPEWALK_ARGOCD_HEATLH": "true", "ROPEWALK_CACHE": t.TempDir(), "ROPEWALK_WORKERS": "0",
			// Kubernetes sets these for a Service with the name ropewalk.
			"ROPEWALK_SERVICE_HOST": "10.0.0.1", "ROPEWALK_PORT": "tcp://10.0.0.1:80", "ROPEWALK_PORT_80_TCP_ADDR": "10.0.0.1",
		} {
			t.Setenv(name, value)
		}
		var diagnostics bytes.Buffer
		cmd := plugin.Commands{App: command.New(command.Streams{Out: &bytes.Buffer{}, Err: &diagnostics})}.ArgoCD()
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(nil)
		require.ErrorAs(t, cmd.ExecuteContext(t.Context()), &usage)
		require.Contains(t, diagnostics.String(), "ropewalk: the variable ROPEWALK_ARGOCD_HEATLH is ignored: the command has no such flag\n")
		for _, known := range []string{"ROPEWALK_CACHE", "SERVICE", "PORT"} {
			require.NotContains(t, diagnostics.String(), known)
		}
	})
}

// write writes a policy.
func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func TestPartsOfAServerFitIntoItsMemory(t *testing.T) {
	for _, c := range []struct {
		total, limit int64
		workers      int
		worker       int64 // 0 where it does not fit
	}{
		{512, 0, 2, 120}, {512, 64, 2, 64}, {512, 121, 2, 0}, {512, 0, 4, 40}, {512, 0, 5, 0},
		{200, 0, 1, 32}, {199, 0, 1, 0}, {2048, 0, 2, 600}, {2048, 256, 4, 256},
	} {
		s, err := plugin.Divide(c.total<<20, c.limit<<20, c.workers, 4*c.workers)
		if c.worker == 0 {
			var usage *command.UsageError
			require.ErrorAs(t, err, &usage, "%+v", c)
			continue
		}
		require.NoError(t, err, "%+v", c)
		require.Equal(t, c.worker, s.Worker>>20, "%+v", c)
		kept := s.Evaluations*plugin.EvaluationCost + s.Renders + s.Archive*int64(4*c.workers) + s.Variables + int64(s.Queue)*(plugin.WaitingCost+argocd.Window)
		require.LessOrEqual(t, kept, s.Heap*3/4, "what is left is for what is being rendered")
		require.LessOrEqual(t, s.Heap+plugin.ProcessCost+int64(c.workers)*(s.Worker+plugin.ProcessCost), c.total<<20, "%+v", c)
		require.Positive(t, s.Queue)
	}
	_, err := plugin.Divide(128<<20, 0, 4, 16)
	require.ErrorContains(t, err, "--memory-total 128MiB cannot hold 4 workers beside the server: give it at least 461MiB, or fewer --workers")
	_, err = plugin.Divide(461<<20, 0, 4, 16)
	require.NoError(t, err)
}

func TestCredentialsOfASourceGoToItsRegistryOnly(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	own := &argocd.Source{
		Repository:  "oci://registry.example:5000/acme/shop",
		Credentials: func(context.Context) (string, string, error) { return "anna", "pencil", nil },
	}
	flags := &plugin.ArgoCDFlags{}
	r, err := flags.RegistriesOf(own)
	require.NoError(t, err)
	for host, user := range map[string]string{"registry.example:5000": "anna", "registry.example": "", "other.example": ""} {
		got, err := r.Credentials(t.Context(), host)
		require.NoError(t, err)
		require.Equal(t, user, got.Username, host)
	}
	own.Repository = "https://registry.example:5000/acme/shop.git"
	r, err = flags.RegistriesOf(own)
	require.NoError(t, err)
	got, err := r.Credentials(t.Context(), "registry.example:5000")
	require.NoError(t, err)
	require.Empty(t, got.Username)
}

func TestTheServerForArgoCDUsesWhatIsMounted(t *testing.T) {
	alone(t)
	root := t.TempDir()
	commit := servers.NewGit(t, filepath.Join(root, "m.git")).Commit(map[string]string{
		"m.cue": "package m\n\nobject: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"x\"}\n",
	}, "a module")
	server := strings.TrimPrefix(servers.GitHTTP(t, root, servers.WithGitAuth("anna", "pencil")), "http://")
	secret := func(dir string) {
		require.NoError(t, os.MkdirAll(dir, 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "username"), []byte("anna"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "password"), []byte("pencil"), 0o600))
	}
	const head = "apiVersion: ropewalk.dev/v1alpha1\nkind: PullPolicy\n"
	flags := &plugin.ArgoCDFlags{Config: write(t, head), Secrets: t.TempDir(), GitCredentials: t.TempDir()}
	require.NoError(t, flags.PlainHTTP.Set(server))
	secret(filepath.Join(flags.Secrets, "shop", "git"))
	policy, err := command.OpenPolicy("--config", flags.Config, func(error) {})
	require.NoError(t, err)
	connect, err := flags.Connect(func() (*cache.Store, error) { return cache.Open(t.TempDir(), cache.StoreOptions{}) }, policy, func(error) {})
	require.NoError(t, err)
	load := func(project, ref string) error {
		h, err := connect(argocd.Connection{Project: project, Scope: project})
		require.NoError(t, err)
		dir := t.TempDir()
		text := fmt.Sprintf("apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\nspec: {cueRef: {type: git, ref: %q%s}}\n",
			"http://"+server+"/m.git?commit="+commit, ref)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(text), 0o600))
		_, err = h.Load(t.Context(), host.Options{Dir: dir})
		return err
	}
	const named = ", pullSecretRef: {name: git}"
	require.NoError(t, load("shop", named))
	require.ErrorIs(t, load("other", named), source.ErrNotFound)
	require.ErrorIs(t, load("other", ""), source.ErrUnauthorized)
	secret(filepath.Join(flags.GitCredentials, server))
	require.NoError(t, load("other", ""))
	require.NoError(t, os.WriteFile(flags.Config, []byte(head+"default: Deny\n"), 0o600))
	require.ErrorIs(t, load("shop", named), pullpolicy.ErrRefused)
	require.ErrorIs(t, load("other", ""), pullpolicy.ErrRefused)
}

// TestTheServerForArgoCDKeepsModulesWhereTheyAreBounded looks for what a server keeps
// of the modules that others depend on: it is in its cache, which has a size, and not
// in the folder of the cue command, which has none.
func TestTheServerForArgoCDKeepsModulesWhereTheyAreBounded(t *testing.T) {
	alone(t)
	registry := servers.InProcess(t)
	t.Setenv("CUE_REGISTRY", registry.Host+"+insecure")
	folder := t.TempDir()
	t.Setenv("CUE_CACHE_DIR", folder)
	dir := writeIn(t, t.TempDir(), vendoring)
	runCue(t, filepath.Join(dir, "base"), "mod", "publish", "v0.1.0")
	store, err := cache.Open(t.TempDir(), cache.StoreOptions{})
	require.NoError(t, err)
	flags := &plugin.ArgoCDFlags{}
	require.NoError(t, flags.PlainHTTP.Set(registry.Host))
	connect, err := flags.Connect(func() (*cache.Store, error) { return store, nil }, nil, func(err error) { require.NoError(t, err) })
	require.NoError(t, err)
	for range 2 {
		h, err := connect(argocd.Connection{})
		require.NoError(t, err)
		loaded, err := h.Load(t.Context(), host.Options{Dir: filepath.Join(dir, "project")})
		require.NoError(t, err)
		require.NoError(t, loaded.Request.Mistakes.Err())
		require.NotEmpty(t, registry.Requests())
		registry.Fault(servers.Always(servers.Hang())) // the second time nobody is asked
	}
	require.Equal(t, []string{cache.KindModule}, slices.Collect(func(yield func(string) bool) {
		for e, err := range store.Ls(t.Context()) {
			require.NoError(t, err)
			if !yield(e.Kind) {
				return
			}
		}
	}))
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}
