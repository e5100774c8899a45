// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

// canary is a password that must never be seen. It looks different in every
// way of writing it down.
const canary = `c4n@ry p/ss?"w0rd&=é`

// kinds are both kinds of registry.
func kinds() map[string]func(testing.TB, ...servers.Option) *servers.OCI {
	return map[string]func(testing.TB, ...servers.Option) *servers.OCI{"docker-registry": servers.Registry, "in process": servers.InProcess}
}

// plain allows plain http everywhere and does not wait long.
func plain(t *testing.T, credentials auth.CredentialFunc) *Registries {
	t.Helper()
	r := &Registries{
		Credentials: credentials, PlainHTTP: func(string) bool { return true },
		Backoff: time.Millisecond, Timeout: 5 * time.Second,
	}
	return r
}

// repository is a/b of a server.
func repository(t *testing.T, r *Registries, o *servers.OCI, secret map[string][]byte) *remote.Repository {
	t.Helper()
	repo, err := r.Repository(t.Context(), o.Host+"/a/b", secret)
	require.NoError(t, err)
	return repo
}

// push pushes a blob and a manifest at v1 and returns their descriptors.
func push(ctx context.Context, repo *remote.Repository) (blob, manifest ocispec.Descriptor, _ error) {
	blob = content.NewDescriptorFromBytes("application/octet-stream", []byte("{}"))
	if err := repo.Push(ctx, blob, strings.NewReader("{}")); err != nil {
		return blob, manifest, err
	}
	text := []byte(`{"schemaVersion":2,"mediaType":"` + ocispec.MediaTypeImageManifest + `","config":{"mediaType":"application/octet-stream","digest":"` +
		blob.Digest.String() + `","size":2},"layers":[]}`)
	manifest = content.NewDescriptorFromBytes(ocispec.MediaTypeImageManifest, text)
	return blob, manifest, repo.PushReference(ctx, manifest, bytes.NewReader(text), "v1")
}

// safe requires that an error names the reference and holds no credential.
func safe(t *testing.T, err error, reference string) {
	t.Helper()
	require.Error(t, err)
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, text := range []string{e.Error(), strings.ToLower(e.Error())} {
			for _, user := range []string{"", "ann:"} {
				for _, form := range append(forms(user+canary), url.UserPassword("ann", canary).String()) {
					require.NotContains(t, text, form)
					require.NotContains(t, text, strings.ToLower(form))
				}
			}
		}
	}
	require.Contains(t, err.Error(), reference)
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), "failed to")
	require.Less(t, len(err.Error()), 800)
}

func TestARegistryIsReadAndWritten(t *testing.T) {
	for name, kind := range kinds() {
		for auth, opts := range map[string][]servers.Option{
			"with nobody logged in": nil,
			"with a password":       {servers.WithBasicAuth("ann", canary)},
			"with tokens":           {servers.WithTokenAuth("ann", canary)},
		} {
			t.Run(name+" "+auth, func(t *testing.T) {
				o := kind(t, opts...)
				repo := repository(t, plain(t, password(o.Host, "ann", canary)), o, nil)
				_, manifest, err := push(t.Context(), repo)
				require.NoError(t, err)
				got, err := repo.Resolve(t.Context(), "v1")
				require.NoError(t, err)
				require.Equal(t, manifest.Digest, got.Digest)
				for _, r := range o.Requests() {
					require.Equal(t, "ropewalk", r.Header.Get("User-Agent"))
				}
			})
		}
	}
}

func TestTokensAndConnectionsAreSharedByThoseWhoMayShareThem(t *testing.T) {
	o := servers.InProcess(t, servers.WithTokenAuth("ann", canary))
	r := plain(t, nil)
	ann := map[string][]byte{"username": []byte("ann"), "password": []byte(canary)}
	_, _, err := push(t.Context(), repository(t, r, o, ann))
	require.NoError(t, err)

	o.Reset()
	_, err = repository(t, r, o, ann).Resolve(t.Context(), "v1")
	require.NoError(t, err)
	_, err = repository(t, r, o, ann).Resolve(t.Context(), "v1")
	require.NoError(t, err)
	require.Equal(t, []string{
		"HEAD /v2/a/b/manifests/v1 401",
		"GET /token?scope=repository%3Aa%2Fb%3Apull&service=ropewalk 200",
		"HEAD /v2/a/b/manifests/v1 200",
		"HEAD /v2/a/b/manifests/v1 200",
	}, o.Lines(), "a token is asked for once")

	for who, secret := range map[string]map[string][]byte{
		"nobody": nil,
		"bob":    {"username": []byte("bob"), "password": []byte(canary)},
	} {
		_, err = repository(t, r, o, secret).Resolve(t.Context(), "v1")
		require.ErrorIs(t, Explain(err, "oci://x"), source.ErrUnauthorized, "%s does not travel on the token of ann", who)
	}
}

