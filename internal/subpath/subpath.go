// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package subpath compares paths with / between their elements, as text: the files need not
// exist, and links are not followed. Paths are clean, as path.Clean returns them.
package subpath

import "strings"

// Within reports whether name is dir or a path below it. All relative paths are within ".".
func Within(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}
