// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/internal/markdown"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// Forge is where a comment is written.
type Forge string

// The forges with their limits: https://github.com/orgs/community/discussions/27190 and
// https://docs.gitlab.com/administration/instance_limits/.
const (
	GitHub Forge = "github"
	GitLab Forge = "gitlab"
)

// limit returns how long a comment may be, in bytes, with some room left. A forge counts
// characters, which are fewer.
func (f Forge) limit() int {
	if f == GitLab {
		return 990_000
	}
	return 65_000
}

// Links are where a reader finds more.
type Links struct {
	// Source is the URL of the files of the repository at the head: a path and #L with the
	// number of a line are added to it. "" makes no links.
	Source string
	// Page is the URL of the page, "" where it is not published.
	Page string
}

// line returns the URL of a position in the repository, or "" if there is none.
func (l Links) line(at object.Pos) string {
	if l.Source == "" || !at.IsValid() || !inRepository(at) {
		return ""
	}
	return strings.TrimSuffix(l.Source, "/") + "/" + (&url.URL{Path: at.File}).EscapedPath() + fmt.Sprintf("#L%d", max(1, at.Line))
}

// Selection is what was asked for: folders of projects and names of environments, all
// where there are none.
type Selection struct{ Projects, Environments []string }

// marker returns a comment of HTML that is the same for the same selection.
func (s Selection) marker() string {
	words := func(list []string) string {
		if len(list) == 0 {
			return "all"
		}
		return strings.ReplaceAll(url.QueryEscape(strings.Join(list, ",")), "--", "%2D%2D")
	}
	return "<!-- ropewalk-preview projects=" + words(s.Projects) + " environments=" + words(s.Environments) + " -->\n"
}

// Comment returns the report for a comment on a change request. Its first line is a marker for the
// selection, by which a later run finds the comment and replaces it. Long parts are folded. What
// the forge has no room for is counted.
func (r Report) Comment(forge Forge, selected Selection, links Links) string {
	c := comment{Report: r, links: links, left: forge.limit()}
	c.write(selected.marker())
	c.write("## Preview of " + markdown.Text(cut(r.title())) + "\n\n")
	c.write(markdown.Text(cut(r.Summary)) + "\n")
	if links.Page != "" {
		c.write("\n[Open the page](<" + strings.NewReplacer("<", "%3C", ">", "%3E").Replace(links.Page) + ">) with the waves, every field and filters.\n")
	}
	c.writeCallout("NOTE", "", "note", lines(r.Notes, func(n string) string { return markdown.Text(cut(n)) }))
	c.writeCallout("CAUTION", "", "error", c.problems())
	c.writeCallout("WARNING", printable.Count(c.Counts.Dangers, "danger"), "danger", c.dangers())
	c.writeFindings()
	c.writeEnvironments()
	c.writeImages()
	c.writeObjects()
	return c.b.String()
}

// touched returns the environments that the change touches.
func (r Report) touched() []Environment {
	return slices.DeleteFunc(slices.Clone(r.Environments), func(e Environment) bool { return e.State == Unaffected })
}

// title returns the projects with their environments: those in which an object differs or a side does
// not render, or else those that the change touches, or all if it touches none.
func (r Report) title() string {
	touched := slices.DeleteFunc(r.touched(), func(e Environment) bool { return e.State == Unchanged })
	if len(touched) == 0 {
		touched = r.touched()
	}
	if len(touched) == 0 {
		touched = r.Environments
	}
	if len(touched) == 0 {
		return "no project"
	}
	projects := map[string]bool{}
	var names []string
	for _, e := range touched {
		projects[e.Path] = true
		if e.Name != "" {
			names = append(names, e.Name)
		}
	}
	switch {
	case len(touched) > mostNames || len(projects) > 1:
		return where(touched, len(r.Environments))
	case len(names) == 0:
		return touched[0].Project
	}
	return touched[0].Project + " (" + strings.Join(names, ", ") + ")"
}

// comment is a comment that grows up to a limit.
type comment struct {
	Report
	links Links
	b     strings.Builder
	left  int
}

// reserve is what is kept for the sentences on what was left out, in bytes.
const reserve = 1000

// write adds text, and reports whether there was room for it.
func (c *comment) write(text string) bool {
	if c.b.Len()+len(text) > c.left-reserve {
		return false
	}
	c.b.WriteString(text)
	return true
}

