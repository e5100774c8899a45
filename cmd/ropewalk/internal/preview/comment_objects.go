// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/internal/markdown"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/diff"
)

// images are those that come and go: lines and no table, of which a phone would cut off
// the tags.
func (c *comment) images() {
	versions := func(of []string) string {
		return strings.Join(lines(of, func(v string) string { return markdown.Code(cut(v)) }), ", ")
	}
	all := lines(c.Images, func(i Image) string {
		moved := versions(i.Before) + " → " + versions(i.After)
		switch {
		case len(i.Before) == 0:
			moved = versions(i.After) + " is new"
		case len(i.After) == 0:
			moved = versions(i.Before) + " is gone"
		case i.Major:
			moved += ", **another major version**"
		}
		return "- " + markdown.Code(cut(i.Name)) + markdown.Text(c.in(i.Environments)) + ": " + moved + "\n"
	})
	c.folded(printable.Count(len(all), "image"), "image", all, len(all) > 8)
}

// entry is a change of an object in two lengths.
type entry struct {
	// line is one of a list, and block an element that unfolds what is different, "" where
	// there is nothing to unfold.
	line, block string
	// whole is whether there is room for block.
	whole bool
}

// worstFirst are the kinds of changes as a reader wants them.
func worstFirst() []diff.Kind {
	return []diff.Kind{diff.Deleted, diff.Recreated, diff.Changed, diff.Created, diff.Moved, Present}
}

// roomFirst are those kinds as they get room for what they unfold: what is deleted says the
// least beyond its name.
func roomFirst() []diff.Kind {
	return []diff.Kind{diff.Recreated, diff.Changed, diff.Created, diff.Moved, diff.Deleted, Present}
}

// objects are lists of them by what happens to them. Every line has room before any of
// them unfolds.
func (c *comment) objects() {
	groups := map[diff.Kind][]*entry{}
	room := c.left - reserve - c.b.Len() - 200*len(worstFirst()) // for headings
	for _, o := range c.Objects {
		for _, v := range o.Variants {
			e := c.entry(v)
			groups[v.Kind] = append(groups[v.Kind], &e)
			room -= len(e.line)
		}
	}
	if len(groups) == 0 {
		return
	}
	short := 0
	for _, kind := range roomFirst() {
		for _, e := range groups[kind] {
			e.whole = e.block != "" && len(e.block) <= room
			switch {
			case e.whole:
				room -= len(e.block) // and the line is not written, which leaves room for what is around
			case e.block != "":
				short++
			}
		}
	}
	left := 0
	c.write("\n### " + printable.Count(len(c.Objects), "object") + "\n")
	for _, kind := range worstFirst() {
		left += c.group(kind, groups[kind])
	}
	c.missing(left, "row")
	c.missing(short, "difference")
}

// group is a list of what is changed alike; left is how many have no room.
func (c *comment) group(kind diff.Kind, of []*entry) (left int) {
	if len(of) == 0 {
		return 0
	}
	title := strings.ToUpper(string(kind[:1])) + string(kind[1:]) + " (" + strconv.Itoa(len(of)) + ")"
	head, tail := "\n**"+title+"**\n\n", ""
	if len(of) > 25 {
		head, tail = "\n<details><summary><b>"+title+"</b></summary>\n\n", "\n</details>\n"
	}
	if !c.write(head) {
		return len(of)
	}
	listed := false
	for i, e := range of {
		text := e.line
		switch {
		case e.whole && listed:
			text = "\n" + e.block + "\n"
		case e.whole:
			text = e.block + "\n"
		}
		listed = !e.whole
		if !c.write(text) {
			left = len(of) - i
			break
		}
	}
	c.b.WriteString(tail)
	return left
}

// entry is what happens to an object in some environments.
func (c *comment) entry(v Variant) entry {
	in, wave, at := c.in(v.Environments), "", ""
	if v.Wave != nil {
		wave = ", wave " + v.Wave.Before + " → " + v.Wave.After
	}
	switch {
	case v.Kind == diff.Deleted && v.At != "": // The head has no such line.
		at = markdown.Code(cut(v.At))
	case v.At != "":
		at = c.at(v.Pos, v.At)
	}
	out := entry{line: "- " + markdown.Code(cut(v.Title())) + markdown.Text(in+wave)}
	if at != "" {
		out.line += " (" + at + ")"
		at = "From " + at + "\n\n"
	}
	out.line += "\n"
	content := v.Markdown()
	if content == "" {
		content = v.content()
	}
	if content != "" {
		if n := len(v.Dangers); n > 0 {
			wave += ", " + printable.Count(n, "danger")
		}
		out.block = "<details><summary><code>" + markdown.HTML(cut(v.Title())) + "</code>" + markdown.HTML(in+wave) + "</summary>\n\n" + at + content + "\n</details>\n"
	}
	return out
}

// content is the manifest of an object that comes or goes, as much of it as one reads in
// a comment.
func (v Variant) content() string {
	sign := map[diff.Kind]string{diff.Created: "+ ", diff.Deleted: "- "}[v.Kind]
	if v.Manifest == "" || sign == "" {
		return ""
	}
	const most = 80
	var b strings.Builder
	all := strings.Split(strings.TrimSuffix(v.Manifest, "\n"), "\n")
	for _, line := range all[:min(len(all), most)] {
		b.WriteString(sign + cut(printable.Line(line)) + "\n")
	}
	if more := len(all) - most; more > 0 {
		b.WriteString("# " + printable.Count(more, "more line") + "\n")
	}
	return markdown.Fenced("diff", b.String())
}
