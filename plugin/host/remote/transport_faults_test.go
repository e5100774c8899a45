// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

// echo is what a careless server says: the credentials that it was given, in
// every way of writing them.
func echo() string {
	return strings.Join(append(forms(canary), forms("ann:"+canary)...), " ")
}

// failure is how a registry fails, and what becomes of it.
type failure struct {
	fault    http.Handler
	is       error
	says     string
	requests int // that are sent for one of the user
}

func failures() map[string]failure {
	return map[string]failure{
		"401 with a challenge": {
			servers.Answer(401, "UNAUTHORIZED", echo(), "WWW-Authenticate", `Basic realm="r"`),
			source.ErrUnauthorized, "requires valid credentials (401 unauthorized", 2,
		},
		"401 without a challenge": {
			servers.Answer(401, "UNAUTHORIZED", echo()), source.ErrUnauthorized, "requires valid credentials (401 unauthorized", 1,
		},
		"403": {servers.Answer(403, "DENIED", "not you, "+echo()), source.ErrUnauthorized, "denies access (403 forbidden", 1},
		"404": {servers.Answer(404, "MANIFEST_UNKNOWN", echo()), source.ErrNotFound, "not found in the registry", 1},
		"405": {servers.Answer(405, "UNSUPPORTED", echo()), errdef.ErrUnsupported, "does not support this request (405 method not allowed", 1},
		"418": {servers.Answer(418, "", echo()), nil, "answers 418 i'm a teapot", 1},
		"429 always": {
			servers.Answer(429, "TOOMANYREQUESTS", "slow\ndown, "+echo()),
			source.ErrUnavailable, `429 too many requests: toomanyrequests: slow down, ***`, 3,
		},
		"429 with a wait that is too long": {
			servers.Answer(429, "TOOMANYREQUESTS", "", "Retry-After", "3600"),
			source.ErrUnavailable, "429 too many requests: toomanyrequests, 1 attempt, with Retry-After 1h0m0s: try again later", 1,
		},
		"500 always":      {servers.Answer(500, "UNKNOWN", echo()), source.ErrUnavailable, "***, 3 attempts: try again later", 3},
		"503 without end": {servers.Answer(503, "", strings.Repeat("x", 1<<20)), source.ErrUnavailable, "503 service unavailable", 3},
		"a broken connection": {
			// net/http itself sends once more what fails on a used connection.
			servers.Reset(), source.ErrUnavailable, "(3 attempts): try again", 4,
		},
		"a hang": {servers.Hang(), source.ErrUnavailable, "no response in time", 1},
		"a redirect to a host that is not there": {
			http.RedirectHandler("http://127.0.0.1:1/x?X-Amz-Signature="+url.QueryEscape(canary), http.StatusTemporaryRedirect),
			source.ErrUnavailable, `"127.0.0.1:1": connection refused`, 1,
		},
		"a redirect without end": {
			http.RedirectHandler("/v2/a/b/manifests/v1?token="+url.QueryEscape(canary), http.StatusTemporaryRedirect),
			nil, "redirects more than 10 times", 10,
		},
	}
}

// TestFaultsOfRegistries has both kinds of registry fail in every way, for
// somebody who is logged in.
func TestFaultsOfRegistries(t *testing.T) {
	const reference = "oci://registry/a/b:v1"
	for name, c := range failures() {
		for kind, start := range kinds() {
			t.Run(name+" of "+kind, func(t *testing.T) {
				t.Parallel()
				o := start(t, servers.WithBasicAuth("ann", canary))
				r := plain(t, password(o.Host, "ann", canary))
				r.Attempts = 3
				repo := repository(t, r, o, nil)
				_, _, err := push(t.Context(), repo)
				require.NoError(t, err)
				if name == "a hang" {
					r := plain(t, nil)
					r.Timeout = time.Second // in which a connection is made, on any machine
					repo = repository(t, r, o, nil)
				}
				o.Reset()
				o.Fault(servers.Always(c.fault))
				_, _, err = repo.FetchReference(t.Context(), "v1")
				err = Explain(err, reference)
				if c.is != nil {
					require.ErrorIs(t, err, c.is)
				}
				require.ErrorContains(t, err, c.says)
				safe(t, err, reference)
				require.Len(t, o.Requests(), c.requests)

				o.Fault(nil)
				_, err = repository(t, r, o, nil).Resolve(t.Context(), "v1")
				require.NoError(t, err, "it works again")
			})
		}
	}
}

