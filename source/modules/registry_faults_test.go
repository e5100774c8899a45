// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/test/servers"
)

// only is a fault for requests whose path holds part.
func only(part string, h http.Handler) servers.Fault {
	return func(r *http.Request) (http.Handler, bool) { return h, strings.Contains(r.URL.Path, part) }
}

func TestFaultsOfARegistry(t *testing.T) {
	oci, files := shop(t)
	tree := treeOf(t, files)
	flip := func(body []byte) []byte { body[len(body)/2] ^= 1; return body }
	for _, c := range []struct {
		name  string
		fault servers.Fault
		is    error
		says  string
	}{
		{"401", servers.Always(servers.Answer(401, "UNAUTHORIZED", "no")), source.ErrUnauthorized, "requires valid credentials (401 unauthorized"},
		{"403", servers.Always(servers.Answer(403, "DENIED", "no")), source.ErrUnauthorized, "denies access (403 forbidden"},
		{"404", servers.Always(servers.Answer(404, "MANIFEST_UNKNOWN", "no")), source.ErrNotFound, "not found in the registry"},
		{"429", servers.Always(servers.Answer(429, "TOOMANYREQUESTS", "slow", "Retry-After", "1")), source.ErrUnavailable, "429 too many requests"},
		{"500", servers.Always(servers.Answer(500, "UNKNOWN", "oops")), source.ErrUnavailable, "500 internal server error"},
		{"418", servers.Always(servers.Answer(418, "UNKNOWN", "oops")), nil, "418 i'm a teapot"},
		{"a closed connection", servers.Always(servers.Reset()), source.ErrUnavailable, "the response was truncated: try again"},
		{"a hang", servers.Always(servers.Hang()), source.ErrUnavailable, "no complete response within 200ms: try again"},
		{"a hang in the middle", only("/blobs/", servers.Hang()), source.ErrUnavailable, "no complete response"},
		{"a manifest cut short", only("/manifests/", servers.Cut(oci.Server(), 20)), source.ErrUnavailable, "the response was truncated"},
		{"a zip cut short", only("/blobs/", servers.Cut(oci.Server(), 20)), source.ErrUnavailable, "the response was truncated"},
		{"a zip with another bit", only("/blobs/", servers.Alter(oci.Server(), flip)), source.ErrDigest, "content that does not match its digest"},
		{"a manifest with other types", only("/manifests/", servers.Alter(oci.Server(), func(body []byte) []byte {
			return bytes.ReplaceAll(body, []byte("vnd.cue.module.v1"), []byte("vnd.oci.something"))
		})), source.ErrDigest, "content that does not match its digest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			oci.Fault(c.fault)
			store := newStore(t)
			registry := func(fast bool) *modules.Registry {
				r := &modules.Registry{Config: oci.Host, Store: store}
				if fast {
					r.Timeout = 200 * time.Millisecond
					return through(r, &remote.Registries{Attempts: 1})
				}
				return online(r)
			}
			_, _, err := registry(true).Complete(t.Context(), tree, nil)
			require.Error(t, err)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, `module "example.com/base@v0.1.0" at oci://`+oci.Host+"/example.com/base:v0.1.0: ")
			entries, _ := held(t, store)
			require.Zero(t, entries, "nothing half-written")

			oci.Fault(nil)
			_, _, err = registry(false).Complete(t.Context(), tree, nil)
			require.NoError(t, err, "the next attempt succeeds")
		})
	}
}

// cached is the files of a cache.
func cached(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	require.NoError(t, filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, name)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	}))
	return out
}

func TestWhatPassesByItselfIsTriedAgain(t *testing.T) {
	oci, files := shop(t)
	oci.Fault(servers.First(3, servers.Always(servers.Answer(500, "UNKNOWN", "oops"))))
	_, _, err := online(&modules.Registry{Config: oci.Host}).Complete(t.Context(), treeOf(t, files), nil)
	require.NoError(t, err)
	oci.Fault(servers.First(1, servers.Always(servers.Answer(429, "TOOMANYREQUESTS", "slow", "Retry-After", "1"))))
	_, _, err = online(&modules.Registry{Config: oci.Host}).Complete(t.Context(), treeOf(t, files), nil)
	require.NoError(t, err)
}

