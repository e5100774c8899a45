// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"errors"
	"fmt"

	"github.com/ropewalk/ropewalk/render/object"
)

// This file writes and reads the vocabulary of render/object.

func (e *encoder) pos(p object.Pos) {
	if p.File == e.file {
		e.byte(0)
	} else {
		e.byte(1)
		e.text(p.File)
		e.file = p.File
	}
	e.int(p.Line)
	e.int(p.Column)
}

func (d *decoder) pos() object.Pos {
	if d.bool() {
		d.file = d.text()
	}
	return object.Pos{File: d.file, Line: d.int(), Column: d.int()}
}

func (e *encoder) path(p object.Path) {
	encodeList(e, p, func(s object.Step) {
		e.bool(s.IsIndex)
		if s.IsIndex {
			e.int(s.Index)
			return
		}
		e.text(s.Name)
	})
}

func (d *decoder) path() object.Path {
	return decodeList(d, func() object.Step {
		if d.bool() {
			return object.Index(d.int())
		}
		return object.Field(d.text())
	})
}

// value writes what a user wrote, with the place of every part.
func (e *encoder) value(v object.Value, depth int) {
	if depth > wireDepth {
		e.fail(errDeep)
		return
	}
	e.byte(byte(v.Kind)) //nolint:gosec // there are seven kinds
	e.pos(v.Pos)
	switch v.Kind {
	case object.KindBool, object.KindNumber, object.KindString:
		e.text(v.Text)
	case object.KindMap:
		encodeList(e, v.Members, func(m object.Member) {
			e.text(m.Name)
			e.pos(m.Pos)
			e.value(m.Value, depth+1)
		})
	case object.KindList:
		encodeList(e, v.Items, func(item object.Value) { e.value(item, depth+1) })
	default:
	}
}

func (d *decoder) value(depth int) object.Value {
	if depth > wireDepth {
		d.fail(errDeep)
		return object.Value{}
	}
	v := object.Value{Kind: object.Kind(d.byte()), Pos: d.pos()}
	switch v.Kind {
	case object.KindNone, object.KindNull:
	case object.KindBool, object.KindNumber, object.KindString:
		v.Text = d.text()
	case object.KindMap:
		v.Members = decodeList(d, func() object.Member {
			return object.Member{Name: d.text(), Pos: d.pos(), Value: d.value(depth + 1)}
		})
	case object.KindList:
		v.Items = decodeList(d, func() object.Value { return d.value(depth + 1) })
	default:
		d.fail(fmt.Errorf("unknown kind of value %d", v.Kind))
	}
	return v
}

// The types of a part of an object.
const (
	anyNull byte = iota
	anyFalse
	anyTrue
	anyInt
	anyFloat
	anyText
	anyList
	anyMap
)

// any writes a part of an object: one of the types that [object.Object] names.
func (e *encoder) any(v any, depth int) {
	if depth > wireDepth {
		e.fail(errDeep)
		return
	}
	switch v := v.(type) {
	case nil:
		e.byte(anyNull)
	case bool:
		if v {
			e.byte(anyTrue)
			return
		}
		e.byte(anyFalse)
	case int64:
		e.byte(anyInt)
		e.int64(v)
	case float64:
		e.byte(anyFloat)
		e.float64(v)
	case string:
		e.byte(anyText)
		e.text(v)
	case []any:
		e.byte(anyList)
		encodeList(e, v, func(item any) { e.any(item, depth+1) })
	case map[string]any:
		e.byte(anyMap)
		encodeMap(e, v, func(item any) { e.any(item, depth+1) })
	default:
		e.fail(fmt.Errorf("an object holds a Go %T, which is no JSON", v))
	}
}

func (d *decoder) any(depth int) any {
	if depth > wireDepth {
		d.fail(errDeep)
		return nil
	}
	switch kind := d.byte(); kind {
	case anyNull:
		return nil
	case anyFalse:
		return false
	case anyTrue:
		return true
	case anyInt:
		return d.int64()
	case anyFloat:
		return d.float64()
	case anyText:
		return d.text()
	case anyList:
		return decodeList(d, func() any { return d.any(depth + 1) })
	case anyMap:
		return decodeMap(d, func() any { return d.any(depth + 1) })
	default:
		d.fail(fmt.Errorf("unknown type of JSON %d", kind))
		return nil
	}
}

// causes is what a caller may look for in an error with errors.Is. Of anything
// else only the text travels.
func causes() [3]error { return [...]error{ErrCrashed, ErrTimeout, ErrMemory} }

func (e *encoder) cause(err error) {
	if err == nil {
		e.byte(0)
		return
	}
	kind := byte(1)
	for i, c := range causes() {
		if errors.Is(err, c) {
			kind = byte(i + 2) //nolint:gosec // there are three
		}
	}
	e.byte(kind)
	e.text(err.Error())
}

func (d *decoder) cause() error {
	kind := int(d.byte())
	if kind == 0 {
		return nil
	}
	text := d.text()
	for i, c := range causes() {
		if kind == i+2 {
			return &causeError{text: text, cause: c}
		}
	}
	return errors.New(text)
}

// mistakes writes errors.
func (e *encoder) mistakes(list object.Errors) {
	encodeList(e, list, func(m *object.Error) {
		e.text(string(m.Stage))
		e.int(int(m.Severity))
		e.pos(m.Pos)
		e.text(m.Path)
		e.text(string(m.Node))
		e.text(m.Policy)
		e.cause(m.Err)
		e.text(m.Hint)
		encodeList(e, m.Notes, func(n object.Note) { e.pos(n.Pos); e.text(n.Text) })
	})
}

func (d *decoder) mistakes() object.Errors {
	return decodeList(d, func() *object.Error {
		m := &object.Error{
			Stage: object.Stage(d.text()), Severity: object.Severity(d.int()), Pos: d.pos(),
			Path: d.text(), Node: object.ID(d.text()), Policy: d.text(),
		}
		m.Err, m.Hint = d.cause(), d.text()
		m.Notes = decodeList(d, func() object.Note { return object.Note{Pos: d.pos(), Text: d.text()} })
		return m
	})
}
