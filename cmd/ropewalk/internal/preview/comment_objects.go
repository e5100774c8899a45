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

// writeImages writes the images that are added and removed. It writes lines and no table, of which
// a phone would cut off the tags.
func (c *comment) writeImages() {
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
	c.writeFolded(printable.Count(len(all), "image"), "image", all, len(all) > 8)
}

// entry is a change of an object in two lengths.
type entry struct {
	// line is one of a list, and block an element that unfolds what is different, "" where
	// there is nothing to unfold.
	line, block string
	// whole is whether there is room for block.
	whole bool
}

// worstFirst returns the kinds of changes in the order for readers.
func worstFirst() []diff.Kind {
	return []diff.Kind{diff.Deleted, diff.Recreated, diff.Changed, diff.Created, diff.Moved, Present}
}

// roomFirst returns those kinds in the order in which they get room for what they unfold: a deleted
// object has the least to show beyond its name.
func roomFirst() []diff.Kind {
	return []diff.Kind{diff.Recreated, diff.Changed, diff.Created, diff.Moved, diff.Deleted, Present}
}

// writeObjects writes lists of the objects by kinds of changes. Every line has room before any of
// them unfolds.
func (c *comment) writeObjects() {
	// Group the objects, and reserve room for their lines.
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

	// Unfold objects while there is room.
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

	// Write the groups, and what there was no room for.
	left := 0
	c.write("\n### " + printable.Count(len(c.Objects), "object") + "\n")
	for _, kind := range worstFirst() {
		left += c.writeGroup(kind, groups[kind])
	}
	c.writeMissing(left, "row")
	c.writeMissing(short, "difference")
}

// writeGroup writes the list of one kind of changes. The result left is how many have no room.
func (c *comment) writeGroup(kind diff.Kind, of []*entry) (left int) {
	if len(of) == 0 {
		return 0
	}

	// A long list is folded.
	title := strings.ToUpper(string(kind[:1])) + string(kind[1:]) + " (" + strconv.Itoa(len(of)) + ")"
	head := "\n**" + title + "**\n\n"
	tail := ""
	if len(of) > 25 {
		head = "\n<details><summary><b>" + title + "</b></summary>\n\n"
		tail = "\n</details>\n"
	}
	if !c.write(head) {
		return len(of)
	}

	// A block needs an empty line after a list.
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

// entry returns what happens to an object in some environments.
func (c *comment) entry(v Variant) entry {
	in := c.in(v.Environments)
	wave := ""
	at := ""
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

// content returns the manifest of an object that is created or deleted, cut to a length that suits
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