// writeMissing writes how many rows there was no room for.
func (c *comment) writeMissing(n int, noun string) {
	if n > 0 {
		fmt.Fprintf(&c.b, "\n_%s not shown: the comment would be too long._\n", printable.Count(n, noun))
	}
}

// writeCallout writes lines that nothing folds away, below a title that may be "". It uses a
// quarter of the comment at most.
func (c *comment) writeCallout(kind, title, noun string, all []string) {
	if len(all) == 0 {
		return
	}
	most := c.b.Len() + c.left/4
	c.write("\n> [!" + kind + "]\n")
	if title != "" {
		c.write("> **" + title + "**\n>\n")
	}
	for i, line := range all {
		if c.b.Len()+len(line) > most || !c.write("> - "+line+"\n") {
			c.writeMissing(len(all)-i, noun)
			return
		}
	}
}

// problems returns the errors of the head.
func (c *comment) problems() (out []string) {
	for _, e := range c.Environments {
		for _, f := range e.Findings {
			if f.isProblem() {
				out = append(out, markdown.Text(cut(c.label(e)))+": "+c.finding(f))
			}
		}
	}
	return out
}

// dangers returns a line for each danger, the worst first. A danger of many objects is one line.
func (c *comment) dangers() (out []string) {
	type row struct {
		in      string
		danger  diff.Danger
		objects []string
	}

	// Join the objects that have the same danger in the same environments.
	var rows []row
	for _, o := range c.Objects {
		for _, v := range o.Variants {
			in := c.in(v.Environments)
			for _, d := range v.Dangers {
				at := slices.IndexFunc(rows, func(r row) bool { return r.in == in && r.danger == d })
				if at < 0 {
					at = len(rows)
					rows = append(rows, row{in: in, danger: d})
				}
				rows[at].objects = append(rows[at].objects, markdown.Code(cut(v.Title())))
			}
		}
	}

	// Sort the dangers, the worst first.
	order := dangerOrder()
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Compare(slices.Index(order, a.danger.Code), slices.Index(order, b.danger.Code))
	})

	// Write a line for each, with the first of its objects.
	const most = 12
	for _, r := range rows {
		if more := len(r.objects) - most; more > 0 {
			r.objects = append(r.objects[:most], printable.Count(more, "more object"))
		}
		out = append(out, and(r.objects)+markdown.Text(r.in)+": "+markdown.Text(cut(r.danger.Message)))
	}
	return out
}

// in returns the names of the environments of a change, or "" if these are all that are touched.
func (c *comment) in(environments []int) string {
	if len(environments) == len(c.touched()) {
		return ""
	}
	return " in " + cut(c.names(environments))
}

// writeEnvironments writes a table with a row for each environment that was rendered, and a column
// for each figure that moves in one of them: a phone has room for few.
func (c *comment) writeEnvironments() {
	// Environments that were not rendered have no row.
	var rows []Environment
	for _, e := range c.Environments {
		if e.State != Unaffected {
			rows = append(rows, e)
		}
	}

	// Leave out a figure that is the same everywhere.
	head := "| Environment | Objects |"
	rule := "|---|---|"
	var shown []func(*Outline) string
	for _, figure := range []struct {
		name string
		of   func(*Outline) string
	}{
		{"Waves", func(o *Outline) string { return strconv.Itoa(o.Waves) }},
		{"CPU", func(o *Outline) string { return cores(o.Totals.Requests.CPU) }},
		{"Memory", func(o *Outline) string { return bytesText(o.Totals.Requests.Memory) }},
	} {
		if slices.ContainsFunc(rows, func(e Environment) bool {
			return slices.Contains([]State{Created, Deleted, Alone}, e.State) || strings.Contains(moved(e, figure.of), "→")
		}) {
			head += " " + figure.name + " |"
			rule += "--:|"
			shown = append(shown, figure.of)
		}
	}

	// Write the rows, with the head before the first.
	for i, e := range rows {
		row := "| " + markdown.Cell(cut(c.label(e))) + " | " + e.objects() + " |"
		for _, of := range shown {
			row += " " + moved(e, of) + " |"
		}
		if i == 0 {
			row = "\n" + head + "\n" + rule + "\n" + row
		}
		if !c.write(row + "\n") {
			c.writeMissing(len(rows)-i, noun(c.Environments))
			return
		}
	}

	// Count the environments that were not rendered.
	if n := len(c.Environments) - len(rows); n > 0 {
		c.write(fmt.Sprintf("\nNot affected, and not rendered: %s.\n", printable.Count(n, noun(c.Environments))))
	}
}

