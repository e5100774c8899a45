// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/test/servers"
)

// lockOf is what ropewalk lock writes for files, with the credentials of hosts.
func lockOf(t *testing.T, files map[string]string, o fetch.Options) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	o.Record, o.Mode = &lock.Recorder{}, lock.Update
	o.Git = func() git.Fetcher { return git.Fetcher{PlainHTTP: func(string) bool { return true }} }
	loaded, err := o.Connect(host.Host{}).Load(t.Context(), host.Options{Dir: filepath.Join(dir, "apps/web")})
	require.NoError(t, err)
	require.NoError(t, loaded.Request.Mistakes.Err())
	data, err := o.Record.File().Bytes()
	require.NoError(t, err)
	return string(data)
}

// login writes user and password.
func (x *tenants) login(t *testing.T, folder, password string) {
	t.Helper()
	x.write(t, filepath.Join(folder, "username"), "alice")
	x.write(t, filepath.Join(folder, "password"), password)
}

// takeAway asks for files with the credentials in a folder, without them, and with
// others.
func (x *tenants) takeAway(t *testing.T, files map[string]string, folder, other string) {
	t.Helper()
	packed := archive(t, texts(files))
	serve := func(t *testing.T) func() error {
		opts := x.opts
		opts.Dir = socketDir(t)
		_, socket := start(t, opts)
		return func() error {
			out, err := generate(t, socket, call{archive: packed, path: "apps/web", env: map[string]string{"ARGOCD_APP_PROJECT_NAME": "shop"}})
			require.Equal(t, err == nil, len(out) == 1)
			return err
		}
	}
	ask := serve(t)
	require.NoError(t, ask())
	require.NoError(t, ask(), "it is remembered")
	defer x.login(t, folder, canary)

	require.NoError(t, os.RemoveAll(folder))
	require.ErrorContains(t, ask(), "apps/web/web.yaml:5:", "who lost the credentials lost the render")
	require.Error(t, serve(t)(), "and another server with the same memory has none either")
	x.login(t, folder, canary+"-wrong")
	require.ErrorContains(t, ask(), "apps/web/web.yaml:5:", "they are no good")
	x.login(t, other, canary)
	require.Error(t, ask(), "those of another host help nobody")
	x.login(t, folder, canary)
	require.NoError(t, ask(), "who has them back has the render back")
	require.NotContains(t, x.log.String(), canary)
}

// TestWhatIsRememberedIsGoneWithTheCredentials asks a server that remembers trees,
// evaluations, renders and answers, in memory and on disk, and takes credentials away
// from it: those of a Git host, and those of a Secret.
func TestWhatIsRememberedIsGoneWithTheCredentials(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := servers.NewGit(t, filepath.Join(root, "m.git"))
	module := projectOf("web")
	commit := repo.Commit(map[string]string{"cue.mod/module.cue": module["modules/m/cue.mod/module.cue"], "m.cue": module["modules/m/m.cue"]}, "a module")
	base := servers.GitHTTP(t, root, servers.WithGitAuth("alice", canary))
	x := newTenants(t)
	x.opts.AllowUnlocked = false
	of := map[string]string{
		"the host":  filepath.Join(x.hosts, strings.TrimPrefix(base, "http://")),
		"a Secret":  filepath.Join(x.secrets, "shop", "git"),
		"any other": filepath.Join(x.hosts, "git.example.com"),
	}
	x.login(t, of["the host"], canary)
	x.login(t, of["a Secret"], canary)
	locked := func(query, more string) map[string]string {
		files := withRef(fmt.Sprintf("{type: git, ref: %q%s}", base+"/m.git?"+query, more))
		if !strings.HasPrefix(query, "commit=") {
			files["apps/web/ropewalk.lock"] = lockOf(t, files, fetch.Options{
				GitHosts: fetch.Mounted(x.hosts), Secrets: fetch.Mounted(x.secrets).Of("shop"),
			})
		}
		return files
	}
	const named = ", pullSecretRef: {name: git}"
	for name, c := range map[string]struct {
		files map[string]string
		whose string
	}{
		"a commit, with those of the host":         {locked("commit="+commit, ""), "the host"},
		"a locked branch, with those of the host":  {locked("branch=main", ""), "the host"},
		"a commit, with those of a Secret":         {locked("commit="+commit, named), "a Secret"},
		"a locked branch, with those of a Secret":  {locked("branch=main", named), "a Secret"},
		"a locked default, with those of the host": {locked("", ""), "the host"},
	} {
		t.Run(name, func(t *testing.T) {
			x.takeAway(t, c.files, of[c.whose], of["any other"])
		})
	}
}

// TestAPublicModuleNeedsNoCredentials is the other side: nothing is taken from those
// who need none.
func TestAPublicModuleNeedsNoCredentials(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := servers.NewGit(t, filepath.Join(root, "m.git"))
	module := projectOf("web")
	commit := repo.Commit(map[string]string{"cue.mod/module.cue": module["modules/m/cue.mod/module.cue"], "m.cue": module["modules/m/m.cue"]}, "a module")
	base := servers.GitHTTP(t, root)
	x := newTenants(t)
	folder := filepath.Join(x.hosts, strings.TrimPrefix(base, "http://"))
	_, socket := start(t, x.opts)
	packed := archive(t, texts(withRef(fmt.Sprintf("{type: git, ref: %q}", base+"/m.git?commit="+commit))))
	for _, password := range []string{canary, canary + "-2", ""} {
		require.NoError(t, os.RemoveAll(folder))
		if password != "" {
			x.login(t, folder, password)
		}
		_, err := generate(t, socket, call{archive: packed, path: "apps/web"})
		require.NoError(t, err)
	}
}
