// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

func TestATokenIsRandomAndOnlyItsSumIsKept(t *testing.T) {
	now := time.Now()
	seen := map[string]bool{}
	for range 100 {
		token, e := Mint("2", now)
		raw, err := base64.RawURLEncoding.DecodeString(token)
		require.NoError(t, err)
		require.Len(t, raw, 32)
		require.False(t, seen[token])
		seen[token] = true
		require.True(t, isToken(token))
		require.True(t, isTokenOf(e, token))
		sum, err := hex.DecodeString(e.TokenHash)
		require.NoError(t, err)
		require.Len(t, sum, 32)
		require.Equal(t, "2", e.Rejoin)
		require.True(t, now.Add(30*time.Minute).Equal(e.Expires.Time))
		quiet(t, token, body(t, e))
		require.False(t, isTokenOf(e, e.TokenHash))
	}
	token, _ := Mint("", now)
	require.False(t, isTokenOf(nil, token))
	require.False(t, isTokenOf(&v1alpha1.EnrolmentStatus{}, ""), "no sum is that of no token")
	for _, text := range []string{"", token + "x", token[:42], token + "\n", " " + token, strings.Repeat("x", 42) + "!"} {
		require.False(t, isToken(text), "%q", text)
	}
}

func TestATokenExpires(t *testing.T) {
	now := time.Now()
	_, e := Mint("", now)
	require.False(t, Expired(e, now))
	require.False(t, Expired(e, now.Add(TokenLifetime-time.Second)))
	require.True(t, Expired(e, now.Add(TokenLifetime)))
	require.True(t, Expired(&v1alpha1.EnrolmentStatus{}, now), "without a time it is expired")
}
