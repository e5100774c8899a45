// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"github.com/ropewalk/ropewalk/render/object"
)

// reply is what a worker answers.
type reply struct {
	// crash says that the evaluator panicked, and how; the worker is not to be
	// trusted any more.
	crash string
	// retire asks to be replaced, because the heap holds what nobody will ever
	// need again.
	retire bool
	// live is bytes of live heap at the last collection.
	live int64

	mistakes object.Errors
	result   Result
	origins  []Origin
}

func (e *encoder) reply(r *reply) {
	e.text(r.crash)
	e.bool(r.retire)
	e.int64(r.live)
	e.mistakes(r.mistakes)
	e.result(r.result)
	encodeList(e, r.origins, func(o Origin) { e.pos(o.Input); e.path(o.InputPath); e.pos(o.Module) })
}

func (d *decoder) reply() reply {
	return reply{
		crash: d.text(), retire: d.bool(), live: d.int64(), mistakes: d.mistakes(), result: d.result(),
		origins: decodeList(d, func() Origin {
			return Origin{Input: d.pos(), InputPath: d.path(), Module: d.pos()}
		}),
	}
}

func (e *encoder) result(r Result) {
	e.text(string(r.Flavour))
	encodeList(e, r.Nodes, e.node)
	encodeList(e, r.Violations, func(v Violation) {
		e.text(v.Policy)
		e.int(int(v.Severity))
		e.text(v.Message)
		e.text(string(v.Node))
		e.path(v.Path)
		e.pos(v.PolicyPos)
	})
	e.mistakes(r.Warnings)
	encodeMap(e, r.Provisioned, func(p Provisioned) {
		e.text(string(p.JSON))
		encodeList(e, p.Nodes, e.node)
	})
	encodeList(e, r.Catalog, e.provisioner)
	encodeList(e, r.Inputs, e.input)
}

func (d *decoder) result() Result {
	return Result{
		Flavour: Flavour(d.text()),
		Nodes:   decodeList(d, d.node),
		Violations: decodeList(d, func() Violation {
			return Violation{
				Policy: d.text(), Severity: object.Severity(d.int()), Message: d.text(),
				Node: object.ID(d.text()), Path: d.path(), PolicyPos: d.pos(),
			}
		}),
		Warnings: d.mistakes(),
		Provisioned: decodeMap(d, func() Provisioned {
			return Provisioned{JSON: []byte(d.text()), Nodes: decodeList(d, d.node)}
		}),
		Catalog: decodeList(d, d.provisioner),
		Inputs:  decodeList(d, d.input),
	}
}

func (e *encoder) input(in Input) {
	e.path(in.Path)
	for _, s := range [...]string{string(in.Type), string(in.Collection), in.Expected, in.Default, in.Doc} {
		e.text(s)
	}
	e.bool(in.Required)
	e.bool(in.Cut)
}

func (d *decoder) input() Input {
	return Input{
		Path: d.path(), Type: InputType(d.text()), Collection: Collection(d.text()), Expected: d.text(), Default: d.text(),
		Doc: d.text(), Required: d.bool(), Cut: d.bool(),
	}
}

func (e *encoder) provisioner(p Provisioner) {
	e.int(p.Index)
	for _, s := range [...]string{p.Type, p.Class, p.ID, p.Description} {
		e.text(s)
	}
	encodeList(e, p.Params, func(p Param) {
		for _, s := range [...]string{p.Name, p.Type, p.Default, p.Doc} {
			e.text(s)
		}
		e.bool(p.Required)
	})
	encodeList(e, p.Outputs, e.text)
	encodeList(e, p.Sensitive, e.text)
	e.pos(p.Pos)
}

func (d *decoder) provisioner() Provisioner {
	return Provisioner{
		Index: d.int(), Type: d.text(), Class: d.text(), ID: d.text(), Description: d.text(),
		Params: decodeList(d, func() Param {
			return Param{Name: d.text(), Type: d.text(), Default: d.text(), Doc: d.text(), Required: d.bool()}
		}),
		Outputs: decodeList(d, d.text), Sensitive: decodeList(d, d.text), Pos: d.pos(),
	}
}

func (e *encoder) node(n *object.Node) {
	e.text(string(n.ID))
	e.bool(n.Object != nil)
	if n.Object != nil {
		e.any(map[string]any(n.Object), 0)
	}
	encodeList(e, n.DependsOn, func(d object.Dependency) { e.text(string(d.ID)); e.pos(d.Pos) })
	encodeList(e, n.ReadyWhen, func(r object.Ready) {
		e.text(r.Type)
		e.text(r.Condition)
		e.text(r.Status)
		e.text(r.Expr)
		e.pos(r.Pos)
	})
	for _, s := range applyFields(&n.Apply) {
		e.text(*s)
	}
	e.bool(n.Apply.Prune != nil)
	if n.Apply.Prune != nil {
		e.bool(*n.Apply.Prune)
	}
	e.int(n.Set)
	e.text(n.SetName)
	e.pos(n.Pos)
	e.pos(n.SpecPos)
}

func (d *decoder) node() *object.Node {
	n := &object.Node{ID: object.ID(d.text())}
	if d.bool() {
		m, _ := d.any(0).(map[string]any)
		n.Object = m
	}
	n.DependsOn = decodeList(d, func() object.Dependency {
		return object.Dependency{ID: object.ID(d.text()), Pos: d.pos()}
	})
	n.ReadyWhen = decodeList(d, func() object.Ready {
		return object.Ready{Type: d.text(), Condition: d.text(), Status: d.text(), Expr: d.text(), Pos: d.pos()}
	})
	for _, s := range applyFields(&n.Apply) {
		*s = d.text()
	}
	if d.bool() {
		prune := d.bool()
		n.Apply.Prune = &prune
	}
	n.Set, n.SetName = d.int(), d.text()
	n.Pos, n.SpecPos = d.pos(), d.pos()
	return n
}

func applyFields(a *object.Apply) [4]*string {
	return [...]*string{&a.Mode, &a.Conflict, &a.Adopt, &a.Deletion}
}
