// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/canary/rejected"
)

// head and tail are in every canary.
const (
	head = rejected.Head
	tail = rejected.Tail
)

// leaks finds pieces of canaries.
type leaks = rejected.Leaks

// newLeaks is the search for canaries, and for further words.
func newLeaks(more ...string) leaks { return rejected.NewLeaks(more...) }

// The search itself is proved first: what it does not find is no proof.
func TestTheSearchFindsACanaryInEveryForm(t *testing.T) {
	l := newLeaks()
	secret := canary("environment", "key", "property", "")
	piece := secret[len(secret)-12:]
	for name, text := range map[string]string{
		"plain": secret, "a piece": piece, "in words": "the value " + secret + " is wrong",
		"URL": url.QueryEscape(secret), "path": url.PathEscape(secret), "JSON": fmt.Sprintf("%q", secret),
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64, moved by one": base64.StdEncoding.EncodeToString([]byte("x" + secret)),
		"base64, moved by two": base64.RawURLEncoding.EncodeToString([]byte("xy" + secret)),
		"base64 of base64":     base64.StdEncoding.EncodeToString([]byte("a" + base64.StdEncoding.EncodeToString([]byte("b"+secret)))),
		"hex":                  hex.EncodeToString([]byte(secret)), "HEX": fmt.Sprintf("%X", secret), "bytes": fmt.Sprintf("%d", []byte(secret)),
		"folded": secret[:9] + "\n      " + secret[9:13] + "\\\n  " + secret[13:], "folded base64": fold(base64.StdEncoding.EncodeToString([]byte(secret))),
		"concatenated": `"` + secret[:5] + `" "` + secret[5:11] + `" "` + secret[11:] + `"`,
	} {
		_, ok := l.Find([]byte("before: " + text + "\nafter: 1\n"))
		require.True(t, ok, name)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte("a: " + piece))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	_, ok := l.Find(packed.Bytes())
	require.False(t, ok, "packed text shows only unpacked")
	_, ok = l.Find([]byte("sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 Qx7LwM2 Zj5CsG3"))
	require.False(t, ok, "seven bytes may be chance")
}

func fold(s string) string {
	var lines []string
	for line := range slices.Chunk([]byte(s), 7) {
		lines = append(lines, string(line))
	}
	return strings.Join(lines, "\n")
}