func TestPassingFaultsAreNotSeen(t *testing.T) {
	for name, fault := range map[string]http.Handler{
		"500":                 servers.Answer(500, "UNKNOWN", ""),
		"502":                 servers.Answer(502, "", ""),
		"408":                 servers.Answer(408, "", ""),
		"a broken connection": servers.Reset(),
	} {
		for kind, start := range kinds() {
			t.Run(name+" of "+kind, func(t *testing.T) {
				t.Parallel()
				o := start(t, servers.WithTokenAuth("ann", canary))
				repo := repository(t, plain(t, password(o.Host, "ann", canary)), o, nil)
				o.Fault(servers.First(3, servers.Always(fault)))
				blob, _, err := push(t.Context(), repo)
				require.NoError(t, err, "three times wrong, then right")

				// Uploads too: their bodies are sent again from the start.
				o.Fault(servers.First(3, func(r *http.Request) (http.Handler, bool) {
					return fault, r.Method == http.MethodPut
				}))
				_, _, err = push(t.Context(), repo)
				require.NoError(t, err)
				o.Fault(servers.First(3, servers.Always(fault)))
				body, err := repo.Fetch(t.Context(), blob)
				require.NoError(t, err)
				data, err := content.ReadAll(body, blob)
				require.NoError(t, err)
				require.NoError(t, body.Close())
				require.Equal(t, "{}", string(data))
			})
		}
	}
}

func TestUploadsThatCannotBeRewoundAreSentOnce(t *testing.T) {
	o := servers.InProcess(t)
	repo := repository(t, plain(t, nil), o, nil)
	blob := content.NewDescriptorFromBytes("application/octet-stream", []byte("{}"))
	o.Fault(func(r *http.Request) (http.Handler, bool) {
		return servers.Answer(500, "UNKNOWN", ""), r.Method == http.MethodPut
	})
	err := Explain(repo.Push(t.Context(), blob, io.MultiReader(strings.NewReader("{}"))), "oci://x")
	require.ErrorIs(t, err, source.ErrUnavailable)
	require.ErrorContains(t, err, "1 attempt")
	require.Len(t, o.Requests(), 2)
}

func TestRetryAfterIsWaitedFor(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds() {
		t.Run(kind, func(t *testing.T) {
			o := start(t)
			r := plain(t, nil)
			r.MaxWait = 2 * time.Minute // more than the caller has
			repo := repository(t, r, o, nil)
			_, _, err := push(t.Context(), repo)
			require.NoError(t, err)
			limited := func(seconds string) servers.Fault {
				return servers.Always(servers.Answer(429, "TOOMANYREQUESTS", "", "Retry-After", seconds))
			}
			o.Fault(servers.First(1, limited("1")))
			began := time.Now()
			_, err = repo.Resolve(t.Context(), "v1")
			require.NoError(t, err)
			require.GreaterOrEqual(t, time.Since(began), time.Second)

			// A caller with less time than that is told at once.
			o.Fault(limited("60"))
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			began = time.Now()
			_, err = repo.Resolve(ctx, "v1")
			require.Less(t, time.Since(began), 10*time.Second)
			err = Explain(err, "oci://x")
			require.ErrorIs(t, err, source.ErrUnavailable)
			require.ErrorContains(t, err, "1 attempt, with Retry-After 1m0s: try again later")
		})
	}
}

