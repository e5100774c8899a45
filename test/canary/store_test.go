// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// The stores that a reference can name.
const (
	inEnvironment = "environment"
	inCluster     = "kubernetes"
)

// canary is the value of a secret: its own for each reference, and full of what
// somebody could take for more than text.
func canary(store, key, property, version string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{store, key, property, version}, "\x00")))
	awkward := []string{
		"", " ", "$", "$$", "$(HOME)", "$(A_URL)", "$$(A_URL)", "$(ROPEWALK_SECRET_R0__PASSWORD)", "${resources.r0.password}", "$${HOME}",
		"{{ .r0__password }}", "{{", "}}", "{{/*", "`", `"`, "'", `\`, `\n`, "\n", "\t", "%", "%41", "%2", "+", "a+b c", "/", "//", "@", ":", "#", "?a=b&c",
		"é", "𝄞", "\u2028", "=", "==", "-", "--- ", "|", ">", "<b>", "~._-", "()[]{}", ";,!*", "^",
	}
	at := func(i int) string { return awkward[int(sum[i])%len(awkward)] }
	return at(0) + head + at(1) + at(2) + hex.EncodeToString(sum[8:14]) + at(3) + at(4) + tail + at(5)
}

// escapeURL is RFC 3986, byte by byte: all but unreserved characters.
func escapeURL(s string) string {
	const unreserved = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~"
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(unreserved, s[i]) >= 0 {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}
