// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

// paint colours text for a terminal. The zero value leaves it as it is.
type paint struct{ on bool }

func (p paint) bold(text string) string { return p.code("1", text) }
func (p paint) dim(text string) string  { return p.code("2", text) }
func (p paint) bad(text string) string  { return p.code("1;31", text) }
func (p paint) warn(text string) string { return p.code("1;33", text) }
func (p paint) good(text string) string { return p.code("32", text) }

func (p paint) code(code, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
