// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/cases"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// compareResults renders the cases of the older version with both versions and returns the changes:
// these are the changes for a user who only changes the version.
func compareResults(ctx context.Context, older, newer underTest, parallel int) ([]change, error) {
	// Users notice the refusals of a policy. The cases of a new rule are among the cases of the newer
	// version, so a policy is compared with both.
	policy := older.Subject.Kind == evaluate.KindPolicy
	candidates := older.Cases
	if policy {
		candidates = slices.Concat(older.Cases, newer.Cases)
	}

	// Leave out cases that only expect errors, unless a policy is compared.
	var usable []cases.Case
	for _, c := range candidates {
		if len(c.Expect.Errors) == 0 || policy {
			usable = append(usable, c)
		}
	}

	// Render the cases with both versions.
	oldOutcomes, err := cases.Run(ctx, usable, older.Subject, parallel)
	if err != nil {
		return nil, err
	}
	newOutcomes, err := cases.Run(ctx, usable, newer.Subject, parallel)
	if err != nil {
		return nil, err
	}

	// Compare case by case.
	changes := []change{}
	compared := 0
	for i, outcome := range oldOutcomes {
		if policy {
			// The older version may not know the parameters of a case of the newer version.
			if isJudged(outcome) {
				compared++
			} else if i >= len(older.Cases) {
				continue
			}
			changes = append(changes, compareJudgements(outcome, newOutcomes[i])...)
			continue
		}
		if outcome.Err != nil || outcome.Result.Plan == nil {
			continue // The case does not render with its own version.
		}
		compared++
		ofCase, err := compareCase(ctx, outcome, newOutcomes[i])
		if err != nil {
			return nil, err
		}
		changes = append(changes, ofCase...)
	}

	// Without a case that renders, nothing is known.
	if compared == 0 {
		text := "the older version has no case that renders: what both make is not compared"
		changes = append(changes, change{Level: string(evaluate.LevelUndecided), Text: text})
	}
	return distinct(changes), nil
}

// compareCase returns the changes of the objects of a case.
func compareCase(ctx context.Context, before, after cases.Outcome) ([]change, error) {
	if after.Err != nil {
		text := fmt.Sprintf("the case %q does not render any more: %s", before.Name, reason(after.Err))
		broken := change{Level: string(evaluate.LevelMajor), Text: text, Old: before.Pos.String()}
		return []change{broken}, nil //nolint:nilerr // the error is the change
	}
	olderObjects, err := snapshot.OfRender(ctx, "older", before.Result, snapshot.Known{})
	if err != nil {
		return nil, err
	}
	newerObjects, err := snapshot.OfRender(ctx, "newer", after.Result, snapshot.Known{})
	if err != nil {
		return nil, err
	}
	olderNodes, newerNodes := byRef(before.Result.Plan.Graph.Nodes), byRef(after.Result.Plan.Graph.Nodes)
	var out []change
	report, err := diff.Compare(ctx, olderObjects, newerObjects)
	if err != nil {
		return nil, err
	}
	for _, c := range report.Changes {
		level, text := judged(c)
		out = append(out, change{
			Level:  string(level),
			Object: c.Ref.String(),
			Text:   text,
			Old:    line(olderNodes[c.Ref]),
			New:    line(newerNodes[c.Ref]),
		})
	}
	return append(out, renamed(olderNodes, newerNodes)...), nil
}

// compareJudgements compares the errors and warnings of two versions of a policy about a case, one by
// one: a refusal that is gone does not make up for a new refusal elsewhere. A further reason to
// refuse a case may refuse objects of users too, whatever else the case has.
func compareJudgements(before, after cases.Outcome) []change {
	// Pair the judgements of both versions.
	refused, warned := reported(before)
	refuses, warns := reported(after)
	less, more := unpaired(refused, refuses, judgement.sameWords, judgement.sameRule)
	gone, added := unpaired(less, more, judgement.samePlace)
	_, warnsMore := unpaired(warned, warns, judgement.sameWords, judgement.samePlace)

	// The gravest difference decides.
	level, text := evaluate.LevelPatch, ""
	switch {
	case len(added) > 0:
		level, text = evaluate.LevelMajor, fmt.Sprintf("it refuses more of the case %q: %s", before.Name, added[0].sentence)
	case len(more) > 0:
		level, text = evaluate.LevelUndecided, fmt.Sprintf("another rule refuses the same place of the case %q: %s", before.Name, more[0].sentence)
	case len(gone) > 0:
		level, text = evaluate.LevelMinor, fmt.Sprintf("it refuses less of the case %q: not %s", before.Name, gone[0].sentence)
	case len(warnsMore) > 0:
		level, text = evaluate.LevelMinor, fmt.Sprintf("it warns more of the case %q: %s", before.Name, warnsMore[0].sentence)
	case !slices.Equal(refused, refuses), !slices.Equal(warned, warns):
		text = fmt.Sprintf("what it says of the case %q changes", before.Name)
	default:
		return nil
	}
	return []change{{Level: string(level), Text: text, Old: before.Pos.String()}}
}

