// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
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

// markdownLimit is how long the text of a change request may be, in bytes: GitHub takes 65,536
// characters.
const markdownLimit = 60_000

// markdown returns the text for a change request. Environments with the same changes are shown
// together.
func (u Upgrades) markdown() string {
	var b strings.Builder
	b.WriteString("## Upgrades\n\n" + fenced(u.list()))
	var names, bodies []string
	for _, e := range u.Environments {
		body := ""
		if len(e.Errors) > 0 {
			body = "Does not render:\n\n" + fenced(strings.Join(e.Errors, "\n")+"\n")
		}
		if e.Diff != nil {
			body = e.Diff.Markdown()
		}
		if n := len(bodies); n > 0 && bodies[n-1] == body {
			names[n-1] += ", " + e.Name
			continue
		}
		names = append(names, e.Name)
		bodies = append(bodies, body)
	}
	for i, body := range bodies {
		if names[i] != "" {
			b.WriteString("\n## Environment " + printable.Line(names[i]) + "\n")
		}
		if b.Len()+len(body) > markdownLimit {
			body = "Not shown: the text would be too long. \"ropewalk upgrade\" prints all of it.\n"
		}
		b.WriteString("\n" + body)
	}
	return b.String()
}

// fenced returns text as a block of code, whatever it holds.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "text\n" + text + fence + "\n"
}