func TestNamesOfRepositories(t *testing.T) {
	for name, why := range map[string]string{
		"":                          "it has no host",
		"alone":                     "it has no host",
		"host/UPPER":                "invalid characters",
		"host/a:v1":                 "a tag or a digest",
		"ann:" + canary + "@host/a": "it must not hold credentials",
		"https://ann:secret@host/a": "",
		"host/a@sha256:" + zeros():  "a tag or a digest",
		"host/" + strings.Repeat("a/", 300) + "a?token=" + canary: "",
	} {
		_, err := new(Registries).Repository(t.Context(), name, nil)
		require.ErrorIs(t, err, source.ErrReference, name)
		require.ErrorContains(t, err, why)
		require.NotContains(t, err.Error(), "c4n")
		require.NotContains(t, err.Error(), "secret")
	}
	repo, err := new(Registries).Repository(t.Context(), "docker.io/library/alpine", nil)
	require.NoError(t, err)
	require.Equal(t, "registry-1.docker.io", repo.Reference.Host())
	require.False(t, repo.PlainHTTP)
	require.True(t, repo.SkipReferrersGC)
	repo, err = new(Registries).Repository(t.Context(), "localhost:5000/a", nil)
	require.NoError(t, err)
	require.False(t, repo.PlainHTTP, "plain http is only spoken when asked for")
}

func zeros() string { return strings.Repeat("0", 64) }

func TestTLSNeedsAKnownAuthority(t *testing.T) {
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) {
			o := kind(t, servers.WithTLS(), servers.WithTokenAuth("ann", canary))
			ann := map[string][]byte{"username": []byte("ann"), "password": []byte(canary)}
			r := &Registries{}
			_, _, err := push(t.Context(), repository(t, r, o, ann))
			err = Explain(err, "oci://r/a/b:v1")
			require.ErrorIs(t, err, source.ErrHostKey)
			require.ErrorContains(t, err, "unknown authority: add the authority as ca.crt")
			safe(t, err, "oci://r/a/b:v1")

			ann["ca.crt"] = o.CA
			_, _, err = push(t.Context(), repository(t, r, o, ann))
			require.NoError(t, err, "the authority is in the secret")
			delete(ann, "ca.crt")
			for _, host := range []string{"", o.Host} {
				r := &Registries{CA: map[string][]byte{host: o.CA}}
				_, _, err = push(t.Context(), repository(t, r, o, ann))
				require.NoError(t, err, "the authority is that of %q", host)
			}
			_, err = r.Repository(t.Context(), o.Host+"/a/b", map[string][]byte{"ca.crt": []byte(canary)})
			require.ErrorIs(t, err, source.ErrUnauthorized)
			safe(t, err, o.Host)
		})
	}
}

func TestPlainHTTPAndTLSAreToldApart(t *testing.T) {
	o := servers.InProcess(t)
	_, err := repository(t, &Registries{}, o, nil).Resolve(t.Context(), "v1")
	err = Explain(err, "oci://r/a")
	require.ErrorIs(t, err, source.ErrUnavailable)
	require.ErrorContains(t, err, "does not speak https: allow plain http")
	safe(t, err, "oci://r/a")

	o = servers.InProcess(t, servers.WithTLS())
	_, _, err = push(t.Context(), repository(t, plain(t, nil), o, nil))
	err = Explain(err, "oci://r/a")
	require.ErrorIs(t, err, source.ErrUnavailable)
	require.ErrorContains(t, err, "it may want https")
	safe(t, err, "oci://r/a")
}

