// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzBundle has a bundle that nobody signed never pass, whatever is in it. Each
// is tried with its payload unsigned, and the payload is parsed as well.
func FuzzBundle(f *testing.F) {
	// The key is on file, because fuzzing takes several processes, and the seeds of
	// one must be good in all.
	key, err := os.ReadFile("testdata/key.pem")
	require.NoError(f, err)
	s, err := ParsePrivateKey(key, nil)
	require.NoError(f, err)
	v, err := ParsePublicKeys(s.PublicKey())
	require.NoError(f, err)
	good, err := s.Sign(stated(f, subject))
	require.NoError(f, err)
	f.Add(good)
	f.Add([]byte(strings.Replace(string(good), `"publicKey":{`, `"certificate":{`, 1)))
	f.Add([]byte(`{"mediaType":null,"dsseEnvelope":{"signatures":[{}]}}`))
	f.Add(stated(f, subject, other))
	stranger, _ := pair(f)
	bundle, err := stranger.Sign(stated(f, subject))
	require.NoError(f, err)
	f.Add(bundle)
	envelope, err := parseBundle(good)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := v.Bundle(data, subject)
		if err == nil {
			got, err := parseBundle(data)
			require.NoError(t, err)
			require.Equal(t, envelope.payload, got.payload, "only what was signed passes")
		} else {
			require.True(t, errors.Is(err, ErrMalformed) || errors.Is(err, ErrSignature), "%v", err)
		}
		if _, err := parseStatement(data); err != nil {
			require.ErrorIs(t, err, ErrMalformed)
		}
		_, _ = parseSimple(data)
	})
}

// FuzzKeys has keys of any content be read or refused.
func FuzzKeys(f *testing.F) {
	private, public, err := GenerateKey()
	require.NoError(f, err)
	f.Add(private)
	f.Add(public)
	f.Add([]byte("-----BEGIN EC PARAMETERS-----\n-----END EC PARAMETERS-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := ParsePrivateKey(data, nil); err == nil {
			_, err := ParsePublicKeys(s.PublicKey())
			require.NoError(t, err)
		} else {
			require.True(t, errors.Is(err, ErrKey) || errors.Is(err, ErrPassword), "%v", err)
		}
		if _, err := ParsePublicKeys(data); err != nil {
			require.ErrorIs(t, err, ErrKey)
		}
	})
}
