// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

const (
	// TokenLifetime bounds the use of a token.
	TokenLifetime = 30 * time.Minute
	tokenBytes    = 32
)

// Mint makes a token for a single key, and the enrolment with the sum of the token. It replaces an
// earlier enrolment, whose certificate is not renewed any more. Rejoin is spec.agent.rejoin.
func Mint(rejoin string, now time.Time) (token string, e *v1alpha1.EnrolmentStatus) {
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // It never fails.
	token = base64.RawURLEncoding.EncodeToString(random)
	expires := metav1.NewTime(now.Add(TokenLifetime))
	return token, &v1alpha1.EnrolmentStatus{TokenHash: TokenHash(token), Expires: &expires, Rejoin: rejoin}
}

// Expired reports whether the token of an enrolment has expired.
func Expired(e *v1alpha1.EnrolmentStatus, now time.Time) bool {
	return e.Expires == nil || !now.Before(e.Expires.Time)
}

// TokenHash returns the SHA-256 sum of a token, in hex, as in status.enrolment.tokenHash.
func TokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// isToken reports whether a text can be a token.
func isToken(text string) bool {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	hasLineEnds := len(text) != base64.RawURLEncoding.EncodedLen(tokenBytes) // The decoder skips them.
	return err == nil && len(raw) == tokenBytes && !hasLineEnds
}

// isTokenOf reports whether the token belongs to an enrolment, in constant time.
func isTokenOf(e *v1alpha1.EnrolmentStatus, token string) bool {
	return e != nil && subtle.ConstantTimeCompare([]byte(TokenHash(token)), []byte(e.TokenHash)) == 1
}
