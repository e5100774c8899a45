// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	"github.com/stretchr/testify/require"
)

// rig is a repo-server with the sidecar beside it.
type rig struct {
	client apiclient.RepoServerServiceClient
	// sidecar is the server of the plugin that runs now, and server the repo-server.
	sidecar, server *process
	// socket is where it is served, and web where its health and metrics are.
	socket, web string

	programs programs
	dir      string
	args     []string
}

// newRig starts a repo-server, and the sidecar with further arguments.
func newRig(t testing.TB, args ...string) *rig {
	t.Helper()
	return newRigWith(t, nil, args...)
}

// newRigWith is newRig with further arguments of the repo-server.
func newRigWith(t testing.TB, server []string, args ...string) *rig {
	t.Helper()
	// The path of a socket has room for a hundred letters.
	dir, err := os.MkdirTemp("", "rw")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	for _, name := range []string{"plugins", "tools", "repo-server", "sidecar", "cache"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	r := &rig{programs: installed(t), dir: dir, args: args, socket: filepath.Join(dir, "plugins", "ropewalk.sock")}
	address, port := free(t)
	_, metrics := free(t)
	r.server = start(t, r.repoServerEnv(t), r.programs.repoServer, append([]string{
		"--disable-tls", "--redis", redis(t), "--logformat", "text",
		"--address", "127.0.0.1", "--port", port, "--metrics-address", "127.0.0.1", "--metrics-port", metrics,
	}, server...)...)
	r.startSidecar(t)
	r.server.ready(t, func() bool { return good("http://127.0.0.1:" + metrics + "/healthz?full=true") })
	// As the controller does it: a minute for each request.
	closer, client, err := apiclient.NewRepoServerClientset(address, 60, apiclient.TLSConfiguration{DisableTLS: true}).NewRepoServerClient()
	require.NoError(t, err)
	t.Cleanup(func() { _ = closer.Close() })
	r.client = client
	return r
}

// repoServerEnv is the environment of the repo-server, with the programs that its
// image has on the path.
func (r *rig) repoServerEnv(t testing.TB) []string {
	t.Helper()
	need(t, "git")
	tools := filepath.Join(r.dir, "tools")
	require.NoError(t, os.Symlink(r.programs.repoServer, filepath.Join(tools, "argocd")))
	// It says whose signature a commit has: nobody's.
	require.NoError(t, os.WriteFile(filepath.Join(tools, "git-verify-wrapper.sh"), []byte("#!/bin/sh\nexit 0\n"), 0o700)) //nolint:gosec // a program
	return append(r.env("repo-server"), "PATH="+tools+":"+os.Getenv("PATH"),
		"ARGOCD_PLUGINSOCKFILEPATH="+filepath.Dir(r.socket), "ARGOCD_ASK_PASS_SOCK="+r.askPass(),
		"ARGOCD_GPG_ENABLED=false", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
}

// env is the environment of a process with a home of its own.
func (r *rig) env(name string) []string {
	home := filepath.Join(r.dir, name)
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "DOCKER_CONFIG=" + home, "LC_ALL=C"}
}

func (r *rig) askPass() string { return filepath.Join(r.dir, "askpass.sock") }

// startSidecar starts the server of the plugin and waits until it is ready.
func (r *rig) startSidecar(t testing.TB) {
	t.Helper()
	address, _ := free(t)
	r.web = "http://" + address
	r.sidecar = start(t, r.env("sidecar"), r.programs.ropewalk, append([]string{
		"plugin", "argocd", "--socket-dir", filepath.Dir(r.socket), "--http", address,
		"--cache-dir", filepath.Join(r.dir, "cache"), "--askpass-socket", r.askPass(),
	}, r.args...)...)
	r.sidecar.ready(t, func() bool { return good(r.web + "/readyz") })
}

// peak samples the memory of the sidecar and its workers until stop is called,
// which says what the most was.
func (r *rig) peak() (stop func() int64) {
	ctx, cancel := context.WithCancel(context.Background())
	most := make(chan int64, 1)
	go func() {
		var highest int64
		for ctx.Err() == nil {
			highest = max(highest, resident(r.sidecar.cmd.Process.Pid))
			time.Sleep(10 * time.Millisecond)
		}
		most <- highest
	}()
	return func() int64 { cancel(); return <-most }
}

// login gives the sidecar credentials of its own for a registry, as a mounted
// configuration of docker does.
func login(t *testing.T, r *rig, oci *registry) {
	t.Helper()
	require.NoError(t, os.CopyFS(filepath.Join(r.dir, "sidecar"), os.DirFS(oci.docker(t))))
}

// good reports whether a server answers that all is well.
func good(url string) bool {
	response, err := http.Get(url) //nolint:gosec,noctx // the loopback
	return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// redis is the address of one: the real one where it is installed.
func redis(t testing.TB) string {
	t.Helper()
	binary := find("redis-server")
	if binary == "" {
		return miniredis.RunT(t).Addr()
	}
	address, port := free(t)
	p := start(t, nil, binary, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	p.ready(t, func() bool { return listens("tcp", address) })
	return address
}
