// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// Style paints parts of a text for a terminal; the zero value paints nothing.
type Style struct {
	Bold, Dim, Added, Removed, Warn func(string) string
}

func (s Style) withDefaults() Style {
	plain := func(text string) string { return text }
	for _, f := range []*func(string) string{&s.Bold, &s.Dim, &s.Added, &s.Removed, &s.Warn} {
		if *f == nil {
			*f = plain
		}
	}
	return s
}

// valueWidth limits a value on a line, in bytes.
const valueWidth = 100

// sign returns the character that a kind of change begins with.
func (k Kind) sign() string {
	switch k {
	case Created:
		return "+"
	case Deleted:
		return "-"
	case Recreated:
		return "!"
	case Moved:
		return ">"
	default:
		return "~"
	}
}

// Text returns the report for a terminal: why the snapshots are not compared in full, a line for
// each object, a line for each field, the dangers beneath, and a summary. Nothing in it steers
// the terminal but style.
func (r Report) Text(style Style) string {
	s := style.withDefaults()
	var b strings.Builder
	if r.Dialects != nil {
		fmt.Fprintf(&b, "%s %s -> %s: %s\n", s.Warn("dialects differ:"), shown(r.Dialects.Before), shown(r.Dialects.After), differentDialects)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s: %s\n", s.Warn("finding:"), shown(f.Ref.String()), shown(f.Message()))
	}
	if r.Dialects != nil || len(r.Findings) > 0 {
		b.WriteString("\n")
	}
	for _, c := range r.Changes {
		c.writeText(&b, s)
	}
	if len(r.Changes) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(s.Bold(r.Summary()) + "\n")
	return b.String()
}

// writeText writes a change for a terminal.
func (c Change) writeText(b *strings.Builder, s Style) {
	// The color shows the kind of change.
	paint := s.Bold
	switch c.Kind {
	case Created:
		paint = s.Added
	case Deleted:
		paint = s.Removed
	case Recreated:
		paint = s.Warn
	default:
	}

	// The first line says what changes, and where it comes from.
	head := paint(c.Kind.sign() + " " + shown(c.Ref.String()))
	var notes []string
	if c.Kind != Changed {
		notes = append(notes, string(c.Kind))
	}
	notes = append(notes, c.movement()...)
	if len(notes) > 0 {
		head += "  " + strings.Join(notes, ", ")
	}
	if c.At != "" {
		head += "  " + s.Dim(shown(c.At))
	}
	b.WriteString(head + "\n")

	// The fields and the dangers follow, indented.
	for _, f := range c.Fields {
		for _, line := range f.lines(s) {
			b.WriteString("    " + line + "\n")
		}
	}
	for _, d := range c.Dangers {
		b.WriteString("    " + s.Warn("danger:") + " " + shown(d.Message) + "\n")
	}
}

// movement returns where the object moves.
func (c Change) movement() (out []string) {
	if c.Wave != nil {
		out = append(out, "wave "+c.Wave.Before+" -> "+c.Wave.After)
	}
	if c.Layer != nil {
		out = append(out, "layer "+shown(c.Layer.Before)+" -> "+shown(c.Layer.After))
	}
	return out
}

// lines returns a field on one line, or on three if its values are long.
func (f Field) lines(s Style) []string {
	origin := ""
	if f.From != "" {
		origin = "  " + s.Dim("("+shown(f.From)+")")
	}
	before, after := showBoth(f.Before, f.After, valueWidth)
	name := f.name()
	switch {
	case f.Before == nil:
		return []string{s.Added("+ "+name+": "+after) + origin}
	case f.After == nil:
		return []string{s.Removed("- "+name+": "+before) + origin}
	case len(name)+len(before)+len(after) <= valueWidth:
		return []string{"~ " + name + ": " + s.Removed(before) + " -> " + s.Added(after) + origin}
	}
	return []string{"~ " + name + ":" + origin, "    " + s.Removed("- "+before), "    " + s.Added("+ "+after)}
}

// name returns what a line calls the field.
func (f Field) name() string {
	if f.Order {
		return "order of " + shown(f.Path) + " changed"
	}
	return shown(f.Path)
}

// Summary returns one line with the numbers.
func (r Report) Summary() string {
	before, after := shown(r.Before), shown(r.After)
	if r.Empty() {
		return fmt.Sprintf("no difference between %s and %s in %s", before, after, printable.Count(r.Unchanged, "object"))
	}
	var parts []string
	if r.Dialects != nil {
		parts = append(parts, "another dialect")
	}
	for _, k := range []Kind{Created, Changed, Recreated, Moved, Deleted} {
		if n := r.Count(k); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k))
		}
	}
	if len(r.Changes) == 0 {
		parts = append(parts, "0 changed")
	}
	out := fmt.Sprintf("%s -> %s: %s, %d unchanged", before, after, strings.Join(parts, ", "), r.Unchanged)
	if n := r.Dangers(); n > 0 {
		out += "; " + printable.Count(n, "danger")
	}
	if n := len(r.Findings); n > 0 {
		out += "; " + printable.Count(n, "finding")
	}
	return out
}
