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

// warningsLimit is how much of it warnings may take, so that something of what
// they are about is seen as well.
const warningsLimit = markdownLimit / 2

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
	r.lead(&b)
	b.WriteString(r.counts())
	r.warnings(&b)
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

// lead is why the snapshots are not compared in full.
func (r Report) lead(b *strings.Builder) {
	if d := r.Dialects; d != nil {
		fmt.Fprintf(b, "> [!NOTE]\n> The dialects differ (%s → %s): %s.\n\n", code(d.Before), code(d.After), differentDialects)
	}
	var lines []string
	for _, f := range r.Findings {
		lines = append(lines, code(f.Ref.String())+": "+inText(shown(f.Message())))
	}
	callout(b, "CAUTION", "finding", lines)
	if len(lines) > 0 {
		b.WriteString("\n")
	}
}

// callout is lines that nothing folds away. Where they are too many for
// a comment, the rest is counted.
func callout(b *strings.Builder, kind, what string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString("> [!" + kind + "]\n")
	for i, line := range lines {
		if b.Len()+len(line) > warningsLimit {
			fmt.Fprintf(b, "> - and %s more\n", plural(len(lines)-i, what))
			return
		}
		b.WriteString("> - " + line + "\n")
	}
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

// warnings are the dangers.
func (r Report) warnings(b *strings.Builder) {
	var lines []string
	for _, c := range r.Changes {
		for _, d := range c.Dangers {
			lines = append(lines, code(c.Ref.String())+": "+inText(shown(d.Message)))
		}
	}
	if len(lines) > 0 {
		b.WriteString("\n")
	}
	callout(b, "WARNING", "danger", lines)
}

// rows are the table, and how many of them do not fit.
func (r Report) rows(b *strings.Builder) (left int) {
	if len(r.Changes) == 0 {
		return 0
	}
	b.WriteString("\n| | Object | What | Where |\n|---|---|---|---|\n")
	for i, c := range r.Changes {
		what := append([]string{string(c.Kind)}, c.movement()...)
		if c.Kind == Moved {
			what = c.movement()
		}
		text := strings.ReplaceAll(inText(strings.Join(what, ", ")), "-&gt;", "→")
		row := fmt.Sprintf("| %s | %s | %s | %s |\n", code(c.Kind.sign()), cell(c.Ref.String()), text, cell(c.At))
		if b.Len()+len(row) > markdownLimit {
			return len(r.Changes) - i
		}
		b.WriteString(row)
	}
	return 0
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
			note = "  # immutable"
		}
		if f.From != "" {
			note += "  # " + shown(f.From)
		}
		before, after := showBoth(f.Before, f.After, 4*valueWidth)
		if f.Before != nil {
			b.WriteString("- " + f.name() + ": " + before + "\n")
		}
		if f.After != nil {
			b.WriteString("+ " + f.name() + ": " + after + note + "\n")
		}
	}
	fence := "```"
	for strings.Contains(b.String(), fence) {
		fence += "`"
	}
	return "\n<details><summary><code>" + html(shown(c.Ref.String())) + "</code></summary>\n\n" + fence + "diff\n" + b.String() + fence + "\n\n</details>\n"
}

// code is text as a code span, whatever is in it.
func code(text string) string {
	text = shown(text)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// cell is text as code in a cell of a table. A bar ends the cell even in a code
// span, and a backslash before it may be escaped itself: where there is one, the
// text is HTML with nothing left in it that means anything.
func cell(text string) string {
	switch {
	case text == "":
		return ""
	case strings.Contains(text, "|"):
		return "<code>" + inText(shown(text)) + "</code>"
	}
	return code(text)
}

// inText keeps text from being taken for markup, links and mentions. A server
// finds mentions and links in the text that is left after the markup, where an
// escape is gone; a space of no width stays.
func inText(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;",
		"\\", "\\\\", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]", "~", "\\~", "$", "\\$",
		"@", "@&#8203;", "#", "#&#8203;", "://", ":&#8203;//", "www.", "www&#8203;.").Replace(text)
}

func html(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
