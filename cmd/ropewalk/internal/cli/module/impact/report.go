// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package impact

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/preview"
	"github.com/ropewalk/ropewalk/internal/markdown"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// The type of a [Report] as JSON. A field is only ever added to a version.
const (
	APIVersion = "ropewalk.dev/v1alpha1"
	Kind       = "ModuleImpact"
)

// Verdict is what a new version does to a consumer.
type Verdict string

// The verdicts.
const (
	// Refused does not render with the new version, and does with the old one.
	Refused Verdict = "refused"
	// Recreated has objects that are deleted, or have to be made again.
	Recreated Verdict = "recreated"
	// Broken does not render with the old version.
	Broken Verdict = "broken"
	// Changed has other manifests, and Same has the same ones.
	Changed Verdict = "changed"
	Same    Verdict = "none"
	// Unused does not use the module.
	Unused Verdict = "unused"
)

// verdicts returns the verdicts of consumers, the worst first.
func verdicts() []Verdict { return []Verdict{Refused, Recreated, Broken, Changed, Same} }

// text returns the verdict as people read it.
func (v Verdict) text() string {
	if v == Broken {
		return "broken before"
	}
	return string(v)
}

// Report is what a new version of a module does to all of its consumers.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Module is the repository, and New what consumers were rendered with.
	Module string `json:"module"`
	New    string `json:"new"`
	// Summary is one sentence.
	Summary string `json:"summary"`
	// Counts are the numbers of consumers by their verdicts.
	Counts map[Verdict]int `json:"counts"`
	// Consumers are those with the worst verdict first, then by path, name and environment.
	Consumers []Consumer `json:"consumers"`
	// Unused are those that do not use the module.
	Unused []Consumer `json:"unused"`
}

// Consumer is a project, a bundle or a spec in one environment, or an Installation.
type Consumer struct {
	Verdict Verdict `json:"verdict"`
	// Path is its folder, or its file, or its repository with the folder.
	Path        string `json:"path"`
	Name        string `json:"name,omitempty"`
	Environment string `json:"environment,omitempty"`
	// From are the versions that it refers to, and At the places of the references.
	From []string `json:"from,omitempty"`
	At   []string `json:"at,omitempty"`
	// Note is what there is to know of a consumer that was not rendered.
	Note string `json:"note,omitempty"`
	// Errors are why it does not render.
	Errors object.Errors `json:"errors,omitempty"`
	// Diff is what changes, nil where one side does not render.
	Diff *diff.Report `json:"diff,omitempty"`

	before, after *preview.Side
	unreachable   bool
}

// addUses notes what a consumer refers to.
func (c *Consumer) addUses(uses []host.Reference) {
	for _, r := range uses {
		tag, _, _ := strings.Cut(r.Tree.Revision, "@")
		if from := cmp.Or(tag, r.Tree.Revision, r.Tree.Digest); !slices.Contains(c.From, from) {
			c.From = append(c.From, from)
		}
		c.At = append(c.At, r.Pos.String())
	}
}

// fail sets a verdict with its errors.
func (c *Consumer) fail(v Verdict, err error) {
	c.Verdict = v
	c.Errors = nil
	c.unreachable = v == Broken && command.ExitCode(err) == command.Environment
	for _, e := range object.AsErrors(command.WithOptions(err), object.StageResolve).Failures() {
		c.Errors = append(c.Errors, object.Shown(e))
	}
}

// title names a consumer.
func (c Consumer) title() string {
	out := c.Path
	if c.Name != "" {
		out += " " + c.Name
	}
	if c.Environment != "" {
		out += " (" + c.Environment + ")"
	}
	return out
}

// unreachable returns the error that a consumer was not fetched, which the report shows already.
func unreachable() error {
	return errors.Join(command.ErrReported, &command.EnvironmentError{Err: errors.New("a consumer cannot be fetched")})
}

// report sorts consumers, and counts them.
func (x *examining) report(all []Consumer) Report {
	// Show a verdict without consumers too.
	out := Report{APIVersion: APIVersion, Kind: Kind, Module: x.target.base, New: x.title, Counts: map[Verdict]int{}, Consumers: []Consumer{}, Unused: []Consumer{}}
	for _, v := range append(verdicts(), Unused) {
		out.Counts[v] = 0
	}

	// Sort the consumers, the worst first, and count them.
	rank := verdicts()
	slices.SortStableFunc(all, func(a, b Consumer) int {
		return cmp.Or(slices.Index(rank, a.Verdict)-slices.Index(rank, b.Verdict), strings.Compare(a.Path, b.Path), strings.Compare(a.Name, b.Name), strings.Compare(a.Environment, b.Environment))
	})
	for _, c := range all {
		out.Counts[c.Verdict]++
		if c.Verdict == Unused {
			out.Unused = append(out.Unused, c)
			continue
		}
		out.Consumers = append(out.Consumers, c)
	}

	// Write the summary.
	var parts []string
	for _, v := range verdicts() {
		if n := out.Counts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v.text()))
		}
	}
	out.Summary = fmt.Sprintf("%s with %s: %s", printable.Count(len(out.Consumers), "consumer"), x.title, strings.Join(parts, ", "))
	if n := len(out.Unused); n == 1 {
		out.Summary += "; 1 other does not use it"
	} else if n > 1 {
		out.Summary += fmt.Sprintf("; %d others do not use it", n)
	}
	return out
}

// print writes the report, and the page if --html asks for one.
func (x *examining) print(out Report) error {
	if x.flags.html != "" {
		page, err := out.page(x.target.base).Page(preview.Links{})
		if err != nil {
			return err
		}
		if err := command.WriteFile(x.flags.html, page); err != nil {
			return err
		}
		x.Note("page written to "+x.Paint.Bold("%s")+"\n", x.flags.html)
	}
	if x.flags.format.Value == "markdown" {
		return x.Write([]byte(out.markdown()))
	}
	return x.Outcome(x.flags.format.Value, out, out.text())
}

