// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/flux"
	"github.com/ropewalk/ropewalk/source/local"
)

// archive is a tar.gz as source-controller writes it: a root, folders, modes of
// files as they were.
func archive(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	entry := func(name string, kind byte, mode int64, text string) {
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: kind, Name: name, Mode: mode, Size: int64(len(text))}))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
	}
	entry(".", tar.TypeDir, 0o755, "")
	var names []string
	dirs := map[string]bool{".": true}
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		if dir := filepath.ToSlash(filepath.Dir(name)); !dirs[dir] {
			dirs[dir] = true
			entry(dir, tar.TypeDir, 0o750, "")
		}
		entry(name, tar.TypeReg, []int64{0o600, 0o644, 0o755}[i%3], files[name])
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return out.Bytes()
}

func sha(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// storage is a server of artifacts with one of them.
type storage struct {
	*httptest.Server
	Artifact flux.Artifact
	asked    []string
}

// serve has a file server serve an artifact, and gives a fetcher for it.
func serve(t testing.TB, data []byte) (*storage, flux.Fetcher) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "gitrepository/apps/web"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gitrepository/apps/web/abc.tar.gz"), data, 0o600))
	return at(t, http.FileServer(http.Dir(dir)), sha(data))
}

func at(t testing.TB, h http.Handler, digest string) (*storage, flux.Fetcher) {
	t.Helper()
	s := &storage{Server: httptest.NewServer(h)}
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	s.Artifact = flux.Artifact{URL: s.URL + "/gitrepository/apps/web/abc.tar.gz", Digest: digest, Revision: "main@sha1:abc", Ready: true}
	return s, flux.Fetcher{Artifacts: flux.ArtifactsFunc(func(_ context.Context, kind, namespace, name string) (flux.Artifact, error) {
		s.asked = append(s.asked, kind+"/"+namespace+"/"+name)
		return s.Artifact, nil
	})}
}

const ref = "GitRepository/apps/web"

func module() map[string]string {
	return map[string]string{"cue.mod/module.cue": "m", "a.cue": "a", "sub/b.cue": "b", "sub/b.txt": "b", "docs/x.md": "x"}
}

