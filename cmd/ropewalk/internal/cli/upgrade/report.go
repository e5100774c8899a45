// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/markdown"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/diff"
)

// print prints the upgrades, in the format that the user asked for.
func (u *upgrading) print() error {
	switch u.flags.format.Value {
	case "json":
		return u.Outcome("json", u.out, "")
	case "markdown":
		return u.Write([]byte(u.out.markdown()))
	}
	p := command.Paint{On: u.OutColor}
	return u.Write([]byte(u.out.text(diff.Style{Bold: p.Bold, Dim: p.Dim, Added: p.Good, Removed: p.Bad, Warn: p.Warn})))
}

func (u Upgrades) text(style diff.Style) string {
	var b strings.Builder
	b.WriteString(u.list())
	for _, e := range u.Environments {
		b.WriteString("\n" + e.title() + "\n")
		for _, line := range e.Errors {
			b.WriteString("  does not render: " + printable.Line(line) + "\n")
		}
		if e.Diff != nil {
			b.WriteString(e.Diff.Text(style))
		}
	}
	for _, name := range u.Written {
		b.WriteString("written: " + printable.Line(name) + "\n")
	}
	return b.String()
}

// list returns the table of the upgrades, with what changed for users of each.
func (u Upgrades) list() string {
	// A row for each upgrade, and the changes below the table.
	rows := [][]string{{"REFERENCE", "FROM", "TO", "VERDICT", "AT"}}
	var notes strings.Builder
	for _, up := range u.Upgrades {
		to := cmp.Or(up.To, "-")
		if up.Beyond != "" {
			to += " (" + up.Beyond + " is there)"
		}
		rows = append(rows, []string{up.Ref, up.From, to, cmp.Or(up.Verdict, "-"), strings.Join(up.At, " ")})
		if up.NotCompared != "" {
			notes.WriteString(printable.Line("not compared: "+up.Ref+": "+up.NotCompared) + "\n")
		}
		if up.Comparison == nil {
			continue
		}
		for _, c := range up.Comparison.Changes {
			notes.WriteString(printable.Line(fmt.Sprintf("%s: %s: %s: %s", up.Ref, c.Level, cmp.Or(c.Input, c.Object, "(all)"), c.Text)) + "\n")
		}
	}

	// Write the table, and what is not upgraded.
	var b strings.Builder
	if len(u.Upgrades)+len(u.Pinned)+u.Current == 0 {
		return "no reference leads to a server\n"
	}
	if len(u.Upgrades) > 0 {
		b.WriteString(command.Table(rows))
	}
	b.WriteString(notes.String())
	fmt.Fprintf(&b, "%s up to date", printable.Count(u.Current, "reference"))
	if n := len(u.Pinned); n > 0 {
		fmt.Fprintf(&b, ", %d pinned without a version: %s", n, printable.Line(strings.Join(u.Pinned, " ")))
	}
	return b.String() + "\n"
}

func (e environment) title() string {
	if e.Name == "" {
		return "manifests:"
	}
	return "environment " + printable.Line(e.Name) + ":"
}

// markdownLimit limits the text of a change request, in bytes: GitHub takes 65,536 characters.
const markdownLimit = 60_000

// markdown returns the text for a change request. Environments with the same changes are shown
// together. The list takes at most half of the text, and environments that do not fit are counted.
func (u Upgrades) markdown() string {
	var b strings.Builder
	b.WriteString("## Upgrades\n\n" + markdown.Fenced("text", cut(u.list(), markdownLimit/2)))

	// Gather the environments by their changes.
	var names, bodies []string
	for _, e := range u.Environments {
		body := e.markdown()
		if i := slices.Index(bodies, body); i >= 0 {
			names[i] += ", " + e.Name
			continue
		}
		names = append(names, e.Name)
		bodies = append(bodies, body)
	}

	// Write the groups that fit. The note about the others fits into the last bytes of the limit.
	const noteSize = 200
	hidden := 0
	for i, body := range bodies {
		heading := ""
		if names[i] != "" {
			heading = "\n## Environment " + printable.Line(names[i]) + "\n"
		}
		if b.Len()+len(heading)+1+len(body) > markdownLimit-noteSize {
			hidden += strings.Count(names[i], ", ") + 1
			continue
		}
		b.WriteString(heading + "\n" + body)
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "\nNot shown: %s, because the text would be too long. \"ropewalk upgrade\" prints all of it.\n",
			printable.Count(hidden, "environment"))
	}
	return b.String()
}

// markdown returns the changes of an environment, or the reasons why it does not render.
func (e environment) markdown() string {
	if e.Diff != nil {
		return e.Diff.Markdown()
	}
	if len(e.Errors) > 0 {
		return "Does not render:\n\n" + markdown.Fenced("text", strings.Join(e.Errors, "\n")+"\n")
	}
	return ""
}

// cut returns text without the last lines if it has more than limit bytes, with a note instead.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := strings.LastIndexByte(text[:limit], '\n') + 1
	return text[:end] + fmt.Sprintf("… and %s more\n", printable.Count(strings.Count(text[end:], "\n"), "line"))
}
