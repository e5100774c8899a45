// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"errors"
	"fmt"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// Write writes the plan in a dialect, one object in each file. The plan and its
// objects are left as they are.
//
// What the engine cannot express is in Output.Warnings, sorted. The error, an
// [object.Errors], holds what is wrong whatever the engine: an unknown dialect, an
// invalid repository, a readiness rule that is not CEL.
func Write(plan *order.Plan, opts Options) (Output, error) {
	if plan == nil {
		return Output{}, mistake("there is no plan to write")
	}
	d, err := dialect.Find(opts.Dialect)
	if err != nil {
		return Output{}, mistake("%w", err)
	}
	w := &writer{plan: plan, dialect: d, opts: opts, names: fileNames(plan.Waves), ready: newRules()}
	w.checkNeeds()
	if err := w.write(); err != nil {
		return Output{}, err
	}
	w.out.Warnings = w.found.Warnings().Sorted()
	return w.out, w.found.Failures().Sorted().Err()
}

// write writes the plan in the dialect of the options. It is the one table of writers.
func (w *writer) write() error {
	switch w.dialect.Name {
	case dialect.Plain:
		w.writeFlat(w.plain)
	case dialect.ArgoCD:
		a := newArgo(w)
		w.writeFlat(a.object)
		a.reportHealth()
	case dialect.Flux:
		if err := checkFlux(w.opts); err != nil {
			return err
		}
		w.writeLayers()
	default:
		return mistake("dialect %q has no writer", w.dialect.Name)
	}
	return nil
}

func mistake(format string, args ...any) error {
	return object.Errors{{Stage: object.StageEmit, Err: fmt.Errorf(format, args...)}}
}

// writer is one run of [Write].
type writer struct {
	plan    *order.Plan
	dialect dialect.Dialect
	opts    Options
	names   map[object.ID]string
	ready   rules
	out     Output
	found   object.Errors
}

// writeFlat writes every node into the root; of gives nil for a node that is left out.
func (w *writer) writeFlat(of func(n *object.Node, wave int) object.Object) {
	for i, wave := range w.plan.Waves {
		for _, n := range wave.Nodes {
			if o := of(n, i); o != nil {
				w.writeFile(n, i, w.names[n.ID], o)
			}
		}
	}
}

func (w *writer) writeFile(n *object.Node, wave int, path string, o object.Object) {
	w.out.Files = append(w.out.Files, File{Path: path, Data: YAML(o), Node: n.ID, Wave: wave})
}

// plain returns the object as it is. Plain manifests are not pruned, deleted or waited for, so
// those policies lose nothing. Policies on how an object is applied do, and are reported.
func (w *writer) plain(n *object.Node, _ int) object.Object {
	w.checkReady(n)
	if n.Apply.Adopt == object.AdoptMirror {
		w.reportLeftOut(n)
		return nil
	}
	mode := n.Apply.Mode
	if mode == object.ModeForce && n.Object.Kind() == "Job" {
		mode = object.ModeApply // A client refuses to change a Job: nothing is lost unseen.
	}
	for _, lost := range []struct{ field, value, harmless string }{
		{"mode", mode, object.ModeApply},
		{"conflict", n.Apply.Conflict, object.ConflictEngine},
		{"adopt", n.Apply.Adopt, object.AdoptTakeOwnership},
	} {
		if lost.value != "" && lost.value != lost.harmless {
			w.warn(n, "apply."+lost.field, "", "plain manifests cannot express %s: apply them accordingly", lost.value)
		}
	}
	return n.Object
}

// checkReady finds rules that are wrong in themselves, for the dialects that do not
// use them.
func (w *writer) checkReady(n *object.Node) {
	_, problems := w.ready.of(n)
	w.reportProblems(n, problems)
}

// reportLeftOut reports an object that a dialect leaves out which can only create it by taking it
// over.
func (w *writer) reportLeftOut(n *object.Node) {
	w.warn(n, "apply.adopt", "create it by other means, or use TakeOwnership",
		"%s cannot create %s without changing it where it exists: it is left out of the render, and not created", w.dialect.Title, n.Object.Ref())
}

// reportTakeover reports what no engine has: all take ownership of what they apply.
func (w *writer) reportTakeover(n *object.Node) {
	if n.Apply.Conflict == object.ConflictError {
		w.warn(n, "apply.conflict", "", "%s cannot stop at a conflict: it takes over the fields of %s", w.dialect.Title, n.Object.Ref())
	}
	if n.Apply.Adopt == object.AdoptNever {
		w.warn(n, "apply.adopt", "", "%s cannot refuse an object that exists already: it takes over %s", w.dialect.Title, n.Object.Ref())
	}
}

func annotationPath(key string) string { return object.Fields("metadata", "annotations", key).String() }

// warn adds a warning about an intent of n that the dialect cannot express.
func (w *writer) warn(n *object.Node, path, hint, format string, args ...any) {
	w.addFound(n, &object.Error{Severity: object.SeverityWarning, Path: path, Hint: hint, Err: fmt.Errorf(format, args...)})
}

// reportProblems reports what is wrong with readiness rules. Problems are warnings, except for
// rules that are wrong in themselves.
func (w *writer) reportProblems(n *object.Node, list []problem) {
	for _, p := range list {
		e := &object.Error{Path: fmt.Sprintf("readyWhen[%d]", p.rule), Hint: p.hint, Err: p.err}
		if !p.fatal {
			e.Severity = object.SeverityWarning
		}
		if p.rule >= len(n.ReadyWhen) {
			w.addFound(n, e)
			continue
		}
		ready := n.ReadyWhen[p.rule]
		e.Pos = ready.Pos
		w.addFound(n, e)
		if p.fatal && ready.Type == object.ReadyCEL {
			moveIntoExpression(e, ready, n)
		}
	}
}

// moveIntoExpression moves a mistake in an expression to the position of the expression, and to
// the character at fault if the expression is written as it is.
func moveIntoExpression(e *object.Error, ready object.Ready, n *object.Node) {
	if !ready.Pos.IsValid() {
		return
	}
	e.Pos, e.Notes = ready.Pos, nil
	var at *celError
	if ready.ExprPos.IsValid() {
		e.Pos = ready.ExprPos
		if errors.As(e.Err, &at) && at.line == 1 {
			runes := []rune(ready.Expr)
			e.Pos.Column += len(string(runes[:min(at.column-1, len(runes))]))
		}
	}
	if n.SpecPos.IsValid() && n.SpecPos != e.Pos {
		e.Notes = []object.Note{{Pos: n.SpecPos, Text: "the spec that makes it is here"}}
	}
}

// addFound gives e its stage, its node and its position, and adds it. The position is the line of
// the spec. A note has the line of the module, which e.Pos holds if it is nearer than the line of
// the node.
func (w *writer) addFound(n *object.Node, e *object.Error) {
	e.Stage, e.Node = object.StageEmit, n.ID
	module := e.Pos
	if !module.IsValid() {
		module = n.Pos
	}
	e.Pos = n.SpecPos
	switch {
	case !e.Pos.IsValid():
		e.Pos = module
	case module.IsValid() && module != e.Pos:
		e.Notes = append(e.Notes, object.Note{Pos: module, Text: "the module sets it here"})
	}
	w.found = append(w.found, e)
}