func TestASourceBecomesTheTreeThatAPathIs(t *testing.T) {
	files := module()
	files[".sourceignore"] = "x"
	files["nested/cue.mod/module.cue"] = "n"
	s, f := serve(t, archive(t, files))
	root := t.TempDir()
	for name, text := range files {
		at := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	for _, dir := range []string{"", "sub", "nested"} {
		tree, err := f.Fetch(t.Context(), source.Ref{Type: source.TypeFlux, Ref: ref, Path: dir})
		require.NoError(t, err)
		want, err := local.Fetcher{Root: root}.Fetch(t.Context(), source.Ref{Ref: ".", Path: dir})
		require.NoError(t, err)
		require.Equal(t, want.Digest, tree.Digest)
		require.Equal(t, want.Dir, tree.Dir)
		require.Equal(t, ref, tree.Origin)
		require.Equal(t, "main@sha1:abc", tree.Revision)
		require.Equal(t, ref+"@"+s.Artifact.Digest, tree.Pinned)
	}
	require.Equal(t, []string{ref, ref, ref}, s.asked)
}

func TestAWholeSourceHasAllModules(t *testing.T) {
	files := module()
	files["nested/cue.mod/module.cue"], files["nested/n.txt"] = "n", "n"
	_, f := serve(t, archive(t, files))
	f.Whole = true
	for _, dir := range []string{"", "nested"} {
		tree, err := f.Fetch(t.Context(), source.Ref{Ref: ref, Path: dir})
		require.NoError(t, err)
		var names []string
		require.NoError(t, fs.WalkDir(tree.FS, ".", func(name string, d fs.DirEntry, err error) error {
			if !d.IsDir() {
				names = append(names, name)
			}
			return err
		}))
		require.Equal(t, slices.Sorted(maps.Keys(files)), names)
		require.Equal(t, cmp.Or(dir, "."), tree.Dir)
	}
	_, err := f.Fetch(t.Context(), source.Ref{Ref: ref, Path: "none"})
	require.ErrorIs(t, err, source.ErrNotFound)
}

func TestDigestsOfAllAlgorithmsAreChecked(t *testing.T) {
	data := archive(t, module())
	s, f := serve(t, data)
	for _, digest := range []string{sha(data), fmt.Sprintf("sha384:%x", sha512.Sum384(data)), fmt.Sprintf("sha512:%x", sha512.Sum512(data))} {
		s.Artifact.Digest = digest
		_, err := f.Fetch(t.Context(), source.Ref{Ref: ref})
		require.NoError(t, err)
		s.Artifact.Digest = digest[:len(digest)-2] + map[bool]string{true: "00", false: "11"}[!strings.HasSuffix(digest, "00")]
		_, err = f.Fetch(t.Context(), source.Ref{Ref: ref})
		require.ErrorIs(t, err, source.ErrDigest)
		require.ErrorContains(t, err, "did not send the artifact with the digest "+s.Artifact.Digest)
	}
	for digest, want := range map[string]string{
		"blake3:abc":                         "it is sha256:, sha384: or sha512: and hex digits in lower case",
		"sha256:abc":                         "it is sha256:, sha384: or sha512: and hex digits in lower case",
		strings.ToUpper(sha(data)):           "invalid checksum digest format",
		"sha256:" + strings.Repeat("AB", 32): "it is sha256:, sha384: or sha512: and hex digits in lower case",
	} {
		s.Artifact.Digest = digest
		_, err := f.Fetch(t.Context(), source.Ref{Ref: ref})
		require.ErrorIs(t, err, source.ErrDigest)
		require.ErrorContains(t, err, want)
	}
}

func TestASourceIsPinnedByItsArtifact(t *testing.T) {
	s, f := serve(t, archive(t, module()))
	first := s.Artifact.Digest
	resolved, err := f.Resolve(t.Context(), source.Ref{Type: source.TypeFlux, Ref: ref, Path: "sub"})
	require.NoError(t, err)
	require.Equal(t, source.Resolved{Ref: source.Ref{Type: source.TypeFlux, Ref: ref + "@" + first, Path: "sub"}, Revision: "main@sha1:abc"}, resolved)

	asked := len(s.asked)
	pinned, err := f.Resolve(t.Context(), resolved.Ref)
	require.NoError(t, err)
	require.Equal(t, source.Resolved{Ref: resolved.Ref, Revision: first, Immutable: true}, pinned)
	require.Len(t, s.asked, asked)
	tree, err := f.Fetch(t.Context(), resolved.Ref)
	require.NoError(t, err)
	require.Equal(t, first, tree.Revision)

	s.Artifact.Digest = "sha256:" + strings.Repeat("0", 64)
	_, err = f.Fetch(t.Context(), resolved.Ref)
	require.EqualError(t, err, ref+": the source has the artifact "+s.Artifact.Digest+" now, and no longer "+first)
	require.ErrorIs(t, err, source.ErrNotFound)
}

func TestASourceWithoutAnArtifactSaysWhy(t *testing.T) {
	s, f := serve(t, archive(t, module()))
	good := s.Artifact
	for name, c := range map[string]struct {
		artifact flux.Artifact
		want     string
		is       error
	}{
		"not ready":       {flux.Artifact{URL: good.URL, Digest: good.Digest, Reason: "authentication\nrequired"}, "the source is not ready (authentication required): see kubectl describe, and try again", source.ErrUnavailable},
		"no artifact":     {flux.Artifact{Ready: true}, "the source has no artifact: see kubectl describe, and try again", source.ErrUnavailable},
		"no digest":       {flux.Artifact{Ready: true, URL: good.URL}, "the source has no artifact: see kubectl describe, and try again", source.ErrUnavailable},
		"a file":          {flux.Artifact{Ready: true, URL: "file:///etc/passwd", Digest: good.Digest}, "the URL of its artifact is not one of http or https that has no credentials", source.ErrReference},
		"no host":         {flux.Artifact{Ready: true, URL: "http:///x", Digest: good.Digest}, "the URL of its artifact is not one of http or https that has no credentials", source.ErrReference},
		"with a password": {flux.Artifact{Ready: true, URL: "http://ann:pass" + "word@127.0.0.1/x", Digest: good.Digest}, "the URL of its artifact is not one of http or https that has no credentials", source.ErrReference},
	} {
		t.Run(name, func(t *testing.T) {
			s.Artifact = c.artifact
			_, err := f.Fetch(t.Context(), source.Ref{Ref: ref})
			require.EqualError(t, err, ref+": "+c.want)
			require.ErrorIs(t, err, c.is)
		})
	}
	f.Artifacts = flux.ArtifactsFunc(func(context.Context, string, string, string) (flux.Artifact, error) {
		return flux.Artifact{}, source.Refuse(source.ErrNotFound, "there is none in the cluster")
	})
	_, err := f.Resolve(t.Context(), source.Ref{Ref: ref})
	require.EqualError(t, err, ref+": there is none in the cluster")
	require.ErrorIs(t, err, source.ErrNotFound)
}

func TestReferencesAreRefused(t *testing.T) {
	_, f := serve(t, nil)
	const form = ": write Kind/namespace/name, where Kind is GitRepository, OCIRepository, Bucket or ExternalArtifact"
	for text, want := range map[string]string{
		"":                           "the reference does not have three parts" + form,
		"GitRepository/web":          "the reference does not have three parts" + form,
		"GitRepository/a/b/c":        "the reference does not have three parts" + form,
		"HelmChart/apps/web":         `"HelmChart" is not a kind of source with files` + form,
		"gitrepository/apps/web":     `"gitrepository" is not a kind of source with files` + form,
		"GitRepository/../web":       `".." is not a namespace` + form,
		"GitRepository/a.b/web":      `"a.b" is not a namespace` + form,
		"GitRepository/apps/Web":     `"Web" is not the name of a source` + form,
		"GitRepository/apps/":        `"" is not the name of a source` + form,
		"GitRepository/apps/web@abc": `"abc" is not a digest (invalid checksum digest format: it is sha256:, sha384: or sha512: and hex digits in lower case)` + form,
		"Bucket/apps/web@sha256:a/b": "the reference does not have three parts" + form,
	} {
		if strings.HasPrefix(text, "Bucket") {
			want = `"sha256:a/b" is not a digest (invalid checksum digest length: it is sha256:, sha384: or sha512: and hex digits in lower case)` + form
		}
		_, err := f.Fetch(t.Context(), source.Ref{Ref: text})
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, source.ErrReference)
	}
	_, err := f.Fetch(t.Context(), source.Ref{Ref: ref, Verify: source.Verify{Provider: "cosign"}})
	require.ErrorContains(t, err, "set spec.verify of the source instead")
	_, err = f.Resolve(t.Context(), source.Ref{Ref: ref, Secret: "s"})
	require.ErrorContains(t, err, "set spec.secretRef of the source instead")
}

