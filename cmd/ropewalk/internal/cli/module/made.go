// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/cases"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// made compares what two versions make of the cases of the older one that render: of a user who changes
// nothing but the version.
func made(ctx context.Context, older, newer underTest, parallel int) ([]change, error) {
	// What a policy refuses is what its users get of it.
	policy := older.Subject.Kind == evaluate.KindPolicy
	var usable []cases.Case
	for _, c := range older.Cases {
		if len(c.Expect.Errors) == 0 || policy {
			usable = append(usable, c)
		}
	}
	before, err := cases.Run(ctx, usable, older.Subject, parallel)
	if err != nil {
		return nil, err
	}
	after, err := cases.Run(ctx, usable, newer.Subject, parallel)
	if err != nil {
		return nil, err
	}
	out, compared := []change{}, 0
	for i, old := range before {
		if policy {
			out = append(out, judgements(old, after[i])...)
			compared++
			continue
		}
		if old.Err != nil || old.Result.Plan == nil {
			continue // It does not render with its own version.
		}
		compared++
		changes, err := ofCase(ctx, old, after[i])
		if err != nil {
			return nil, err
		}
		out = append(out, changes...)
	}
	if compared == 0 {
		out = append(out, change{Level: string(evaluate.LevelUndecided), Text: "the older version has no case that renders: what both make is not compared"})
	}
	return once(out), nil
}

// ofCase is what changed in what is made of one case.
func ofCase(ctx context.Context, before, after cases.Outcome) ([]change, error) {
	if after.Err != nil {
		return []change{{Level: string(evaluate.LevelMajor), Text: fmt.Sprintf("the case %q does not render any more: %s", before.Name, reason(after.Err)), Old: before.Pos.String()}}, nil //nolint:nilerr // it is what changed
	}
	a, err := snapshot.OfRender(ctx, "older", before.Result, snapshot.Known{})
	if err != nil {
		return nil, err
	}
	b, err := snapshot.OfRender(ctx, "newer", after.Result, snapshot.Known{})
	if err != nil {
		return nil, err
	}
	older, newer := byRef(before.Result.Plan.Graph.Nodes), byRef(after.Result.Plan.Graph.Nodes)
	var out []change
	report, err := diff.Compare(ctx, a, b)
	if err != nil {
		return nil, err
	}
	for _, c := range report.Changes {
		level, text := judged(c)
		out = append(out, change{Level: string(level), Object: c.Ref.String(), Text: text, Old: line(older[c.Ref]), New: line(newer[c.Ref])})
	}
	return append(out, renamed(older, newer)...), nil
}

// judgements compares what two versions of a policy say of one case. What is refused more in a
// case is refused of users too, whatever else the case has.
func judgements(before, after cases.Outcome) []change {
	refused, warned := said(before)
	refuses, warns := said(after)
	level, text := evaluate.LevelPatch, ""
	switch {
	case len(refuses) > len(refused):
		level, text = evaluate.LevelMajor, fmt.Sprintf("it refuses more of the case %q: %s", before.Name, other(refuses, refused))
	case len(refuses) < len(refused):
		level, text = evaluate.LevelMinor, fmt.Sprintf("it refuses less of the case %q: not %s", before.Name, other(refused, refuses))
	case len(warns) > len(warned):
		level, text = evaluate.LevelMinor, fmt.Sprintf("it warns more of the case %q: %s", before.Name, other(warns, warned))
	case !slices.Equal(refused, refuses), !slices.Equal(warned, warns):
		text = fmt.Sprintf("what it says of the case %q changes", before.Name)
	default:
		return nil
	}
	return []change{{Level: string(level), Text: text, Old: before.Pos.String()}}
}

// said are the sentences of the errors and of the warnings of an outcome.
func said(o cases.Outcome) (refused, warned []string) {
	all := object.AsErrors(o.Err, object.StageEvaluate)
	for _, e := range all.Failures() {
		refused = append(refused, reason(object.Errors{e}))
	}
	for _, w := range slices.Concat(o.Result.Warnings, all.Warnings()) {
		warned = append(warned, reason(object.Errors{w}))
	}
	return refused, warned
}

// other is the first sentence that is not among others, or the last one.
func other(sentences, others []string) string {
	for _, one := range sentences {
		if !slices.Contains(others, one) {
			return one
		}
	}
	return sentences[len(sentences)-1]
}

// byRef are nodes by the objects that they are.
func byRef(nodes []*object.Node) map[object.Ref]*object.Node {
	out := make(map[object.Ref]*object.Node, len(nodes))
	for _, n := range nodes {
		out[n.Object.Ref()] = n
	}
	return out
}

// line is that of a module which makes a node; "" where there is none.
func line(n *object.Node) string {
	if n == nil {
		return ""
	}
	return placed(n.Pos)
}

// judged is what a change of an object asks of the version.
func judged(c diff.Change) (evaluate.Level, string) {
	switch c.Kind {
	case diff.Deleted:
		return evaluate.LevelMajor, "it is not made any more, and an engine that prunes deletes it"
	case diff.Recreated:
		for _, f := range c.Fields {
			if f.Immutable {
				return evaluate.LevelMajor, f.Path + " changes, which the API server refuses: the object has to be made again"
			}
		}
		return evaluate.LevelMajor, "it has to be made again"
	case diff.Created:
		return evaluate.LevelMinor, "it is new"
	case diff.Moved:
		return evaluate.LevelPatch, "it is in another wave"
	case diff.Changed:
	}
	if len(c.Dangers) > 0 {
		return evaluate.LevelMinor, c.Dangers[0].Message
	}
	return evaluate.LevelPatch, fields(c.Fields)
}

// fields names the first of the fields that changed.
func fields(all []diff.Field) string {
	const most = 3
	var out string
	for i, f := range all {
		switch {
		case i == most:
			return out + fmt.Sprintf(" and %s change", command.Plural(len(all)-most, "further field"))
		case i > 0:
			out += ", "
		}
		out += f.Path
	}
	if len(all) == 1 {
		return out + " changes"
	}
	return out + " change"
}

// renamed are objects whose nodes have other ids, which others depend on by name.
func renamed(before, after map[object.Ref]*object.Node) (out []change) {
	for ref, old := range before {
		if now := after[ref]; now != nil && now.ID != old.ID {
			out = append(out, change{
				Level: string(evaluate.LevelMajor), Object: ref.String(), Old: line(old), New: line(now),
				Text: fmt.Sprintf("its node %s is called %s: dependsOn of other specs may name it", old.ID.Node(), now.ID.Node()),
			})
		}
	}
	slices.SortFunc(out, func(a, b change) int { return cmp.Compare(a.Object, b.Object) })
	return out
}

// reason is the first mistake of an error, without its place.
func reason(err error) string {
	var all object.Errors
	if errors.As(err, &all) && len(all) > 0 {
		shown := object.Shown(all[0])
		if shown.Path != "" {
			return shown.Path + ": " + shown.Err.Error()
		}
		return shown.Err.Error()
	}
	return err.Error()
}

// placed is a position as text; "" where there is none.
func placed(p object.Pos) string {
	if !p.IsValid() {
		return ""
	}
	return p.String()
}

// once are changes of which several cases show the same, each once.
func once(all []change) []change {
	var out []change
	for _, c := range all {
		if !slices.ContainsFunc(out, func(o change) bool { return o.Level == c.Level && o.Object == c.Object && o.Text == c.Text }) {
			out = append(out, c)
		}
	}
	return out
}