func TestACallerWhoGivesUpIsObeyed(t *testing.T) {
	oci, files := shop(t)
	oci.Fault(servers.Always(servers.Hang()))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err := online(&modules.Registry{Config: oci.Host}).Complete(ctx, treeOf(t, files), nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, _, err = online(&modules.Registry{Config: oci.Host}).Complete(ctx, treeOf(t, files), nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, source.ErrUnavailable)
}

func TestAddressesThatARedirectLeadsToAreNotPrinted(t *testing.T) {
	oci, files := shop(t)
	oci.Fault(only("/blobs/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://ann:s3cret@127.0.0.1:1/blob?X-Signature=abc", http.StatusTemporaryRedirect)
	})))
	_, _, err := through(&modules.Registry{Config: oci.Host}, &remote.Registries{Attempts: 1}).Complete(t.Context(), treeOf(t, files), nil)
	require.ErrorIs(t, err, source.ErrUnavailable)
	require.NotContains(t, err.Error(), "s3cret")
	require.NotContains(t, err.Error(), "Signature")
}

func TestTLS(t *testing.T) {
	oci := servers.InProcess(t, servers.WithTLS())
	tree := treeOf(t, map[string]string{
		"cue.mod/module.cue": deps("example.com/base@v0", "v0.1.0"), "app.cue": "package app\n\nimport \"example.com/base\"\n\nx: base\n",
	})

	_, _, err := online(&modules.Registry{Config: oci.Host + "+secure"}).Complete(t.Context(), tree, nil)
	require.ErrorIs(t, err, source.ErrHostKey)
	require.ErrorContains(t, err, "signed by an unknown authority")

	_, _, err = through(&modules.Registry{Config: oci.Host + "+secure"}, &remote.Registries{CA: map[string][]byte{"": oci.CA}}).Complete(t.Context(), tree, nil)
	require.ErrorIs(t, err, source.ErrAbsent)

	plain := servers.InProcess(t)
	_, _, err = online(&modules.Registry{Config: plain.Host + "+secure"}).Complete(t.Context(), tree, nil)
	require.ErrorIs(t, err, source.ErrUnavailable)
	require.ErrorContains(t, err, "allow plain http for it")
}

func TestConfigurationsThatAreWrong(t *testing.T) {
	tree := treeOf(t, map[string]string{
		"cue.mod/module.cue": deps("example.com/base@v0", "v0.1.0"), "app.cue": "package app\n\nimport \"example.com/base\"\n\nx: base\n",
	})
	secret := folder(t, map[string]string{"r.cue": `defaultRegistry: registry: "ann:s3cret@example.com"`})
	for _, c := range []struct {
		name     string
		registry *modules.Registry
		is       error
		says     string
	}{
		{"a password in it", online(&modules.Registry{Config: "ann:s3cret@example.com"}), source.ErrReference, "credentials belong in a docker config.json"},
		{"no host", online(&modules.Registry{Config: "example.com=!"}), source.ErrReference, "CUE_REGISTRY is host/repository"},
		{"no registry for the module", online(&modules.Registry{Config: "none"}), source.ErrNotFound, `module "example.com/base@v0.1.0": no registry is configured for it`},
		{"no such file", online(&modules.Registry{Config: "file:" + filepath.Join(t.TempDir(), "none")}), source.ErrReference, "cannot be read"},
		{"a password in a file", online(&modules.Registry{Config: "file:" + filepath.Join(secret, "r.cue")}), source.ErrReference, "credentials belong in a docker config.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := c.registry.Complete(t.Context(), tree, nil)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
}