func TestFaultsOfAServerAreToldApart(t *testing.T) {
	data := archive(t, module())
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	send := func(length int, body []byte) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(length))
			_, _ = w.Write(body)
		})
	}
	endless := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write(data) // members of one gzip, and tars one after the other
		}
	})
	elsewhere, _ := serve(t, data)
	flip := bytes.Clone(data)
	flip[len(flip)/2] ^= 1
	for name, c := range map[string]struct {
		h    http.Handler
		want string
		is   error
	}{
		"403":                   {status(403), "returned status 403 forbidden: let this program reach the server of artifacts", source.ErrUnauthorized},
		"404":                   {status(404), "returned status 404 not found: the source has moved on, try again", source.ErrUnavailable},
		"429":                   {status(429), "returned status 429 too many requests: try again later", source.ErrUnavailable},
		"500":                   {status(500), "returned status 500 internal server error: try again later", source.ErrUnavailable},
		"204":                   {status(204), "returned status 204 no content", nil},
		"a reset":               {http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), "EOF: try again later", source.ErrUnavailable},
		"a hang":                {http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), "did not send the artifact within 300ms: try again later", source.ErrUnavailable},
		"cut":                   {send(len(data), data[:100]), "the artifact was truncated after 100 bytes (unexpected EOF): try again", source.ErrUnavailable},
		"cut, and honest":       {send(100, data[:100]), "did not send the artifact with the digest", source.ErrDigest},
		"altered":               {send(len(flip), flip), "did not send the artifact with the digest", source.ErrDigest},
		"longer":                {send(len(data)+1, append(bytes.Clone(data), 0)), "did not send the artifact with the digest", source.ErrDigest},
		"too large":             {send(1<<40, data), "the artifact has more than 1061376 bytes", source.ErrLimit},
		"without an end":        {endless, "", source.ErrLimit},
		"another host":          {http.RedirectHandler(elsewhere.Artifact.URL, http.StatusFound), "the server redirects to another host", source.ErrReference},
		"a file, by the server": {http.RedirectHandler("file:///etc/passwd", http.StatusFound), "the server redirects to another host", source.ErrReference},
		"a circle":              {http.RedirectHandler("/again", http.StatusFound), "redirects more than 10 times", source.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := at(t, c.h, sha(data))
			s.Config.ErrorLog = nil
			s.Artifact.URL += "?token=tok" + "en-1"
			f.Timeout, f.Limits = 300*time.Millisecond, source.Limits{Files: 10, Bytes: 10 << 10}
			if name == "without an end" {
				f.Timeout = 10 * time.Second
			}
			_, err := f.Fetch(t.Context(), source.Ref{Ref: ref})
			require.ErrorContains(t, err, ref+": ")
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "token-1")
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
		})
	}
}

