// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"fmt"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// Write writes the plan in a dialect, one object in each file. The plan and its
// objects are left as they are.
//
// What the engine cannot express is in Output.Warnings, sorted. The error, an
// [object.Errors], holds what is wrong whatever the engine: an unknown dialect,
// a repository that is none, a readiness rule that is no CEL.
func Write(plan *order.Plan, opts Options) (Output, error) {
	if plan == nil {
		return Output{}, mistake("there is no plan to write")
	}
	waves := make([][]*object.Node, len(plan.Waves))
	for i, w := range plan.Waves {
		waves[i] = w.Nodes
	}
	w := &writer{plan: plan, opts: opts, waves: waves, names: fileNames(waves), ready: newRules()}
	switch opts.Dialect {
	case Plain, "":
		w.flat(w.plain)
	case ArgoCD:
		a := newArgo(w)
		w.flat(a.object)
		a.reportHealth()
	case Flux:
		if err := checkFlux(opts); err != nil {
			return Output{}, err
		}
		w.layers()
	default:
		return Output{}, mistake("unknown dialect %q: expected plain, argocd or flux", opts.Dialect)
	}
	w.out.Warnings = w.found.Warnings().Sorted()
	if err := w.found.Failures().Sorted().Err(); err != nil {
		return Output{}, err
	}
	return w.out, nil
}

func mistake(format string, args ...any) error {
	return object.Errors{{Stage: object.StageEmit, Err: fmt.Errorf(format, args...)}}
}

// writer is one run of [Write].
type writer struct {
	plan  *order.Plan
	opts  Options
	waves [][]*object.Node
	names map[object.ID]string
	ready rules
	out   Output
	found object.Errors
}

// flat writes every node into the root; object is nil for a node that is left
// out.
func (w *writer) flat(of func(n *object.Node, wave int) object.Object) {
	for wave, nodes := range w.waves {
		for _, n := range nodes {
			if o := of(n, wave); o != nil {
				w.file(n, wave, w.names[n.ID], o)
			}
		}
	}
}

func (w *writer) file(n *object.Node, wave int, path string, o object.Object) {
	w.out.Files = append(w.out.Files, File{Path: path, Data: YAML(o), Node: n.ID, Wave: wave})
}

// plain is the object as it is. Nobody prunes, deletes or waits there, so
// those intents lose nothing; how an object is applied does.
func (w *writer) plain(n *object.Node, _ int) object.Object {
	w.checkReady(n)
	if n.Apply.Adopt == object.AdoptMirror {
		w.mirror(n, "plain manifests")
		return nil
	}
	for _, lost := range []struct{ field, value, harmless string }{
		{"mode", n.Apply.Mode, object.ModeApply},
		{"conflict", n.Apply.Conflict, object.ConflictEngine},
		{"adopt", n.Apply.Adopt, object.AdoptTakeOwnership},
	} {
		if lost.value != "" && lost.value != lost.harmless {
			w.warn(n, "apply."+lost.field, "", "plain manifests cannot say %s: whoever applies them must know", lost.value)
		}
	}
	return n.Object
}

// checkReady finds rules that are wrong in themselves, for the dialects that
// do not use them.
func (w *writer) checkReady(n *object.Node) {
	_, problems := w.ready.of(n)
	w.problems(n, problems)
}

func (w *writer) mirror(n *object.Node, engine string) {
	w.warn(n, "apply.adopt", "", "%s cannot watch an object without applying it: %s is left out of the render", engine, n.Object.Ref())
}

// warn names an intent of n that the dialect cannot express.
func (w *writer) warn(n *object.Node, path, hint, format string, args ...any) {
	w.add(n, &object.Error{Severity: object.SeverityWarning, Path: path, Hint: hint, Err: fmt.Errorf(format, args...)})
}

// problems reports what is wrong with readiness rules: warnings, but for
// rules that are wrong in themselves.
func (w *writer) problems(n *object.Node, list []problem) {
	for _, p := range list {
		e := &object.Error{Path: fmt.Sprintf("readyWhen[%d]", p.rule), Hint: p.hint, Err: p.err}
		if !p.fatal {
			e.Severity = object.SeverityWarning
		}
		if p.rule < len(n.ReadyWhen) {
			e.Pos = n.ReadyWhen[p.rule].Pos
		}
		w.add(n, e)
	}
}

// add gives e its stage, its node and its place: the line of the spec first,
// and the line of the module, which e.Pos holds where it is nearer than that of
// the node, as a note.
func (w *writer) add(n *object.Node, e *object.Error) {
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
		e.Notes = append(e.Notes, object.Note{Pos: module, Text: "the module says so here"})
	}
	w.found = append(w.found, e)
}