// page returns the report in the form of the page of a preview, with consumers as environments.
func (r Report) page(module string) preview.Report {
	var results []preview.Result
	for i, c := range r.Consumers {
		// The page sorts by this path.
		one := preview.Result{Project: strings.TrimSuffix(c.title(), " ("+c.Environment+")"), Path: fmt.Sprintf("%06d", i), Name: c.Environment, Before: c.before, After: c.after}
		switch {
		case len(c.Errors) > 0:
			one.After = &preview.Side{Findings: c.Errors}
		case c.Diff != nil:
			one.Changes = *c.Diff
		}
		results = append(results, one)
	}
	out := preview.Gather(process.CurrentRelease().Version, preview.Revision{Name: module + " as it is used"}, preview.Revision{Name: r.New}, results)
	out.Summary = r.Summary
	for i, c := range r.Consumers {
		out.Environments[i].Path = c.Path
	}
	return out
}

// maxShown is how many consumers and objects of each are shown in full.
const maxShown = 50

// rows returns the table of consumers.
func (r Report) rows() [][]string {
	rows := [][]string{{"VERDICT", "CONSUMER", "NAME", "ENVIRONMENT", "FROM", "OBJECTS"}}
	for _, c := range r.Consumers {
		rows = append(rows, []string{c.Verdict.text(), c.Path, cmp.Or(c.Name, "-"), cmp.Or(c.Environment, "-"), cmp.Or(strings.Join(c.From, " "), "-"), cmp.Or(c.objects(), "-")})
	}
	return rows
}

// objects counts what happens to the objects of a consumer.
func (c Consumer) objects() string {
	if c.Diff == nil {
		return ""
	}
	var parts []string
	for _, k := range kinds() {
		if n := c.Diff.Count(k); n > 0 {
			parts = append(parts, fmt.Sprintf("%s%d", sign(k), n))
		}
	}
	return strings.Join(parts, " ")
}

func kinds() []diff.Kind {
	return []diff.Kind{diff.Created, diff.Changed, diff.Moved, diff.Recreated, diff.Deleted}
}

// sign returns the character of a kind of change, as diffs have it.
func sign(k diff.Kind) string {
	return map[diff.Kind]string{diff.Created: "+", diff.Changed: "~", diff.Moved: ">", diff.Recreated: "!", diff.Deleted: "-"}[k]
}

// details returns the causes of a verdict, a line each.
func (c Consumer) details() (out []string) {
	if c.Note != "" {
		out = append(out, c.Note)
	}
	for _, e := range c.Errors {
		out = append(out, e.Error())
	}
	if c.Diff == nil {
		return out
	}
	for _, f := range c.Diff.Findings {
		out = append(out, f.Ref.String()+": "+f.Message())
	}
	for i, change := range c.Diff.Changes {
		if i == maxShown {
			return append(out, fmt.Sprintf("… and %s more", printable.Count(len(c.Diff.Changes)-i, "object")))
		}
		line := sign(change.Kind) + " " + change.Ref.String()
		if fields := paths(change.Fields); fields != "" {
			line += ": " + fields
		}
		out = append(out, line)
		for _, d := range change.Dangers {
			out = append(out, "  "+d.Message)
		}
	}
	return out
}

// paths names the first of the fields that change.
func paths(fields []diff.Field) string {
	const most = 3
	var out []string
	for i, f := range fields {
		if i == most {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", len(fields)-most)
		}
		out = append(out, f.Path)
	}
	return strings.Join(out, ", ")
}

func (r Report) text() string {
	var b strings.Builder
	b.WriteString(r.Summary + "\n\n" + command.Table(r.rows()))
	shown := 0
	for _, c := range r.Consumers {
		lines := c.details()
		if len(lines) == 0 {
			continue
		}
		shown++
		if shown > maxShown {
			continue
		}
		b.WriteString("\n" + c.Verdict.text() + ": " + c.title() + "\n")
		for _, line := range lines {
			b.WriteString("  " + command.Lines(line, "    ") + "\n")
		}
	}
	if shown > maxShown {
		fmt.Fprintf(&b, "\n… and %s more: --format json has all\n", printable.Count(shown-maxShown, "consumer"))
	}
	return b.String()
}

// markdownLimit is how long the text of a comment may be, in bytes: GitHub takes 65,536 characters.
const markdownLimit = 60_000

func (r Report) markdown() string {
	var b strings.Builder
	b.WriteString("### " + markdown.Text(r.Summary) + "\n\n" + markdown.Fenced("text", cut(command.Table(r.rows()))))
	left := 0
	for _, c := range r.Consumers {
		lines := c.details()
		for i := range lines {
			lines[i] = command.OneLine(lines[i])
		}
		text := "\n<details><summary>" + c.Verdict.text() + ": <code>" + markdown.HTML(c.title()) + "</code></summary>\n\n" + markdown.Fenced("text", strings.Join(lines, "\n")+"\n") + "\n</details>\n"
		switch {
		case len(lines) == 0:
		case b.Len()+len(text) > markdownLimit:
			left++
		default:
			b.WriteString(text)
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "\nThe details of %s are not shown: the text would be too long.\n", printable.Count(left, "consumer"))
	}
	return b.String()
}

// cut returns a table without the lines that are too many for a comment.
func cut(table string) string {
	if len(table) <= markdownLimit/2 {
		return table
	}
	end := strings.LastIndexByte(table[:markdownLimit/2], '\n') + 1
	return table[:end] + fmt.Sprintf("… and %s more\n", printable.Count(strings.Count(table[end:], "\n"), "consumer"))
}
