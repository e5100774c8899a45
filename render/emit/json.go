// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"bytes"
	"encoding/json"
)

// JSON writes v as canonical JSON: names sorted, no spaces, no HTML escapes,
// no newline at the end. It accepts what [YAML] accepts.
func JSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // What an object may hold always encodes.
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
