// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package digests writes and recognises the one form of digest that is used: sha256: and 64
// hexadecimal digits in lower case (OCI image specification, descriptor.md). The library of the
// specification accepts other algorithms too, which no caller may.
package digests

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const prefix = "sha256:"

// Of returns the digest of data.
func Of(data []byte) string {
	sum := sha256.Sum256(data)
	return prefix + hex.EncodeToString(sum[:])
}

// Is reports whether text is a digest.
func Is(text string) bool {
	sum, ok := strings.CutPrefix(text, prefix)
	return ok && len(sum) == 2*sha256.Size && strings.Trim(sum, "0123456789abcdef") == ""
}
