// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/web"
)

func TestAFileIsFetchedByItsURL(t *testing.T) {
	const text = "apiVersion: v1\nkind: ConfigMap\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a/config.yaml":
			_, _ = w.Write([]byte(text))
		case "/large":
			_, _ = w.Write([]byte(strings.Repeat("x", 2000)))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	registries := &remote.Registries{PlainHTTP: func(string) bool { return true }, Backoff: time.Millisecond}
	f := web.Fetcher{Get: registries.Get, Limits: source.Limits{Bytes: 1000}}
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	ref := source.Ref{Ref: server.URL + "/a/config.yaml?ref=v1"}
	resolved, err := f.Resolve(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, source.Resolved{Ref: source.Ref{Ref: ref.Ref + "#sha256=" + digest}, Revision: "sha256:" + digest}, resolved)
	for _, ref := range []source.Ref{ref, resolved.Ref} {
		tree, err := f.Fetch(t.Context(), ref)
		require.NoError(t, err)
		data, err := fs.ReadFile(tree.FS, "config.yaml")
		require.NoError(t, err)
		require.Equal(t, text, string(data))
		require.Equal(t, resolved.Ref.Ref, tree.Pinned)
		require.Equal(t, resolved.Revision, tree.Revision)
	}
	resolved, err = f.Resolve(t.Context(), resolved.Ref)
	require.NoError(t, err)
	require.True(t, resolved.Immutable)
	for ref, want := range map[string]error{
		server.URL + "/a/config.yaml#sha256=" + strings.Repeat("a", 64): source.ErrDigest,
		server.URL + "/a/config.yaml#sha256=abc":                        source.ErrReference,
		server.URL + "/none":                                            source.ErrAbsent,
		server.URL + "/large":                                           source.ErrLimit,
		server.URL + "/":                                                source.ErrReference,
		"ftp://example.com/x":                                           source.ErrReference,
		"https://me:secret@example.com/x":                               source.ErrReference,
	} {
		_, err := f.Fetch(t.Context(), source.Ref{Ref: ref})
		require.ErrorIs(t, err, want, ref)
		require.NotContains(t, err.Error(), "me:secret")
	}
	f.Get = (&remote.Registries{}).Get
	_, err = f.Fetch(t.Context(), ref)
	var plain *source.PlainError
	require.ErrorAs(t, err, &plain, "http has to be allowed")
}
