// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package datasheet

import (
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/draw"
	"github.com/ropewalk/ropewalk/internal/markdown"
	"github.com/ropewalk/ropewalk/internal/printable"
)

// Text returns the sheet for a terminal.
func (s *Sheet) Text() string {
	// Inputs come first: they are what a user writes.
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", command.OneLine(s.Module), s.What)
	if len(s.Inputs) > 0 {
		b.WriteString("\nINPUTS\n")
	}
	for _, in := range s.Inputs {
		fmt.Fprintf(&b, "  %s  %s\n%s", command.OneLine(in.Path), command.OneLine(in.sentence()), lines(in.Doc, "      "))
	}

	// A module of provisioners has resources in their place.
	for i, r := range s.Resources {
		if i == 0 {
			b.WriteString("\nRESOURCES, in the order of matching; a * after an output says that it is a secret\n")
		}
		fmt.Fprintf(&b, "  %s  %s\n", command.OneLine(r.Title()), command.OneLine(r.Description))
		for _, p := range r.Params {
			fmt.Fprintf(&b, "      param %s: %s\n", command.OneLine(p.Path), command.OneLine(p.sentence()))
		}
		if names := r.Names(); len(names) > 0 {
			fmt.Fprintf(&b, "      outputs: %s\n", command.OneLine(strings.Join(names, ", ")))
		}
	}

	// What it makes comes last, since notes may say why it is missing.
	for _, note := range s.Notes {
		fmt.Fprintf(&b, "\n%s\n", command.OneLine(note))
	}
	if s.Made != nil {
		fmt.Fprintf(&b, "\nMAKES, of %s\n", command.OneLine(s.Made.Of))
		rows := [][]string{}
		for i, wave := range s.Made.Waves {
			for _, n := range wave {
				rows = append(rows, []string{fmt.Sprintf("  wave %d", i), string(n.ID), n.Object})
			}
		}
		b.WriteString(command.Table(rows))
	}
	return b.String()
}

// lines returns the lines of a text, each after a prefix.
func lines(text, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(prefix+command.OneLine(line), " ") + "\n")
	}
	return b.String()
}

// Markdown returns the sheet for a page of documentation.
func (s *Sheet) Markdown() string {
	// Inputs and resources are tables.
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s.\n", markdown.Text(s.Module), markdown.Text(sentenceCase(s.What)))
	table(&b, "Inputs", []string{"Input", "Type", "Default", "Description"}, len(s.Inputs), func(i int) []string {
		in := s.Inputs[i]
		fallback := markdown.Cell(in.Default)
		if demand := in.Demand(); demand != "" {
			fallback = "**" + markdown.Text(demand) + "**"
		}
		return []string{markdown.Cell(in.Path), markdown.Text(in.Type), fallback, markdown.Text(printable.OneLine(in.Doc))}
	})
	table(&b, "Resources", []string{"Type", "Description", "Params", "Outputs (* is a secret)"}, len(s.Resources), func(i int) []string {
		r := s.Resources[i]
		var params, outputs []string
		for _, p := range r.Params {
			params = append(params, markdown.Cell(p.Path)+" "+markdown.Text(p.sentence()))
		}
		for _, name := range r.Names() {
			outputs = append(outputs, markdown.Cell(name))
		}
		return []string{markdown.Cell(r.Title()), markdown.Text(printable.OneLine(r.Description)), strings.Join(params, "<br>"), strings.Join(outputs, " ")}
	})

	// What it makes comes last, with its graph.
	for _, note := range s.Notes {
		fmt.Fprintf(&b, "\n%s\n", markdown.Text(note))
	}
	if s.Made != nil {
		var rows [][]string
		for i, wave := range s.Made.Waves {
			for _, n := range wave {
				rows = append(rows, []string{fmt.Sprint(i), markdown.Cell(string(n.ID)), markdown.Cell(n.Object)})
			}
		}
		table(&b, "What it makes of "+markdown.Text(s.Made.Of), []string{"Wave", "Node", "Object"}, len(rows), func(i int) []string { return rows[i] })
		b.WriteString("\n" + markdown.Fenced("mermaid", string(draw.Picture{Plan: s.Made.plan}.Mermaid())))
	}
	return b.String()
}

// table writes a section with a table, unless it has no rows. Cells are Markdown.
func table(b *strings.Builder, title string, head []string, rows int, cells func(i int) []string) {
	if rows == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| %s |\n|%s\n", title, strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for i := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells(i), " | "))
	}
}

func sentenceCase(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