func TestNoRedirectLeavesTLS(t *testing.T) {
	o, other := servers.InProcess(t, servers.WithTLS()), servers.InProcess(t)
	o.Fault(servers.Always(http.RedirectHandler(other.URL+"/v2/?sig="+url.QueryEscape(canary), http.StatusTemporaryRedirect)))
	r := &Registries{CA: map[string][]byte{"": o.CA}}
	_, err := repository(t, r, o, nil).Resolve(t.Context(), "v1")
	err = Explain(err, "oci://r/a")
	require.ErrorContains(t, err, "redirects from https to http")
	safe(t, err, "oci://r/a")
	require.Empty(t, other.Requests())
}

func TestManifestsAreBounded(t *testing.T) {
	o := servers.InProcess(t)
	_, _, err := push(t.Context(), repository(t, plain(t, nil), o, nil))
	require.NoError(t, err)
	r := plain(t, nil)
	r.Manifest = 100
	repo := repository(t, r, o, nil)
	_, _, err = repo.FetchReference(t.Context(), "v1")
	require.ErrorIs(t, Explain(err, "oci://x"), source.ErrLimit)

	// A server that does not say how long its answer is gets no further.
	o.Fault(servers.Always(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", ocispec.MediaTypeImageIndex)
		for range 1000 {
			_, _ = io.WriteString(w, strings.Repeat(" ", 1000))
		}
	})))
	subject := ocispec.Descriptor{Digest: digest.Digest("sha256:" + zeros())}
	err = repo.Referrers(t.Context(), subject, "", func([]ocispec.Descriptor) error { return nil })
	require.ErrorIs(t, Explain(err, "oci://x"), source.ErrLimit)
}

func TestSecrets(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("ann:" + canary))
	config := func(key string) map[string][]byte {
		return map[string][]byte{".dockerconfigjson": []byte(`{"auths":{"` + key + `":{"auth":"` + basic + `"}}}`)}
	}
	o := servers.InProcess(t, servers.WithBasicAuth("ann", canary))
	for name, c := range map[string]struct {
		secret map[string][]byte
		in     bool
	}{
		"name and password":                     {map[string][]byte{"username": []byte("ann\n"), "password": []byte(canary + "\n")}, true},
		"a config for the host":                 {config(o.Host), true},
		"a config for the host as a URL":        {config("https://" + o.Host + "/v1/"), true},
		"a config for a folder of the host":     {config(o.Host + "/a"), true},
		"a config for the repository":           {config(o.Host + "/a/b"), true},
		"a config for another folder":           {config(o.Host + "/c"), false},
		"a config for a folder of like name":    {config(o.Host + "/a/bc"), false},
		"a config for another host":             {config("example.com"), false},
		"an authority only":                     {map[string][]byte{"ca.crt": nil}, false},
		"a wrong password":                      {map[string][]byte{"username": []byte("ann"), "password": []byte("wrong" + canary)}, false},
		"a token where a password is asked for": {map[string][]byte{"bearerToken": []byte(canary)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if string(c.secret["ca.crt"]) == "" {
				delete(c.secret, "ca.crt")
			}
			if name == "an authority only" {
				c.secret["ca.crt"] = servers.InProcess(t, servers.WithTLS()).CA
			}
			_, _, err := push(t.Context(), repository(t, plain(t, password(o.Host, "ann", canary)), o, c.secret))
			if c.in {
				require.NoError(t, err)
				return
			}
			err = Explain(err, "oci://r/a/b")
			require.ErrorIs(t, err, source.ErrUnauthorized, "and the credentials of the process are not used")
			safe(t, err, "oci://r/a/b")
		})
	}
}

func TestSecretsThatCannotBeRead(t *testing.T) {
	for name, secret := range map[string]map[string][]byte{
		"nothing":              {},
		"no password":          {"username": []byte("ann")},
		"no name":              {"password": []byte(canary)},
		"no JSON":              {".dockerconfigjson": []byte(canary)},
		"no base64":            {".dockerconfigjson": []byte(`{"auths":{"host":{"auth":"c4n@ry"}}}`)},
		"no name and password": {".dockerconfigjson": []byte(`{"auths":{"host":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("c4n@ry")) + `"}}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := new(Registries).Repository(t.Context(), "host/a", secret)
			require.ErrorIs(t, err, source.ErrUnauthorized)
			require.NotContains(t, err.Error(), "c4n@ry")
		})
	}
}

// password is a name and a password for one host.
func password(host, user, word string) auth.CredentialFunc {
	return auth.StaticCredential(host, auth.Credential{Username: user, Password: word})
}