// objects returns how many objects are changed in which way, or the state if there is no
// comparison.
func (e Environment) objects() string {
	var parts []string
	if e.State != Changed && e.State != Unchanged {
		parts = append(parts, string(e.State))
	}
	for _, part := range []struct {
		n    int
		what string
	}{
		{e.Counts.Deleted, "deleted"}, {e.Counts.Recreated, "recreated"}, {e.Counts.Changed, "changed"},
		{e.Counts.Created, "created"}, {e.Counts.Moved, "moved"}, {e.Unchanged, "unchanged"}, {e.Counts.Present, "shown"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d&nbsp;%s", part.n, part.what))
		}
	}
	return strings.Join(parts, ", ")
}

// moved returns a figure of both sides of an environment.
func moved(e Environment, of func(*Outline) string) string {
	switch {
	case e.State == Failed:
		return ""
	case e.Before != nil && e.After != nil:
		if before, after := of(e.Before), of(e.After); before != after {
			return solid(before) + " →&nbsp;" + solid(after)
		}
		return solid(of(e.After))
	case e.After != nil:
		return solid(of(e.After))
	case e.Before != nil:
		return solid(of(e.Before))
	}
	return ""
}

// solid keeps a number and what it counts in one line.
func solid(text string) string { return strings.ReplaceAll(text, " ", "&nbsp;") }

// writeFindings writes the results that the base does not have, each with its environments.
func (c *comment) writeFindings() {
	type row struct {
		Finding
		environments []int
	}
	var rows []row
	for i, e := range c.Environments {
		for _, f := range e.Findings {
			if f.State != FindingNew || f.Side != "" {
				continue
			}
			at := slices.IndexFunc(rows, func(r row) bool { return r.Finding == f && !slices.Contains(r.environments, i) })
			if at < 0 {
				at = len(rows)
				rows = append(rows, row{Finding: f})
			}
			rows[at].environments = append(rows[at].environments, i)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.Severity, b.Severity) })
	all := lines(rows, func(r row) string {
		return "- **" + r.Severity.String() + "**" + markdown.Text(c.in(r.environments)) + ": " + c.finding(r.Finding) + "\n"
	})
	c.writeFolded(printable.Count(len(all), "new finding")+" of policies and checks", "finding", all, len(all) > 5)
}

// writeFolded writes a list below a heading, in an element that unfolds if fold is set.
func (c *comment) writeFolded(title, noun string, all []string, fold bool) {
	if len(all) == 0 {
		return
	}
	head := "\n### " + title + "\n\n"
	tail := ""
	if fold {
		head = "\n<details><summary>" + title + "</summary>\n\n"
		tail = "\n</details>\n"
	}
	if !c.write(head) {
		c.writeMissing(len(all), noun)
		return
	}
	left := 0
	for i, line := range all {
		if !c.write(line) {
			left = len(all) - i
			break
		}
	}
	c.b.WriteString(tail)
	c.writeMissing(left, noun)
}

func (c *comment) finding(f Finding) string {
	text := markdown.Text(cut(f.Message))
	if f.Policy != "" {
		text = "policy " + markdown.Code(cut(f.Policy)) + ": " + text
	}
	if f.Node != "" {
		text = markdown.Code(cut(string(f.Node))) + ": " + text
	}
	if f.At != "" {
		text += " (" + c.at(f.Pos, f.At) + ")"
	}
	return text
}

// at returns a position, as a link if there is one.
func (c *comment) at(pos object.Pos, text string) string {
	if to := c.links.line(pos); to != "" {
		return "[" + markdown.Cell(cut(text)) + "](<" + to + ">)"
	}
	return markdown.Cell(cut(text))
}

func lines[T any](all []T, of func(T) string) []string {
	out := make([]string, len(all))
	for i, item := range all {
		out[i] = of(item)
	}
	return out
}

// cut returns text of at most a few hundred bytes: an object may hold megabytes of it.
func cut(text string) string { return printable.Cut(text, 600, "…") }

// cores returns thousandths of a core as people read them.
func cores(milli int64) string { return strconv.FormatFloat(float64(milli)/1000, 'f', -1, 64) }

// bytesText returns a size as people read it.
func bytesText(n int64) string {
	const mi, gi = 1 << 20, 1 << 30
	if n >= gi {
		return strconv.FormatFloat(math.Round(float64(n)/gi*100)/100, 'f', -1, 64) + " GiB"
	}
	return strconv.FormatFloat(math.Round(float64(n)/mi*10)/10, 'f', -1, 64) + " MiB"
}
