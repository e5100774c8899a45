// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// walk is the check of one object: it gathers the findings.
type walk struct {
	schemas  *Schemas
	node     object.ID
	root     object.Object
	secret   bool // no value of the object may be shown
	findings []Finding
}

// at is a place in an object. Paths are spelled out only for findings, so
// that a good object costs none.
type at struct {
	w      *walk
	parent *at
	step   object.Step
	v      any
}

// field is the place of the member called name; there need not be one.
func (a *at) field(name string) *at {
	m, _ := a.v.(map[string]any)
	return &at{w: a.w, parent: a, step: object.Field(name), v: m[name]}
}

// in follows fields.
func (a *at) in(names ...string) *at {
	for _, n := range names {
		a = a.field(n)
	}
	return a
}

// items is the places of the items of a list; none where it is no list.
func (a *at) items() []*at {
	l, _ := a.v.([]any)
	if len(l) == 0 {
		return nil
	}
	places := make([]at, len(l))
	out := make([]*at, len(l))
	for i, v := range l {
		places[i] = at{w: a.w, parent: a, step: object.Index(i), v: v}
		out[i] = &places[i]
	}
	return out
}

// names is the member names of a map, in order.
func (a *at) names() []string {
	m, _ := a.v.(map[string]any)
	return object.SortedKeys(m)
}

// size is the number of items or members.
func (a *at) size() int {
	switch v := a.v.(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}

// has reports whether anything but null stands here.
func (a *at) has() bool { return a.v != nil }

// present reports whether the member stands there, be it as null.
func (a *at) present() bool {
	m, _ := a.parent.v.(map[string]any)
	_, ok := m[a.step.Name]
	return ok
}

// empty reports whether what stands here is what a Go decoder would leave
// unset: nothing, null, "", 0, false, or no members.
func (a *at) empty() bool {
	switch v := a.v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case int64:
		return v == 0
	case float64:
		return v == 0
	case bool:
		return !v
	}
	return a.size() == 0
}

// text is the string here, "" where it is none.
func (a *at) text() string {
	s, _ := a.v.(string)
	return s
}

// truth is the boolean here, false where it is none.
func (a *at) truth() bool {
	b, _ := a.v.(bool)
	return b
}

// integer is the integer here.
func (a *at) integer() (int64, bool) {
	i, ok := a.v.(int64)
	return i, ok
}

// path is the path from the root of the object.
func (a *at) path() object.Path {
	var p object.Path
	for ; a.parent != nil; a = a.parent {
		p = append(p, a.step)
	}
	slices.Reverse(p)
	return p
}

// fail adds an error at a; the result lives until the next one and is there
// to take a hint.
func (a *at) fail(rule, format string, args ...any) *Finding {
	a.w.findings = append(a.w.findings, Finding{
		Node: a.w.node, Path: a.path(), Rule: rule, Message: fmt.Sprintf(format, args...),
	})
	return &a.w.findings[len(a.w.findings)-1]
}

// warn adds a warning at a.
func (a *at) warn(rule, format string, args ...any) *Finding {
	f := a.fail(rule, format, args...)
	f.Severity = object.SeverityWarning
	return f
}

// missing says that a member is required.
func (a *at) missing(name string) *Finding {
	return a.field(name).fail(RuleRequired, "is required")
}

// show is the value here for a message: quoted, shortened, and only its type
// in an object that may hold secrets.
func (a *at) show() string { return describe(a.v, a.w.secret) }
