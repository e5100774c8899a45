// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// ShortHash distinguishes two texts in a name: 8 hexadecimal digits.
func ShortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// Shorten returns a name of at most the given number of letters. A longer name is cut and ends in
// a hash of the complete text, so that two long names with one beginning stay different.
func Shorten(name string, most int) string {
	if len(name) <= most {
		return name
	}
	const tail = 1 + 8
	return strings.TrimRight(name[:most-tail], "-._") + "-" + ShortHash(name)
}
