// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cgi" //nolint:gosec // git http-backend is a CGI program, and this is no server for others
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/stretchr/testify/require"
)

// User and password of every server that asks for them.
const (
	user     = "anna"
	password = "s3cret-and-long"
)

// repository is a Git repository on disk with one commit.
type repository struct{ dir, commit string }

// commit makes a repository of a folder.
func commit(t testing.TB, from string) repository {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "app.git")
	git(t, ".", "init", "--quiet", "--bare", "--initial-branch=main", dir)
	git(t, dir, "--work-tree", from, "add", "--all")
	git(t, dir, "--work-tree", from, "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "--message=all")
	return repository{dir, strings.TrimSpace(git(t, dir, "rev-parse", "main"))}
}

// file is the repository as the repo-server takes it from disk.
func (r repository) file() *v1alpha1.Repository { return &v1alpha1.Repository{Repo: "file://" + r.dir} }

// serve is the repository on a server that wants credentials, which are in what is
// returned.
func (r repository) serve(t *testing.T) *v1alpha1.Repository {
	t.Helper()
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(git(t, ".", "--exec-path")), "git-http-backend"), Root: "/", Dir: filepath.Dir(r.dir),
		Env: append(gitEnv(), "GIT_PROJECT_ROOT="+filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1"), Stderr: io.Discard,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if u, p, ok := request.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, whole(request))
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return &v1alpha1.Repository{Repo: s.URL + "/" + filepath.Base(r.dir), Username: user, Password: password}
}

// whole is a request that says how long its body is: CGI wants to know, and git
// sends long ones in chunks.
func whole(r *http.Request) *http.Request {
	if r.ContentLength >= 0 {
		return r
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 64<<20)) // what is missing shows in the answer
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return r
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), need(t, "git"), args...) //nolint:gosec // tests say what git does
	c.Dir, c.Env = dir, gitEnv()
	var diagnostics strings.Builder
	c.Stderr = &diagnostics
	out, err := c.Output()
	require.NoError(t, err, "git %v: %s", args, diagnostics.String())
	return string(out)
}

// gitEnv is an environment in which git reads no configuration of user or system.
func gitEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
	}
}