func TestARedirectOnTheSameHostIsFollowed(t *testing.T) {
	data := archive(t, module())
	_, f := at(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/there" {
			http.Redirect(w, r, "/there", http.StatusFound)
			return
		}
		_, _ = w.Write(data)
	}), sha(data))
	_, err := f.Fetch(t.Context(), source.Ref{Ref: ref})
	require.NoError(t, err)
}

func TestAFetchEndsWithItsContext(t *testing.T) {
	_, f := at(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), sha(nil))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := f.Fetch(ctx, source.Ref{Ref: ref})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, ref+": ")
}

func TestWhatIsInAnArtifactIsJudged(t *testing.T) {
	for text, c := range map[string]struct {
		files map[string]string
		is    error
	}{
		`path ".." leaves its root`: {map[string]string{"../a.cue": ""}, source.ErrPath},
		`the tree holds more than 10240 bytes, at "a.cue" (no flag raises this limit)`: {map[string]string{"a.cue": strings.Repeat("a", 11<<10)}, source.ErrLimit},
		`GitRepository/apps/web has no folder "sub"`:                                   {map[string]string{"a.cue": "a"}, source.ErrNotFound},
	} {
		_, f := serve(t, archive(t, c.files))
		f.Limits.Bytes = 10 << 10
		_, err := f.Fetch(t.Context(), source.Ref{Ref: ref, Path: "sub"})
		require.EqualError(t, err, ref+": "+text)
		require.ErrorIs(t, err, c.is)
	}
	_, f := serve(t, []byte("no archive"))
	_, err := f.Fetch(t.Context(), source.Ref{Ref: ref})
	require.ErrorContains(t, err, ref+": the gzip cannot be read")
}

func ExampleFetcher() {
	f := flux.Fetcher{Artifacts: flux.ArtifactsFunc(func(context.Context, string, string, string) (flux.Artifact, error) {
		return flux.Artifact{Reason: "failed to checkout: authentication required"}, nil
	})}
	_, err := f.Fetch(context.Background(), source.Ref{Type: source.TypeFlux, Ref: "GitRepository/apps/web"})
	fmt.Println(err)
	// Output: GitRepository/apps/web: the source is not ready (failed to checkout: authentication required): see kubectl describe, and try again
}

func FuzzReference(f *testing.F) {
	f.Add("GitRepository/apps/web")
	f.Add("Bucket/a/b@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
	fetcher := flux.Fetcher{Artifacts: flux.ArtifactsFunc(func(_ context.Context, kind, namespace, name string) (flux.Artifact, error) {
		for _, part := range []string{kind, namespace, name} {
			if !fs.ValidPath(part) || part == "." || strings.Contains(part, "/") {
				panic(part) // it goes into the path of a request
			}
		}
		return flux.Artifact{}, nil
	})}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = fetcher.Resolve(t.Context(), source.Ref{Ref: text})
	})
}
