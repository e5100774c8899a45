// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"

	"github.com/ropewalk/ropewalk/render/object"
)

// part is a part of the files with the way to it. The zero Value is one that was not
// given. The methods that read a value report one of the wrong kind; variables make text of
// what is a number or a bool, so that text is read as those too.
type part struct {
	*reading
	object.Value
	path object.Path
}

// member is a member of a map.
type member struct {
	part
	name    string
	namePos object.Pos
}

func (p part) given() bool { return p.Kind != object.KindNone && p.Kind != object.KindNull }

func (p part) fail(hint, format string, args ...any) {
	p.report(object.SeverityError, hint, format, args...)
}

func (p part) warn(hint, format string, args ...any) {
	p.report(object.SeverityWarning, hint, format, args...)
}

func (p part) report(s object.Severity, hint, format string, args ...any) {
	if len(p.errs) < maxErrors {
		p.errs = append(p.errs, &object.Error{
			Stage: object.StageSpec, Severity: s, Pos: p.Pos, Path: p.path.String(), Err: fmt.Errorf(format, args...), Hint: hint,
		})
	}
}

// is reports whether p is of a kind, and adds an error where it is of another one.
func (p part) is(want object.Kind) bool {
	if p.given() && p.Kind != want {
		p.fail("", "expected a %s, got a %s", want, p.Kind)
	}
	return p.Kind == want
}

func (p part) get(name string) part {
	v, ok := p.Get(name)
	if !ok {
		v.Pos = p.Pos
	}
	return part{p.reading, v, p.path.Append(object.Field(name))}
}

// has reports whether a map has a member, which may be null.
func (p part) has(name string) bool {
	_, ok := p.Get(name)
	return ok
}

// at is the part at the end of a way.
func (p part) at(names ...string) part {
	for _, name := range names {
		p = p.get(name)
	}
	return p
}

// only reports the members of a map that are not known; in compose files names that begin
// with x- are free.
func (p part) only(known ...string) {
	if !p.is(object.KindMap) {
		return
	}
	for _, m := range p.Members {
		if !slices.Contains(known, m.Name) && (p.ours || !strings.HasPrefix(m.Name, "x-")) {
			at := p.get(m.Name)
			at.Pos = m.Pos
			at.fail(object.Suggest(m.Name, known), "unknown field %q", m.Name)
		}
	}
}

// unused warns of members that mean nothing in Kubernetes.
func (p part) unused(names ...string) {
	for _, name := range names {
		if at := p.get(name); at.given() {
			at.warn("remove it", "%s has no meaning in Kubernetes", name)
		}
	}
}

// items are the items of a list, without those that a mistake has emptied.
func (p part) items() []part {
	if !p.is(object.KindList) {
		return nil
	}
	out := make([]part, 0, len(p.Items))
	for i, v := range p.Items {
		if v.Kind != object.KindNull {
			out = append(out, part{p.reading, v, p.path.Append(object.Index(i))})
		}
	}
	return out
}

// oneOrMore is the items of a list, or the one that p is.
func (p part) oneOrMore() []part {
	if p.given() && p.Kind != object.KindList {
		return []part{p}
	}
	return p.items()
}

func (p part) members() []member {
	if !p.is(object.KindMap) {
		return nil
	}
	out := make([]member, len(p.Members))
	for i, m := range p.Members {
		v := m.Value
		if v.Kind == object.KindNull {
			v.Pos = m.Pos
		}
		out[i] = member{part{p.reading, v, p.path.Append(object.Field(m.Name))}, m.Name, m.Pos}
	}
	return out
}

// text is a string; numbers are as they were written.
func (p part) text() string {
	if p.Kind == object.KindNumber {
		return p.Written()
	}
	if p.Kind != object.KindBool && !p.is(object.KindString) {
		return ""
	}
	return p.Text
}

func (p part) flag() bool {
	switch p.text() {
	case "", "false":
		return false
	case "true":
		return true
	}
	p.fail("", "expected true or false")
	return false
}

// integer is a whole number from least on; false where there is none.
func (p part) integer(least int) (int, bool) {
	if !p.given() {
		return 0, false
	}
	n, err := strconv.Atoi(p.text())
	if err != nil || n < least || n > math.MaxInt32 {
		p.fail("", "expected a whole number from %d on", least)
		return 0, false
	}
	return n, true
}

// bytes is an amount of memory such as 512m, as a quantity of Kubernetes.
func (p part) bytes() object.Value {
	if !p.given() {
		return object.Value{}
	}
	n, err := units.RAMInBytes(p.text())
	if err != nil || n < 0 {
		p.fail("", "expected an amount of memory, such as 512m or 1g")
		return object.Value{}
	}
	const step = 1024
	unit := 0
	for n > 0 && n%step == 0 && unit < len(binaryUnits)-1 {
		n, unit = n/step, unit+1
	}
	return text(strconv.FormatInt(n, 10)+binaryUnits[unit], p.Pos)
}

var binaryUnits = [...]string{"", "Ki", "Mi", "Gi", "Ti"} //nolint:gochecknoglobals // a constant

// seconds is a duration in full seconds, rounded up; def where there is none.
func (p part) seconds(def int) int {
	if !p.given() {
		return def
	}
	d, err := time.ParseDuration(p.text())
	if err != nil || d < 0 || d > math.MaxInt32*time.Second {
		p.fail("", "expected a duration, such as 30s or 1m30s")
		return def
	}
	return int(math.Ceil(d.Seconds()))
}

// fields is a map in the making.
type fields []object.Member

// put adds a field, and nothing where the value is nothing.
func (f *fields) put(name string, v object.Value) {
	if v.Kind != object.KindNone && v.Kind != object.KindNull {
		*f = append(*f, object.Member{Name: name, Pos: v.Pos, Value: v})
	}
}

// value is the map, nothing where it has no fields.
func (f fields) value(pos object.Pos) object.Value {
	if len(f) == 0 {
		return object.Value{}
	}
	return object.Value{Kind: object.KindMap, Pos: pos, Members: f}
}

func text(s string, pos object.Pos) object.Value {
	return object.Value{Kind: object.KindString, Pos: pos, Text: s}
}

func number(n int, pos object.Pos) object.Value {
	return object.Value{Kind: object.KindNumber, Pos: pos, Text: strconv.Itoa(n)}
}

func boolean(b bool, pos object.Pos) object.Value {
	return object.Value{Kind: object.KindBool, Pos: pos, Text: strconv.FormatBool(b)}
}

// list is a list of values, nothing where there are none.
func list(pos object.Pos, items ...object.Value) object.Value {
	if len(items) == 0 {
		return object.Value{}
	}
	return object.Value{Kind: object.KindList, Pos: pos, Items: items}
}

// pairs is a map of names and values in turn.
func pairs(pos object.Pos, of ...any) object.Value {
	var f fields
	for i := 0; i+1 < len(of); i += 2 {
		f.put(of[i].(string), of[i+1].(object.Value)) //nolint:forcetypeassert // by callers of this package
	}
	return f.value(pos)
}
