// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// Report gathers the findings of one object.
type Report struct {
	Node     object.ID
	Root     object.Object
	Secret   bool // no value of the object may be shown
	Minor    int  // the minor version of Kubernetes that it is for, 0 for the newest that is known
	Findings []Finding
}

// Value is a position in an object, with its content. Paths are spelled out
// only for findings, so that a good object costs no paths.
type Value struct {
	Report *Report
	Parent *Value
	Step   object.Step
	Raw    any
}

// NewValue returns the root of an object.
func NewValue(r *Report) *Value { return &Value{Report: r, Raw: map[string]any(r.Root)} }

// WithRaw returns the same position with other content.
func (a *Value) WithRaw(raw any) *Value {
	return &Value{Report: a.Report, Parent: a.Parent, Step: a.Step, Raw: raw}
}

// Node returns the node of the object.
func (a *Value) Node() object.ID { return a.Report.Node }

// Root returns the object.
func (a *Value) Root() object.Object { return a.Report.Root }

// Secret reports whether no value of the object may be shown.
func (a *Value) Secret() bool { return a.Report.Secret }

// Field returns the member called name, which need not exist.
func (a *Value) Field(name string) *Value {
	m, _ := a.Raw.(map[string]any)
	return &Value{Report: a.Report, Parent: a, Step: object.Field(name), Raw: m[name]}
}

// In follows fields.
func (a *Value) In(names ...string) *Value {
	for _, n := range names {
		a = a.Field(n)
	}
	return a
}

// Items returns the items of a list, and none for any other value.
func (a *Value) Items() []*Value {
	l, _ := a.Raw.([]any)
	if len(l) == 0 {
		return nil
	}
	values := make([]Value, len(l))
	items := make([]*Value, len(l))
	for i, v := range l {
		values[i] = Value{Report: a.Report, Parent: a, Step: object.Index(i), Raw: v}
		items[i] = &values[i]
	}
	return items
}

// Names returns the names of the members of a map, in order.
func (a *Value) Names() []string {
	m, _ := a.Raw.(map[string]any)
	return object.SortedKeys(m)
}

// Size returns the number of items or members.
func (a *Value) Size() int {
	switch v := a.Raw.(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}

// Has reports whether there is anything but null.
func (a *Value) Has() bool { return a.Raw != nil }

// Present reports whether the member exists, be it as null.
func (a *Value) Present() bool {
	m, _ := a.Parent.Raw.(map[string]any)
	_, ok := m[a.Step.Name]
	return ok
}

// Empty reports whether a Go decoder would leave the value unset:
// nothing, null, "", 0, false, or no members.
func (a *Value) Empty() bool {
	switch v := a.Raw.(type) {
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
	return a.Size() == 0
}

// Text returns the string, or "" for any other value.
func (a *Value) Text() string {
	s, _ := a.Raw.(string)
	return s
}

// Bool returns the boolean, or false for any other value.
func (a *Value) Bool() bool {
	b, _ := a.Raw.(bool)
	return b
}

// Int returns the integer, and reports whether the value is an integer.
func (a *Value) Int() (int64, bool) {
	i, ok := a.Raw.(int64)
	return i, ok
}

// Path returns the path from the root of the object.
func (a *Value) Path() object.Path {
	var p object.Path
	for ; a.Parent != nil; a = a.Parent {
		p = append(p, a.Step)
	}
	slices.Reverse(p)
	return p
}

// Fail adds an error; the result is valid until the next finding and can be given a
// hint.
func (a *Value) Fail(rule, format string, args ...any) *Finding {
	return a.FailAt(a.Path(), rule, fmt.Sprintf(format, args...))
}

// FailAt adds an error at a path of the same object.
func (a *Value) FailAt(path object.Path, rule, message string) *Finding {
	r := a.Report
	r.Findings = append(r.Findings, Finding{Node: r.Node, Path: path, Rule: rule, Message: message})
	return &r.Findings[len(r.Findings)-1]
}

// Warn adds a warning.
func (a *Value) Warn(rule, format string, args ...any) *Finding {
	f := a.Fail(rule, format, args...)
	f.Severity = object.SeverityWarning
	return f
}

// Missing reports that a member is required.
func (a *Value) Missing(name string) *Finding {
	return a.Field(name).Fail(RuleRequired, "is required")
}

// WrongType reports that the value has another type than expected.
func (a *Value) WrongType(expected string) *Finding {
	return a.Fail(RuleSchema, "expected %s, found %s", expected, Typed(a.Raw, a.Secret()))
}

// Mistyped reports that the value should be of a type of OpenAPI.
func (a *Value) Mistyped(kind string) {
	if f := a.WrongType(TypeName(kind)); !a.Secret() {
		f.Hint = TypeHint(kind, a.Raw)
		// In CUE text without quotes is a field with a value: image: nginx:1.29.
		path := a.Path()
		m, isMap := a.Raw.(map[string]any)
		isImage := len(path) > 0 && path[len(path)-1].Name == "image"
		if isMap && isImage && len(m) == 1 {
			for name, tag := range m {
				f.Hint = fmt.Sprintf("in CUE text stands in quotes: \"%s:%v\"", name, tag)
			}
		}
	}
}

// Show returns the value for a message: quoted and shortened. In an object that may hold secrets
// it returns only the type.
func (a *Value) Show() string { return Describe(a.Raw, a.Secret()) }
