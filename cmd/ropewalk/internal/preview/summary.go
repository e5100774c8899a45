// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// summary returns one sentence on all environments.
func (r Report) summary() string {
	// Choose environments by their state.
	of := func(states ...State) []Environment {
		return slices.DeleteFunc(slices.Clone(r.Environments), func(e Environment) bool { return !slices.Contains(states, e.State) })
	}

	// The first part says what was compared.
	var sentence string
	compared, alone, failed := of(Changed, Created, Deleted), of(Alone), of(Failed)
	switch {
	case r.Counts.total() > 0:
		sentence = fmt.Sprintf("Against %s, %s %s in %s", r.Base.title(), r.Head.Name, r.Counts.verbs(), where(compared, len(r.Environments)))
	case len(alone) > 0:
		sentence = fmt.Sprintf("There is nothing to compare with: %s as %s renders", printable.Count(r.Counts.Present, "object")+" of "+where(alone, len(r.Environments)), r.Head.Name)
		alone = nil
	case len(failed) > 0:
		sentence = fmt.Sprintf("%s cannot be rendered at %s", where(failed, len(r.Environments)), r.Head.Name)
		failed = nil
	default:
		sentence = fmt.Sprintf("No object differs between %s and %s", r.Base.title(), r.Head.Name)
	}

	// Further parts name what the first one leaves out.
	if r.onlyImages() {
		sentence += ", and nothing but images"
	}
	if len(alone) > 0 {
		sentence += "; " + where(alone, len(r.Environments)) + are(alone) + " shown without a comparison"
	}
	if len(failed) > 0 {
		sentence += "; " + where(failed, len(r.Environments)) + " cannot be rendered"
	}
	if n := len(of(Unaffected)); n > 0 {
		sentence += fmt.Sprintf("; %s not affected", printable.Count(n, noun(r.Environments))+map[bool]string{true: " is", false: " are"}[n == 1])
	}
	return sentence + "."
}

func are(e []Environment) string {
	if len(e) == 1 {
		return " is"
	}
	return " are"
}

// verbs returns the counts as what a change does, the worst first.
func (c Counts) verbs() string {
	var parts []string
	for _, part := range []struct {
		n    int
		verb string
	}{{c.Deleted, "deletes"}, {c.Recreated, "recreates"}, {c.Changed, "changes"}, {c.Created, "creates"}, {c.Moved, "moves"}} {
		switch {
		case part.n == 0:
		case len(parts) == 0:
			parts = append(parts, part.verb+" "+printable.Count(part.n, "object"))
		default:
			parts = append(parts, fmt.Sprintf("%s %d", part.verb, part.n))
		}
	}
	return and(parts)
}

// mostNames is how many environments or projects a sentence names.
const mostNames = 4

// where returns names of environments. The argument all is how many there are.
func where(environments []Environment, all int) string {
	var projects []string
	names := map[string][]string{}
	for _, e := range environments {
		if names[e.Project] == nil {
			projects = append(projects, e.Project)
		}
		names[e.Project] = append(names[e.Project], e.Name)
	}
	if noun := noun(environments); len(projects) > mostNames && noun == "unit" {
		return fmt.Sprintf("%d of %s", len(environments), printable.Count(all, noun))
	}
	if len(projects) > mostNames {
		return fmt.Sprintf("%d of %s of %s", len(environments), printable.Count(all, "environment"), printable.Count(len(projects), "project"))
	}
	parts := make([]string, len(projects))
	for i, p := range projects {
		switch of := names[p]; {
		case len(of) == 1 && of[0] == "":
			parts[i] = p
		case len(of) > mostNames:
			parts[i] = printable.Count(len(of), "environment") + " of " + p
		case len(projects) > 1:
			parts[i] = p + " (" + strings.Join(of, ", ") + ")"
		default:
			parts[i] = and(of) + " of " + p
		}
	}
	return and(parts)
}

// noun returns the word for environments: units if all of them are.
func noun(environments []Environment) string {
	if len(environments) == 0 || slices.ContainsFunc(environments, func(e Environment) bool { return !e.Unit }) {
		return "environment"
	}
	return "unit"
}

// and joins words as a sentence does.
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// reason returns the first mistake of a side that does not render.
func (e Environment) reason(side string) string {
	for _, f := range e.Findings {
		if f.Side == side {
			if f.At == "" {
				return ": " + f.Message
			}
			return ": " + f.Message + " (" + f.At + ")"
		}
	}
	return ""
}

// notes returns what a reader must know of how the report was made.
func (r Report) notes() (out []string) {
	if r.Base.Problem != "" {
		out = append(out, fmt.Sprintf("The base %s is not there, so that the head is shown alone: %s.", r.Base.Name, strings.TrimSuffix(r.Base.Problem, ".")))
	}
	if r.Base.Ropewalk != "" && r.Base.Ropewalk != r.Ropewalk {
		out = append(out, fmt.Sprintf("The base was rendered by Ropewalk %s and the head by %s: some differences may come from that.", r.Base.Ropewalk, r.Ropewalk))
	}
	out = append(append(out, r.Base.Notes...), r.Head.Notes...)
	alone, neither := map[string][]Environment{}, map[string][]Environment{}
	for _, e := range r.Environments {
		switch {
		case e.State == Alone && r.Base.Problem == "":
			alone[e.reason("base")] = append(alone[e.reason("base")], e)
		case e.State == Failed && !slices.ContainsFunc(e.Findings, func(f Finding) bool { return f.isProblem() }):
			neither[e.reason("head")] = append(neither[e.reason("head")], e)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(alone)) {
		out = append(out, fmt.Sprintf("The base of %s does not render, so that the head is shown alone%s.", where(alone[reason], len(r.Environments)), reason))
	}
	for _, reason := range slices.Sorted(maps.Keys(neither)) {
		out = append(out, fmt.Sprintf("Neither side of %s can be rendered%s.", where(neither[reason], len(r.Environments)), reason))
	}
	const most = 10
	if more := len(out) - most; more > 0 {
		out = append(out[:most], fmt.Sprintf("And %s.", printable.Count(more, "more note")))
	}
	return out
}
