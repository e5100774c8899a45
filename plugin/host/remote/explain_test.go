// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

func TestExplainKeepsWhatIsSaidAlready(t *testing.T) {
	require.NoError(t, Explain(nil, "oci://x"))
	err := source.Refuse(source.ErrSignature, "oci://x: no signature by a known key")
	require.Equal(t, err.Error(), Explain(err, "oci://x").Error(), "the reference is named once")
	err = Explain(&url.Error{Op: "Get", URL: "https://h/?token=" + canary, Err: fmt.Errorf("on the way: %w", err)}, "oci://y")
	require.ErrorIs(t, err, source.ErrSignature)
	require.EqualError(t, err, "oci://y: oci://x: no signature by a known key")
	require.ErrorIs(t, Explain(fmt.Errorf("x: %w", context.Canceled), "y"), context.Canceled)
	require.EqualError(t, Explain(errors.New("odd\nthing"), "oci://x"), "oci://x: odd thing")
}

func TestExplainTellsALostBlobFromANameOfNothing(t *testing.T) {
	server := servers.InProcess(t)
	repository, err := (&Registries{PlainHTTP: func(string) bool { return true }}).Repository(t.Context(), server.Host+"/shop", nil)
	require.NoError(t, err)
	gone := "sha256:" + strings.Repeat("0", 64)
	_, err = repository.Fetch(t.Context(), ocispec.Descriptor{MediaType: "application/octet-stream", Digest: digest.Digest(gone), Size: 1})
	err = Explain(err, "oci://h/shop:v1")
	require.ErrorIs(t, err, source.ErrAbsent)
	require.EqualError(t, err, "oci://h/shop:v1: the registry has lost "+gone+", which other content references: copy it again from a complete registry, or push it again")
	for _, name := range []string{"v1", gone} {
		_, err = repository.Resolve(t.Context(), name)
		err = Explain(err, "oci://h/shop:v1")
		require.ErrorIs(t, err, source.ErrAbsent)
		require.ErrorContains(t, err, "not found in the registry: correct the name")
	}
}

func TestScrubTakesOutWhatLooksLikeACredential(t *testing.T) {
	for text, want := range map[string]string{
		"GET https://ann:pw@host/a?X-Amz-Signature=abc&x=1 failed":     "GET https://host/a failed",
		`Get "http://host/a?sig=abc": refused`:                         `Get "http://host/a": refused`,
		"oci://host/a@sha256:abc and git@host:a":                       "oci://host/a@sha256:abc and git@host:a",
		"Authorization: Basic YW5uOnB3":                                "Authorization: ***",
		"authorization=Bearer abc.def":                                 "authorization=***",
		"header Bearer aB3, and basic YW5uOnB3":                        "header Bearer ***, and basic ***",
		"a bearer token is wanted by basic authentication":             "a bearer token is wanted by basic authentication",
		"jwt eyJhbGciOi.eyJzdWIi.sig-1 here":                           "jwt *** here",
		"sig=abc&token=def x-amz-security-token=ghi password='jkl'":    "sig=***&token=*** x-amz-security-token=*** password='***'",
		`{"access_token":"abc","user":"ann"}`:                          `{"access_token":"***","user":"ann"}`,
		"invalid token: expired; secret: not found; manifest: unknown": "invalid token: expired; secret: not found; manifest: unknown",
		"ssh://ann@host/a and https://host/a#x":                        "ssh://host/a and https://host/a#x",
	} {
		require.Equal(t, want, scrub(text))
	}
}

// FuzzExplain has a server say anything: an error stays one bounded line that
// steers no terminal, and never holds the credential that was sent.
func FuzzExplain(f *testing.F) {
	f.Add(401, "UNAUTHORIZED", "no", "oci://host/a")
	f.Add(500, "\x1b[2J", strings.Repeat("é", 5000), "https://ann:secret@host/a?token=x")
	f.Add(400, "DIGEST_INVALID", "a\r\nb\u202ec", "")
	f.Fuzz(func(t *testing.T, status int, code, said, reference string) {
		err := Explain(&errcode.ErrorResponse{
			Method: http.MethodGet, URL: &url.URL{Scheme: "https", Host: "host", RawQuery: "token=c4nary"}, StatusCode: status,
			Errors: errcode.Errors{{Code: code, Message: said, Detail: "c4nary"}},
		}, reference)
		text := err.Error()
		require.True(t, utf8.ValidString(text))
		require.Less(t, len(text), 4*longest)
		for _, r := range text {
			require.True(t, unicode.IsPrint(r), "%q in %q", r, text)
		}
		if !strings.Contains(code+said+reference, "c4nary") {
			require.NotContains(t, text, "c4nary")
		}
	})
}