// judgement is an error or a warning about a case of a policy.
type judgement struct {
	stage    object.Stage
	node     object.ID
	path     string
	rule     string
	sentence string
	message  string
}

// sameWords reports whether both have the same message about the same object, at any path.
func (j judgement) sameWords(o judgement) bool {
	return j.stage == o.stage && j.node == o.node && j.message == o.message
}

// samePlace reports whether both are about the same path of an object.
func (j judgement) samePlace(o judgement) bool {
	return j.stage == o.stage && j.node == o.node && j.path == o.path
}

// sameRule reports whether both are about the same path of an object, by the same rule.
func (j judgement) sameRule(o judgement) bool { return j.rule == o.rule && j.samePlace(o) }

// unpaired pairs each judgement with a judgement of the other version, by the first of the rules that
// holds, and returns the judgements that remain.
func unpaired(older, newer []judgement, rules ...func(a, b judgement) bool) (fromOlder, fromNewer []judgement) {
	fromOlder, fromNewer = slices.Clone(older), slices.Clone(newer)
	for _, same := range rules {
		fromOlder = slices.DeleteFunc(fromOlder, func(a judgement) bool {
			i := slices.IndexFunc(fromNewer, func(b judgement) bool { return same(a, b) })
			if i >= 0 {
				fromNewer = slices.Delete(fromNewer, i, i+1)
			}
			return i >= 0
		})
	}
	return fromOlder, fromNewer
}

// reported returns the errors and the warnings of an outcome.
func reported(o cases.Outcome) (refused, warned []judgement) {
	read := func(e *object.Error) judgement {
		return judgement{
			stage:    e.Stage,
			node:     e.Node,
			path:     e.Path,
			rule:     e.Policy,
			sentence: reason(object.Errors{e}),
			message:  object.Shown(e).Err.Error(),
		}
	}
	mistakes := object.AsErrors(o.Err, object.StageEvaluate)
	for _, e := range mistakes.Failures() {
		refused = append(refused, read(e))
	}
	for _, w := range slices.Concat(o.Result.Warnings, mistakes.Warnings()) {
		warned = append(warned, read(w))
	}
	return refused, warned
}

// isJudged reports whether a policy judged the objects of a case, and was not stopped before.
func isJudged(o cases.Outcome) bool {
	failures := object.AsErrors(o.Err, object.StageEvaluate).Failures()
	return !slices.ContainsFunc(failures, func(e *object.Error) bool { return e.Stage != object.StageCheck })
}

// byRef returns nodes by the references of their objects.
func byRef(nodes []*object.Node) map[object.Ref]*object.Node {
	out := make(map[object.Ref]*object.Node, len(nodes))
	for _, n := range nodes {
		out[n.Object.Ref()] = n
	}
	return out
}

// line returns the line of a module that makes a node, or "" for a nil node or an unknown line.
func line(n *object.Node) string {
	if n == nil {
		return ""
	}
	return placed(n.Pos)
}

// judged returns the level that a change of an object requires of the version, and why.
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

// fields returns the names of the first fields that changed.
func fields(changed []diff.Field) string {
	const most = 3
	var out string
	for i, f := range changed {
		switch {
		case i == most:
			return out + fmt.Sprintf(" and %s change", printable.Count(len(changed)-most, "further field"))
		case i > 0:
			out += ", "
		}
		out += f.Path
	}
	if len(changed) == 1 {
		return out + " changes"
	}
	return out + " change"
}

// renamed returns a change for each object whose node has another id: other specs depend on nodes
// by id.
func renamed(before, after map[object.Ref]*object.Node) (out []change) {
	for ref, node := range before {
		if newNode := after[ref]; newNode != nil && newNode.ID != node.ID {
			out = append(out, change{
				Level: string(evaluate.LevelMajor), Object: ref.String(), Old: line(node), New: line(newNode),
				Text: fmt.Sprintf("its node %s is called %s: dependsOn of other specs may name it", node.ID.Node(), newNode.ID.Node()),
			})
		}
	}
	slices.SortFunc(out, func(a, b change) int { return cmp.Compare(a.Object, b.Object) })
	return out
}

// reason returns the first mistake of an error, without its place.
func reason(err error) string {
	var mistakes object.Errors
	if errors.As(err, &mistakes) && len(mistakes) > 0 {
		shown := object.Shown(mistakes[0])
		if shown.Path != "" {
			return shown.Path + ": " + shown.Err.Error()
		}
		return shown.Err.Error()
	}
	return err.Error()
}

// placed returns a position as text, or "" for an unknown position.
func placed(p object.Pos) string {
	if !p.IsValid() {
		return ""
	}
	return p.String()
}

// distinct returns each change once, although several cases may show it.
func distinct(changes []change) []change {
	var out []change
	for _, c := range changes {
		if !slices.ContainsFunc(out, func(o change) bool { return o.Level == c.Level && o.Object == c.Object && o.Text == c.Text }) {
			out = append(out, c)
		}
	}
	return out
}