func TestWaitsDoubleAndHaveAnEnd(t *testing.T) {
	p := &policy{transport: &transport{backoff: DefaultBackoff, maxWait: time.Second, attempts: 9}, ctx: t.Context()}
	var waits []time.Duration
	for n := range 4 {
		wait, err := p.Retry(n, nil, io.EOF)
		require.NoError(t, err)
		waits = append(waits, wait)
	}
	require.Equal(t, []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second}, waits)

	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "-7": 0, "soon": 0, "99999999999999999999": 0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		require.Equal(t, want, retryAfter(header, now), header)
	}
}

func TestAHangEndsWithTheContext(t *testing.T) {
	t.Parallel()
	o := servers.InProcess(t)
	o.Fault(servers.Always(servers.Hang()))
	repo := repository(t, plain(t, nil), o, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := repo.Resolve(ctx, "v1")
	err = Explain(err, "oci://x")
	require.ErrorIs(t, err, source.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, stop)
	_, err = repo.Resolve(ctx, "v1")
	err = Explain(err, "oci://x")
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, source.ErrUnavailable)

	// While it waits to try again, too.
	o.Fault(servers.Always(servers.Answer(503, "", "", "Retry-After", "20")))
	ctx, stop = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, stop)
	_, err = repo.Resolve(ctx, "v1")
	require.ErrorIs(t, Explain(err, "oci://x"), context.Canceled)
}

// TestAnswersThatStop begins an answer that never ends, and one that is cut.
func TestAnswersThatStop(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds() {
		t.Run(kind, func(t *testing.T) {
			o := start(t)
			r := plain(t, nil)
			r.Timeout = time.Second
			repo := repository(t, r, o, nil)
			blob, _, err := push(t.Context(), repository(t, plain(t, nil), o, nil))
			require.NoError(t, err)
			for name, fault := range map[string]http.Handler{
				"the server stalled": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Length", "2")
					_, _ = io.WriteString(w, "{")
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				}),
				"the response was truncated": servers.Cut(o.Server(), 1),
			} {
				o.Fault(servers.Always(fault))
				body, err := repo.Fetch(t.Context(), blob)
				require.NoError(t, err)
				_, err = content.ReadAll(body, blob)
				require.NoError(t, body.Close())
				err = Explain(err, "oci://x")
				require.ErrorIs(t, err, source.ErrUnavailable)
				require.ErrorContains(t, err, name)
			}
		})
	}
}

// TestSlowReadersAreWaitedFor reads with pauses that are longer than a server
// may make.
func TestSlowReadersAreWaitedFor(t *testing.T) {
	t.Parallel()
	o := servers.InProcess(t)
	r := plain(t, nil)
	r.Timeout = time.Second
	repo := repository(t, r, o, nil)
	blob, _, err := push(t.Context(), repository(t, plain(t, nil), o, nil))
	require.NoError(t, err)
	body, err := repo.Fetch(t.Context(), blob)
	require.NoError(t, err)
	time.Sleep(1200 * time.Millisecond)
	data, err := io.ReadAll(body)
	require.NoError(t, err)
	require.NoError(t, body.Close())
	require.Equal(t, "{}", string(data))
}

func TestOtherContentIsNotTaken(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds() {
		t.Run(kind, func(t *testing.T) {
			o := start(t)
			repo := repository(t, plain(t, nil), o, nil)
			blob, manifest, err := push(t.Context(), repo)
			require.NoError(t, err)
			o.Fault(servers.Always(servers.Alter(o.Server(), func(body []byte) []byte {
				body[0] ^= 1
				return body
			})))
			for _, desc := range []ocispec.Descriptor{blob, manifest} {
				_, err := content.FetchAll(t.Context(), repo, desc)
				err = Explain(err, "oci://x")
				require.ErrorIs(t, err, source.ErrDigest)
				require.ErrorContains(t, err, "content that does not match its digest")
			}
			o.Fault(servers.Always(servers.Alter(o.Server(), func(body []byte) []byte { return append(body, ' ') })))
			_, err = content.FetchAll(t.Context(), repo, blob)
			require.ErrorIs(t, Explain(err, "oci://x"), source.ErrDigest)
		})
	}
}

