// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package datasheet

import (
	"bytes"
	_ "embed" // for the page
	"html/template"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/draw"
	"github.com/ropewalk/ropewalk/internal/printable"
)

//go:embed page.html
var page string

// HTML returns the sheet as a page in one file, with the picture of what was rendered. The page
// runs nothing and loads nothing, and its policy forbids browsers to do so.
func (s *Sheet) HTML() ([]byte, error) {
	parsed, err := template.New("page").Funcs(template.FuncMap{"line": printable.Line, "title": sentenceCase, "text": printable.Text}).Parse(page)
	if err != nil {
		return nil, err
	}
	data := struct {
		*Sheet
		Picture template.HTML
	}{Sheet: s}
	if s.Made != nil {
		data.Picture = template.HTML(draw.Picture{Plan: s.Made.plan}.SVG()) //nolint:gosec // package draw escapes what is in it
	}
	var b bytes.Buffer
	err = parsed.Execute(&b, data)
	return b.Bytes(), err
}
