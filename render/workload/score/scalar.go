// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/render/object"
)

// text is a string; what is none is an error.
func (p part) text() Text {
	if !p.is(object.KindString) {
		return Text{Pos: p.Pos}
	}
	return Text{Value: p.Text, Pos: p.Pos}
}

// filled is a string that is not empty.
func (p part) filled() Text {
	t := p.text()
	if p.Kind == object.KindString && t.Value == "" {
		p.fail("", "must not be empty")
	}
	return t
}

// loose is a string, or an integer or bool that is read as one with a warning:
// older files have PORT: 8080. A number with a point is refused, because a reader
// cannot distinguish 1.10 from 1.1. Messages do not repeat the text: it may be a
// password.
func (p part) loose() Text {
	const hint = "write it in quotes"
	switch {
	case p.Kind == object.KindBool, p.Kind == object.KindNumber && !strings.ContainsAny(p.Text, ".eE"):
		p.warn(hint, "expected a string, got a %s, which is read as text", p.Kind)
		return Text{Value: p.Written(), Pos: p.Pos}
	case p.Kind == object.KindNumber:
		p.fail(hint, "expected a string, got a number")
	case p.Kind == object.KindNull:
		p.fail(`write "" for empty text`, "expected a string, got null")
	default:
		return p.text()
	}
	return Text{Pos: p.Pos}
}

// texts is a list of strings.
func (p part) texts() []Text {
	if p.Kind == object.KindString {
		p.fail(`write a list, such as ["/bin/app", "--verbose"]`, "expected a list, got a string")
		return nil
	}
	var out []Text
	if p.given() {
		for _, item := range p.items() {
			out = append(out, item.loose())
		}
	}
	return out
}

// flag is a bool, false where it is not given.
func (p part) flag() bool {
	return p.given() && p.is(object.KindBool) && p.Text == "true"
}

// enum is a string out of a set, "" where it is none of them.
func (p part) enum(values ...string) Text {
	t := p.text()
	if p.Kind != object.KindString || slices.Contains(values, t.Value) {
		return t
	}
	hint := ""
	for _, v := range values {
		if strings.EqualFold(v, t.Value) {
			hint = "write " + strconv.Quote(v)
		}
	}
	if near, ok := nearest(t.Value, values); ok && hint == "" {
		hint = "did you mean " + strconv.Quote(near) + "?"
	}
	p.fail(hint, "%s is not known: expected %s", shown(t.Value), strings.Join(values, " or "))
	return Text{Pos: p.Pos}
}

func nearest(word string, known []string) (string, bool) {
	if len(word) > longWord {
		return "", false
	}
	return object.Nearest(word, known)
}

// number is an integer from least to most; ok is false where it is none or was
// not given.
func (p part) number(least, most int) (n int, ok bool) {
	if !p.given() {
		return 0, false
	}
	if p.Kind != object.KindNumber {
		hint := ""
		if _, err := strconv.Atoi(p.Text); err == nil && p.Kind == object.KindString {
			hint = "write it without quotes"
		}
		p.fail(hint, "expected an integer, got a %s", p.Kind)
		return 0, false
	}
	n, err := strconv.Atoi(p.Text)
	switch {
	case err != nil:
		p.fail("", "expected an integer, got %s", shown(p.Text))
	case n < least || n > most:
		p.fail("", "%d is out of range: expected %d to %d", n, least, most)
	default:
		return n, true
	}
	return 0, false
}

// seconds is number for seconds, which the name of the field does not say.
func (p part) seconds(least, most int) (n int, ok bool) {
	if !p.given() || p.Kind == object.KindNumber {
		return p.number(least, most)
	}
	hint, text := "write one such as 30", p.Text
	if _, err := strconv.Atoi(text); err == nil {
		text += "s"
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 && d%time.Second == 0 {
		hint = "write " + strconv.FormatInt(int64(d/time.Second), 10)
	}
	p.fail(hint, "expected a number of seconds, got a %s", p.Kind)
	return 0, false
}

// open is a map that is passed on as it is, in the shape of the Kubernetes API;
// of the names in owned, the hint names the field to use instead.
func (p part) open(owned func(name string) string) object.Value {
	if !p.given() || !p.is(object.KindMap) {
		return object.Value{}
	}
	for _, m := range p.Members {
		if owned == nil {
			break
		}
		if hint := owned(m.Name); hint != "" {
			p.decoder.fail(m.Pos, p.field(m.Name), hint, "%q is set by Ropewalk", m.Name)
		}
	}
	p.literals(useValue)
	return withoutNull(p.Value)
}

// withoutNull is v less the members that are null: they count as not given.
func withoutNull(v object.Value) object.Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m object.Member) bool {
		return m.Value.Kind == object.KindNull
	})
	return v
}

// pairs is a map of texts whose names and values are checked; the checks report
// what is wrong. Sorted by name.
func (p part) pairs(name, value func(string) string) []Pair {
	if !p.given() {
		return nil
	}
	entries := p.entries()
	out := make([]Pair, 0, len(entries))
	for _, e := range entries {
		if bad := name(e.name); bad != "" {
			p.decoder.fail(e.namePos, e.at, "", "%s %s", shown(e.name), bad)
		}
		t := e.loose()
		if bad := value(t.Value); bad != "" {
			e.fail("", "the value %s", bad)
		}
		out = append(out, Pair{Name: e.name, NamePos: e.namePos, Value: t})
	}
	slices.SortFunc(out, comparePairs)
	return out
}

func comparePairs(a, b Pair) int { return strings.Compare(a.Name, b.Name) }

// over is under with the pairs of top merged over it, sorted.
func over(under, top []Pair) []Pair {
	if len(under) == 0 || len(top) == 0 {
		return append(under, top...)
	}
	out := slices.Clone(top)
	for _, u := range under {
		if _, found := slices.BinarySearchFunc(top, u, comparePairs); !found {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, comparePairs)
	return out
}
