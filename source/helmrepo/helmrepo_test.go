// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package helmrepo_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/helmrepo"
)

const (
	canary = "c4nary-password"
	// latest is the digest of version 1.2.0 in testdata, which helm package and helm repo index
	// have written.
	latest = "sha256:d128f6760eb094f2a397d1d2cdc2455c1bc4424f6721865f4348990d9d844a73"
)

// serve serves testdata, with other files over it, and returns the URL of the repository.
func serve(t *testing.T, over map[string]string, wrap func(http.Handler) http.Handler) (string, helmrepo.Fetcher) {
	t.Helper()
	files := http.FileServer(http.Dir("testdata"))
	handler := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := over[r.URL.Path]; ok {
			_, _ = w.Write([]byte(text))
			return
		}
		files.ServeHTTP(w, r)
	}))
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	registries := &remote.Registries{PlainHTTP: func(string) bool { return true }, Backoff: time.Millisecond, Timeout: 5 * time.Second}
	return server.URL + "/charts", helmrepo.Fetcher{Get: registries.Get}
}

func TestAVersionIsChosenAndPinned(t *testing.T) {
	repo, f := serve(t, nil, nil)
	for ref, want := range map[string]string{
		"?chart=toy":                          "1.2.0",
		"?chart=toy&version=%5E1.0":           "1.2.0",
		"?chart=toy&version=1.0.0":            "1.0.0",
		"?chart=toy&version=%3C1.1.0":         "1.0.0",
		"?chart=toy&version=2.0.0-rc.1":       "2.0.0-rc.1",
		"?chart=toy&version=%3E%3D2.0.0-rc.1": "2.0.0-rc.1",
		"?chart=toyota":                       "3.0.0",
	} {
		resolved, err := f.Resolve(t.Context(), source.Ref{Ref: repo + ref})
		require.NoError(t, err, ref)
		require.False(t, resolved.Immutable)
		version, digest, _ := strings.Cut(resolved.Revision, "@")
		require.Equal(t, want, version, ref)
		tree, err := f.Fetch(t.Context(), source.Ref{Ref: repo + ref})
		require.NoError(t, err)
		require.Equal(t, resolved.Revision, tree.Revision)
		require.Equal(t, resolved.Ref.Ref, tree.Pinned)
		require.Equal(t, want, tree.Version)
		pinned, err := f.Resolve(t.Context(), resolved.Ref)
		require.NoError(t, err)
		require.True(t, pinned.Immutable)
		require.Equal(t, resolved.Revision, pinned.Revision)
		again, err := f.Fetch(t.Context(), resolved.Ref)
		require.NoError(t, err)
		require.Equal(t, tree.Digest, again.Digest)
		if want == "1.2.0" {
			require.Equal(t, latest, digest)
		}
	}
	tree, err := f.Fetch(t.Context(), source.Ref{Ref: repo + "?chart=toy"})
	require.NoError(t, err)
	data, err := fs.ReadFile(tree.FS, "Chart.yaml")
	require.NoError(t, err)
	require.Contains(t, string(data), "version: 1.2.0")
	_, err = fs.Stat(tree.FS, ".helmignore")
	require.NoError(t, err)
}

func TestWhatCannotBeFetched(t *testing.T) {
	index, err := os.ReadFile("testdata/charts/index.yaml")
	require.NoError(t, err)
	altered := strings.ReplaceAll(string(index), strings.TrimPrefix(latest, "sha256:"), strings.Repeat("a", 64))
	other := strings.Repeat("b", 64)
	for name, c := range map[string]struct {
		over map[string]string
		ref  string
		is   error
		want string
	}{
		"no chart":                {nil, "?chart=none", source.ErrAbsent, "the repository has no chart \"none\""},
		"no version":              {nil, "?chart=toy&version=%5E9", source.ErrAbsent, "none of the 3 versions of the chart is in this range"},
		"no range":                {nil, "?chart=toy&version=high", source.ErrReference, "is not a range of versions"},
		"no name":                 {nil, "?version=1", source.ErrReference, "names no chart"},
		"a stray option":          {nil, "?chart=toy&x=1", source.ErrReference, "more than chart, version and digest"},
		"no index":                {map[string]string{"/charts/index.yaml": "hello"}, "?chart=toy", source.ErrAbsent, "has no chart"},
		"an entry that is none":   {map[string]string{"/charts/index.yaml": "entries:\n  toy:\n    - [x\n"}, "?chart=toy", source.ErrReference, "is no list of versions"},
		"an altered archive":      {map[string]string{"/charts/index.yaml": altered}, "?chart=toy", source.ErrDigest, "published again, or altered"},
		"another digest":          {nil, "?chart=toy&version=1.2.0&digest=sha256:" + other, source.ErrDigest, "and not sha256:" + other},
		"an archive that is none": {map[string]string{"/charts/index.yaml": "entries:\n  toy:\n  - {version: 1.0.0, urls: [index.yaml]}\n"}, "?chart=toy", nil, "gzip"},
		"no archive":              {map[string]string{"/charts/index.yaml": "entries:\n  toy:\n  - {version: 1.0.0}\n"}, "?chart=toy", source.ErrAbsent, "has no archive"},
		"one of another scheme":   {map[string]string{"/charts/index.yaml": "entries:\n  toy:\n  - {version: 1.0.0, urls: ['file:///etc/passwd']}\n"}, "?chart=toy", source.ErrReference, "no URL of https"},
		"one that is not there":   {map[string]string{"/charts/index.yaml": "entries:\n  toy:\n  - {version: 1.0.0, urls: [none.tgz]}\n"}, "?chart=toy", source.ErrAbsent, "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			repo, f := serve(t, c.over, nil)
			_, err := f.Fetch(t.Context(), source.Ref{Ref: repo + c.ref})
			require.ErrorContains(t, err, c.want)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
		})
	}
	_, f := serve(t, nil, nil)
	_, err = f.Fetch(t.Context(), source.Ref{Ref: "https://user:" + canary + "@example.com/charts?chart=toy"})
	require.ErrorIs(t, err, source.ErrReference)
	require.NotContains(t, err.Error(), canary)
}

func TestCredentialsStayWithTheRepository(t *testing.T) {
	var elsewhere []string
	archives := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
		http.ServeFile(w, r, "testdata/charts/toy-1.2.0.tgz")
	}))
	t.Cleanup(archives.Close)
	index := fmt.Sprintf("entries:\n  toy:\n  - version: 1.2.0\n    urls: ['%s/toy.tgz']\n", archives.URL)
	repo, f := serve(t, map[string]string{"/charts/index.yaml": index}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, password, ok := r.BasicAuth(); !ok || user != "me" || password != canary {
				w.Header().Set("WWW-Authenticate", "Basic realm=charts")
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	_, err := f.Fetch(t.Context(), source.Ref{Ref: repo + "?chart=toy"})
	require.ErrorIs(t, err, source.ErrUnauthorized)
	f.Secrets = source.SecretsFunc(func(_ context.Context, _ string) (map[string][]byte, error) {
		return map[string][]byte{"username": []byte("me"), "password": []byte(canary)}, nil
	})
	tree, err := f.Fetch(t.Context(), source.Ref{Ref: repo + "?chart=toy", Secret: "login"})
	require.NoError(t, err)
	require.Equal(t, "1.2.0@"+latest, tree.Revision, "the digest of the archive where the index has none")
	require.Equal(t, []string{""}, elsewhere)
}