func TestAnExpiredTokenIsRenewed(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds() {
		t.Run(kind, func(t *testing.T) {
			o := start(t, servers.WithTokenAuth("ann", canary))
			repo := repository(t, plain(t, password(o.Host, "ann", canary)), o, nil)
			_, _, err := push(t.Context(), repo)
			require.NoError(t, err)
			o.ExpireTokens()
			o.Reset()
			_, _, err = push(t.Context(), repo)
			require.NoError(t, err, "an upload is sent again with a new token: %s", o.Lines())
			require.Contains(t, strings.Join(o.Lines(), "\n"), " 401\n")
		})
	}
}

func TestAWrongPasswordIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds() {
		for name, opt := range map[string]servers.Option{
			"basic": servers.WithBasicAuth("ann", "right"), "token": servers.WithTokenAuth("ann", "right"),
		} {
			t.Run(name+" of "+kind, func(t *testing.T) {
				o := start(t, opt)
				// Some servers say what they were given.
				o.Fault(func(r *http.Request) (http.Handler, bool) {
					h := r.Header.Get("Authorization")
					if h == "" || strings.HasPrefix(h, "Bearer ") {
						return nil, false
					}
					return servers.Answer(401, "UNAUTHORIZED", "bad header "+h+" "+echo()), true
				})
				repo := repository(t, plain(t, password(o.Host, "ann", canary)), o, nil)
				_, _, err := push(t.Context(), repo)
				err = Explain(err, "oci://registry/a/b")
				require.ErrorIs(t, err, source.ErrUnauthorized)
				safe(t, err, "oci://registry/a/b")
				require.Len(t, o.Requests(), 2)
			})
		}
	}
}

func TestTokensOfTheCallerAreUsed(t *testing.T) {
	o := servers.InProcess(t)
	o.Fault(func(r *http.Request) (http.Handler, bool) {
		return servers.Answer(401, "UNAUTHORIZED", "no, "+r.Header.Get("Authorization"), "WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token"`),
			r.Header.Get("Authorization") != "Bearer good-token"
	})
	_, _, err := push(t.Context(), repository(t, plain(t, nil), o, map[string][]byte{"bearerToken": []byte("good-token\n")}))
	require.NoError(t, err)
	_, _, err = push(t.Context(), repository(t, plain(t, nil), o, map[string][]byte{"bearerToken": []byte(canary)}))
	err = Explain(err, "oci://x")
	require.ErrorIs(t, err, source.ErrUnauthorized)
	safe(t, err, "oci://x")
}

func TestHostsThatAreNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	host := l.Addr().String()
	require.NoError(t, l.Close())
	for name, says := range map[string]string{
		host + "/a":               "connection refused",
		"registry.invalid/a":      "has no address",
		"registry.invalid:5000/a": "has no address",
	} {
		repo, err := plain(t, nil).Repository(t.Context(), name, nil)
		require.NoError(t, err)
		_, err = repo.Resolve(t.Context(), "v1")
		err = Explain(err, "oci://"+name)
		require.ErrorIs(t, err, source.ErrUnavailable)
		require.ErrorContains(t, err, says)
	}
}

func TestARedirectElsewhereGetsNoPassword(t *testing.T) {
	o, thief := servers.InProcess(t), servers.InProcess(t)
	secret := base64.StdEncoding.EncodeToString([]byte("ann:" + canary))
	o.Fault(servers.Always(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})))
	thief.Fault(servers.Always(servers.Answer(401, "", "", "WWW-Authenticate", `Basic realm="give"`)))
	_, err := repository(t, plain(t, password(o.Host, "ann", canary)), o, nil).Resolve(t.Context(), "v1")
	require.ErrorIs(t, Explain(err, "oci://x"), source.ErrUnauthorized)
	require.NotEmpty(t, thief.Requests())
	for _, r := range thief.Requests() {
		require.NotContains(t, r.Header.Get("Authorization"), secret)
	}
}
