// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

// Paint colours text for a terminal. The zero value leaves it as it is.
type Paint struct{ On bool }

// Bold marks what matters.
func (p Paint) Bold(text string) string { return p.code("1", text) }

// Dim marks what matters less.
func (p Paint) Dim(text string) string { return p.code("2", text) }

// Bad marks an error.
func (p Paint) Bad(text string) string { return p.code("1;31", text) }

// Warn marks a warning.
func (p Paint) Warn(text string) string { return p.code("1;33", text) }

// Good marks a success.
func (p Paint) Good(text string) string { return p.code("32", text) }

func (p Paint) code(code, text string) string {
	if !p.On || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
