// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/internal/markdown"
	"github.com/ropewalk/ropewalk/internal/printable"
)

// markdownLimit limits a report, in bytes: a comment on GitHub holds 65,536 characters.
const markdownLimit = 60_000

// warningsLimit is the part of it that warnings take at most, so that changes are seen as well.
const warningsLimit = markdownLimit / 2

// Markdown returns the report for a comment on a change request: a table of what happens, the
// dangers in full, and the fields of each object to unfold. If it would be too long, details are
// left out and counted.
func (r Report) Markdown() string {
	// The dangers and the table come before the details, so that they are cut last.
	var b strings.Builder
	b.WriteString("### Rendered manifests\n\n" + code(r.Before) + " → " + code(r.After) + "\n\n")
	if r.Empty() {
		b.WriteString("No difference in " + printable.Count(r.Unchanged, "object") + ".\n")
		return b.String()
	}
	r.writeLead(&b)
	b.WriteString(r.counts())
	r.writeWarnings(&b)
	omitted := r.writeRows(&b)

	// Details follow as long as the comment has room.
	details := 0
	for _, c := range r.Changes[:len(r.Changes)-omitted] {
		fields := c.Markdown()
		if fields == "" {
			continue
		}
		text := "\n<details><summary><code>" + markdown.HTML(shown(c.Ref.String())) + "</code></summary>\n\n" + fields + "\n</details>\n"
		if b.Len()+len(text) > markdownLimit {
			details++
			continue
		}
		b.WriteString(text)
	}

	// What is left out is counted.
	if omitted > 0 {
		fmt.Fprintf(&b, "\n%s not shown: the report would be too long for a comment.\n", printable.Count(omitted, "object"))
	}
	if details > 0 {
		fmt.Fprintf(&b, "\nThe fields of %s are not shown: the report would be too long for a comment.\n", printable.Count(details, "object"))
	}
	return b.String()
}

// writeLead writes why the snapshots are not compared in full.
func (r Report) writeLead(b *strings.Builder) {
	if d := r.Dialects; d != nil {
		fmt.Fprintf(b, "> [!NOTE]\n> The dialects differ (%s → %s): %s.\n\n", code(d.Before), code(d.After), differentDialects)
	}
	var lines []string
	for _, f := range r.Findings {
		lines = append(lines, code(f.Ref.String())+": "+text(f.Message()))
	}
	writeCallout(b, "CAUTION", "finding", lines)
	if len(lines) > 0 {
		b.WriteString("\n")
	}
}

// writeCallout writes lines that nothing folds away. If they are too many for a comment, the rest
// is counted.
func writeCallout(b *strings.Builder, kind, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString("> [!" + kind + "]\n")
	for i, line := range lines {
		if b.Len()+len(line) > warningsLimit {
			fmt.Fprintf(b, "> - and %s more\n", printable.Count(len(lines)-i, title))
			return
		}
		b.WriteString("> - " + line + "\n")
	}
}

// counts returns how many objects have each kind of change.
func (r Report) counts() string {
	var parts []string
	for _, k := range []Kind{Created, Changed, Recreated, Moved, Deleted} {
		if n := r.Count(k); n > 0 {
			parts = append(parts, fmt.Sprintf("**%d** %s", n, k))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("%d unchanged", r.Unchanged)), ", ") + "\n"
}

// writeWarnings writes the dangers.
func (r Report) writeWarnings(b *strings.Builder) {
	var lines []string
	for _, c := range r.Changes {
		for _, d := range c.Dangers {
			lines = append(lines, code(c.Ref.String())+": "+text(d.Message))
		}
	}
	if len(lines) > 0 {
		b.WriteString("\n")
	}
	writeCallout(b, "WARNING", "danger", lines)
}

// writeRows writes the table, and returns how many rows do not fit.
func (r Report) writeRows(b *strings.Builder) (omitted int) {
	if len(r.Changes) == 0 {
		return 0
	}
	b.WriteString("\n| | Object | What | Where |\n|---|---|---|---|\n")
	for i, c := range r.Changes {
		what := append([]string{string(c.Kind)}, c.movement()...)
		if c.Kind == Moved {
			what = c.movement()
		}
		moved := strings.ReplaceAll(markdown.Text(strings.Join(what, ", ")), "-&gt;", "→")
		row := fmt.Sprintf("| %s | %s | %s | %s |\n",
			code(c.Kind.sign()), markdown.Cell(shown(c.Ref.String())), moved, markdown.Cell(shown(c.At)))
		if b.Len()+len(row) > markdownLimit {
			return len(r.Changes) - i
		}
		b.WriteString(row)
	}
	return 0
}

// Markdown returns the fields of a change as a block of code, or "" for a change without fields.
func (c Change) Markdown() string {
	if len(c.Fields) == 0 {
		return ""
	}
	var b strings.Builder
	for _, f := range c.Fields {
		note := ""
		if f.Immutable {
			note = "  # immutable"
		}
		if f.From != "" {
			note += "  # " + shown(f.From)
		}

		// A text of several lines is shown by its changed lines.
		if text, ok := textLines(f.Before, f.After); ok {
			b.WriteString("# " + f.name() + ":" + note + "\n" + text)
			continue
		}
		before, after := showBoth(f.Before, f.After, 4*valueWidth)
		if f.Before != nil {
			b.WriteString("- " + f.name() + ": " + before + "\n")
		}
		if f.After != nil {
			b.WriteString("+ " + f.name() + ": " + after + note + "\n")
		}
	}
	return markdown.Fenced("diff", b.String())
}

// textLines returns a text of several lines, such as a file of a ConfigMap, as lines that go and
// come between those that stay. It returns false if the values are no such text, or too long.
func textLines(before, after any) (string, bool) {
	const most, near = 60, 2
	old, was := before.(string)
	now, is := after.(string)
	hasLines := strings.Contains(old, "\n") || strings.Contains(now, "\n")
	if !was || !is || !hasLines {
		return "", false
	}

	// What both texts begin and end with is left out, but for some lines around the change.
	a, b := strings.Split(strings.TrimSuffix(old, "\n"), "\n"), strings.Split(strings.TrimSuffix(now, "\n"), "\n")
	start, same := 0, 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	for same < min(len(a), len(b))-start && a[len(a)-1-same] == b[len(b)-1-same] {
		same++
	}
	gone, come := a[start:len(a)-same], b[start:len(b)-same]
	if n := len(gone) + len(come); n == 0 || n > most {
		return "", false
	}

	var out strings.Builder
	for _, part := range []struct {
		sign  string
		lines []string
	}{{"  ", a[max(0, start-near):start]}, {"- ", gone}, {"+ ", come}, {"  ", a[len(a)-same:][:min(near, same)]}} {
		for _, line := range part.lines {
			out.WriteString(strings.TrimRight(part.sign+printable.Cut(printable.Line(line), 4*valueWidth, "…"), " ") + "\n")
		}
	}
	return out.String(), true
}

func code(name string) string { return markdown.Code(shown(name)) }

func text(sentence string) string { return markdown.Text(shown(sentence)) }
