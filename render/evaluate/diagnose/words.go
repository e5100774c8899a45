// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// manyNames is how many known names a message lists at most.
const manyNames = 12

// UnknownField says that name is not known, and what is.
func UnknownField(name string, known []string) string {
	text := fmt.Sprintf("unknown field %q", name)
	if near := Nearest(name, known); near != "" {
		return text + near
	}
	if len(known) > 0 && len(known) <= manyNames {
		text += "; known are " + strings.Join(known, ", ")
	}
	return text
}

// Nearest suggests the known name that name was probably meant to be: "" where
// none is near.
func Nearest(name string, known []string) string {
	best, ok := object.Nearest(name, known)
	if !ok {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// Quoted lists words as "a", "b" or "c".
func Quoted(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = strconv.Quote(w)
	}
	return choice(q)
}

// choice lists words as a, b or c.
func choice(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
