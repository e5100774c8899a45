// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/draw"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/emit"
)

// files are the parts of a page.
//
//go:embed page
var files embed.FS //nolint:gochecknoglobals // the compiler writes it

// Sizes of a page, in bytes. Objects come before their fields, and those before manifests;
// what is dangerous comes first.
const (
	maxData     = 3_600_000
	maxPictures = 1_000_000
	maxValue    = 8_000
)

// maxRows is how many images and how many findings a page has.
const maxRows = 1000

// The data of a page are those of a report, with values as the text that is shown.
type (
	page struct {
		Report
		Environments []pageEnvironment `json:"environments"`
		Objects      []json.RawMessage `json:"objects"`
		// Titles are the kinds of dangers in words.
		Titles map[string]string `json:"titles"`
		// Order are those kinds, the worst first.
		Order  []string `json:"order"`
		Source string   `json:"source,omitempty"`
		Left   pageLeft `json:"left"`
	}
	pageEnvironment struct {
		Environment
		// Picture is the index of the picture, nil for none.
		Picture *int `json:"picture,omitempty"`
	}
	pageObject struct {
		Object
		Variants []pageVariant `json:"variants"`
	}
	pageVariant struct {
		Variant
		Fields []pageField `json:"fields,omitempty"`
		// Cut is what there was no room for: fields or manifest.
		Cut string `json:"cut,omitempty"`
	}
	pageField struct {
		Path      string  `json:"path"`
		Before    *string `json:"before,omitempty"`
		After     *string `json:"after,omitempty"`
		Order     bool    `json:"order,omitempty"`
		Immutable bool    `json:"immutable,omitempty"`
		From      string  `json:"from,omitempty"`
	}
	// pageLeft is what is not in a page.
	pageLeft struct {
		Objects  int `json:"objects,omitempty"`
		Pictures int `json:"pictures,omitempty"`
		Images   int `json:"images,omitempty"`
		Findings int `json:"findings,omitempty"`
	}
)

// Page returns the report as one file of HTML.
func (r Report) Page(links Links) ([]byte, error) {
	p := page{Report: r, Titles: dangerTitles(), Order: dangerOrder()}
	if links.Source != "" {
		p.Source = strings.TrimSuffix(links.Source, "/") + "/"
	}
	p.Images, p.Left.Images = first(r.Images, maxRows)

	// Share the rows and the pictures between the environments.
	var pictures bytes.Buffer
	known := map[string]int{}
	rows := maxRows
	for i, e := range r.Environments {
		out := pageEnvironment{Environment: e}
		out.Before, out.After = withoutImages(e.Before), withoutImages(e.After)
		var left int
		out.Findings, left = first(e.Findings, rows)
		rows -= len(out.Findings)
		p.Left.Findings += left
		if svg := r.pictures[i]; svg != nil {
			out.Picture = p.addPicture(&pictures, known, svg)
		}
		p.Environments = append(p.Environments, out)
	}

	// Objects take the room that is left.
	var err error
	p.Objects, p.Left.Objects, err = pageObjects(r.Objects)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return draw.Page(files, "", "{{title}}", html.EscapeString(printable.Line(r.title())), "{{summary}}", html.EscapeString(printable.Line(r.Summary)),
		"{{pictures}}", pictures.String(), "{{data}}", string(data)), nil
}

// first returns the first of a list, and how many others there are.
func first[T any](list []T, most int) ([]T, int) {
	n := min(len(list), most)
	return list[:n], len(list) - n
}

// addPicture adds a picture once, and returns its index, or nil if there is no room for it.
func (p *page) addPicture(out *bytes.Buffer, known map[string]int, svg []byte) *int {
	// The style of the page is that of its pictures, in both schemes.
	if from, to := bytes.Index(svg, []byte("<style>")), bytes.Index(svg, []byte("</style>")); from >= 0 && to > from {
		svg = slices.Concat(svg[:from], svg[to+len("</style>"):])
	}
	at, ok := known[string(svg)]
	if !ok {
		if out.Len()+len(svg) > maxPictures {
			p.Left.Pictures++
			return nil
		}
		at = len(known)
		known[string(svg)] = at
		fmt.Fprintf(out, "<template id=\"picture-%d\">%s</template>\n", at, bytes.TrimSpace(svg))
	}
	return &at
}

// withoutImages returns an outline without the part that only a report as data has.
func withoutImages(o *Outline) *Outline {
	if o == nil {
		return nil
	}
	out := *o
	out.Totals.Images = nil
	return &out
}

// pageObjects returns the objects, with as much of each as there is room for, and how many there is
// no room for.
func pageObjects(objects []Object) (out []json.RawMessage, left int, err error) {
	// The form of an object has levels, each with more of it.
	type forms struct {
		index int
		// texts are the object without fields, without manifests, and complete.
		texts [3]json.RawMessage
		level int
	}
	all := make([]forms, len(objects))
	for i, o := range objects {
		all[i].index = i
		for level := range all[i].texts {
			all[i].texts[level], err = json.Marshal(pageForm(o, level))
			if err != nil {
				return nil, 0, err
			}
		}
	}

	// Objects with dangers get room first.
	inOrder := slices.Clone(all)
	slices.SortStableFunc(inOrder, func(a, b forms) int { return cmp.Compare(dangersOf(objects[b.index]), dangersOf(objects[a.index])) })
	size := 0
	for _, f := range inOrder {
		size += len(f.texts[0]) + 1
		if size > maxData {
			all[f.index].level = -1
			left++
		}
	}

	// Add the next level where there is room for it.
	for level := 1; level < len(forms{}.texts); level++ {
		for _, f := range inOrder {
			more := len(f.texts[level]) - len(f.texts[max(0, all[f.index].level)])
			if all[f.index].level == level-1 && size+more <= maxData {
				size += more
				all[f.index].level = level
			}
		}
	}

	// Keep the order of the report.
	out = []json.RawMessage{}
	for _, f := range all {
		if f.level >= 0 {
			out = append(out, f.texts[f.level])
		}
	}
	return out, left, nil
}

func dangersOf(o Object) (n int) {
	for _, v := range o.Variants {
		n += len(v.Dangers)
	}
	return n
}

// pageForm returns an object as a page has it: without fields on level 0, without manifests on
// level 1.
func pageForm(o Object, level int) pageObject {
	out := pageObject{Object: o, Variants: make([]pageVariant, len(o.Variants))}
	for i, v := range o.Variants {
		p := pageVariant{Variant: v}
		if level < 2 && v.Manifest != "" {
			p.Manifest = ""
			p.Cut = "manifest"
		}
		for _, f := range v.Fields {
			p.Fields = append(p.Fields, pageField{Path: f.Path, Before: value(f.Before), After: value(f.After), Order: f.Order, Immutable: f.Immutable, From: f.From})
		}
		if level == 0 && len(v.Fields) > 0 {
			p.Fields = nil
			p.Cut = "fields"
		}
		p.Manifest = shorten(p.Manifest)
		out.Variants[i] = p
	}
	return out
}

// value returns a value as YAML, or nil if there is none.
func value(v any) *string {
	if v == nil {
		return nil
	}
	if _, null := v.(diff.Null); null {
		v = nil
	}
	text := shorten(strings.TrimSuffix(string(emit.YAML(v)), "\n"))
	return &text
}

// shorten cuts text that is too long to be read.
func shorten(text string) string {
	if len(text) <= maxValue {
		return strings.TrimSuffix(text, "\n")
	}
	return printable.Cut(text, maxValue, fmt.Sprintf("\n… %d bytes more", len(text)-maxValue))
}
