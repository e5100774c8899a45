// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"strings"
)

// markdownLimit is how long a report may be, in bytes: a comment on GitHub holds
// 65,536 characters.
const markdownLimit = 60_000

// Markdown is the report for a comment on a change request: a table of what
// happens, the dangers in full, and the fields of each object to unfold. Where
// it would be too long, details are left out and counted.
func (r Report) Markdown() string {
	var b strings.Builder
	b.WriteString("### Rendered manifests\n\n" + code(r.Before) + " → " + code(r.After) + "\n\n")
	if r.Empty() {
		b.WriteString("No difference in " + plural(r.Unchanged, "object") + ".\n")
		return b.String()
	}
	b.WriteString(r.counts())
	r.warnings(&b)
	b.WriteString("\n| | Object | What | Where |\n|---|---|---|---|\n")
	left := r.rows(&b)
	details := 0
	for _, c := range r.Changes[:len(r.Changes)-left] {
		text := c.details()
		if text != "" && b.Len()+len(text) > markdownLimit {
			details++
			continue
		}
		b.WriteString(text)
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n%s not shown: the report would be too long for a comment.\n", plural(left, "object"))
	}
	if details > 0 {
		fmt.Fprintf(&b, "\nThe fields of %s are not shown: the report would be too long for a comment.\n", plural(details, "object"))
	}
	return b.String()
}

func (r Report) counts() string {
	var parts []string
	for _, k := range []Kind{Created, Changed, Recreated, Moved, Deleted} {
		if n := r.Count(k); n > 0 {
			parts = append(parts, fmt.Sprintf("**%d** %s", n, k))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("%d unchanged", r.Unchanged)), ", ") + "\n"
}

// warnings are all dangers, which nothing may fold away.
func (r Report) warnings(b *strings.Builder) {
	if r.Dangers() == 0 {
		return
	}
	b.WriteString("\n> [!WARNING]\n")
	for _, c := range r.Changes {
		for _, d := range c.Dangers {
			fmt.Fprintf(b, "> - %s: %s\n", code(c.Ref.String()), inText(d.Message))
		}
	}
}

// rows are the rows of the table, and how many there is no room for.
func (r Report) rows(b *strings.Builder) (left int) {
	for i, c := range r.Changes {
		what := append([]string{string(c.Kind)}, c.movement()...)
		if c.Kind == Moved {
			what = c.movement()
		}
		row := fmt.Sprintf("| %s | %s | %s | %s |\n", code(c.Kind.sign()), cell(code(c.Ref.String())), cell(strings.ReplaceAll(inText(strings.Join(what, ", ")), "-&gt;", "→")), cell(at(c.At)))
		if b.Len()+len(row) > markdownLimit {
			return len(r.Changes) - i
		}
		b.WriteString(row)
	}
	return 0
}

func at(pos string) string {
	if pos == "" {
		return ""
	}
	return code(pos)
}

// details are the fields of a change, folded.
func (c Change) details() string {
	if len(c.Fields) == 0 {
		return ""
	}
	var b strings.Builder
	for _, f := range c.Fields {
		note := ""
		if f.Immutable {
			note = "  # cannot be changed"
		}
		if f.From != "" {
			note += "  # " + f.From
		}
		if f.Before != nil {
			b.WriteString("- " + f.Path + ": " + Show(f.Before, 4*valueWidth) + "\n")
		}
		if f.After != nil {
			b.WriteString("+ " + f.Path + ": " + Show(f.After, 4*valueWidth) + note + "\n")
		}
	}
	fence := "```"
	for strings.Contains(b.String(), fence) {
		fence += "`"
	}
	return "\n<details><summary><code>" + html(c.Ref.String()) + "</code></summary>\n\n" + fence + "diff\n" + b.String() + fence + "\n\n</details>\n"
}

// code is text as a code span, whatever is in it.
func code(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// cell keeps text inside its cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// inText keeps text from being taken for markup, links and mentions.
func inText(text string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "@", "&#64;", "\n", " ").Replace(text)
}

func html(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
