// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/object"
)

// CUE hides errors behind others, so an input that is wrong is validated again
// without its wrong parts until nothing is left to say, at most this often.
const maxRounds = 32

// mistake is one thing that is wrong in an input.
type mistake struct {
	// path leads to it from the root of the input.
	path object.Path
	// missing parts are not in the input, unknown ones should not be.
	missing, unknown bool
	message          string
	// demands are the lines of the module that ask for something else.
	demands []token.Pos
	// key is set where the name is wrong, not the value.
	key bool
}

// scope is a part of an input and the schema that it is held against.
type scope struct {
	// schema is what an input is unified with, before it is.
	schema cue.Value
	// skip is how many labels of CUE's paths lead to the part.
	skip int
	// try validates one version of the part.
	try      func(object.Value) (*filling, error)
	deadline time.Time
	// depth counts the scopes around this one.
	depth int
}

// mistakes finds all that is wrong with given.
func (sc scope) mistakes(input object.Value) []mistake {
	var found []mistake
	gone := map[string]bool{}
	for round := range maxRounds {
		if round > 0 && time.Now().After(sc.deadline) {
			break
		}
		with, err := sc.try(input)
		if err == nil {
			break
		}
		progress := false
		for _, m := range sc.read(err, with, input, gone, round) {
			found = append(found, m)
			gone[m.path.String()] = true
			switch {
			case m.missing:
			case m.unknown:
				input, progress = input.Without(m.path), true
			default:
				if _, n := input.Lookup(m.path); n == len(m.path) {
					input, progress = blank(input, m.path), true
				}
			}
		}
		if !progress {
			break
		}
	}
	return found
}

// blank is v with a part that says nothing at p, so that the parts beside it
// keep their numbers.
func blank(v object.Value, p object.Path) object.Value {
	if len(p) == 0 {
		return object.Value{Pos: v.Pos}
	}
	s := p[0]
	if s.IsIndex {
		items := append([]object.Value{}, v.Items...)
		items[s.Index] = blank(items[s.Index], p[1:])
		v.Items = items
		return v
	}
	members := append([]object.Member{}, v.Members...)
	for i, m := range members {
		if m.Name == s.Name {
			members[i].Value = blank(m.Value, p[1:])
		}
	}
	v.Members = members
	return v
}

// group is what CUE says about one path.
type group struct {
	path   object.Path
	errs   []cueerrors.Error
	places []int // entries of the filling
	// choice is set where CUE speaks of alternatives that all fail.
	choice bool
}

// read turns the errors of one round into mistakes, one for each path.
func (sc scope) read(err error, with *filling, input object.Value, gone map[string]bool, round int) []mistake {
	groups := sc.groups(err, with, input)
	var out []mistake
	var folded []object.Path
	for _, g := range groups {
		if isGone(gone, g.path) || below(folded, g.path) {
			continue
		}
		if g.choice && (hasBelow(groups, g.path) || isCollection(input, g.path)) {
			if near := sc.nearest(groups, g, input); len(near) > 0 {
				folded = append(folded, g.path)
				out = append(out, near...)
				continue
			}
		}
		if m, ok := sc.say(g, with, input, round); ok {
			out = append(out, m)
		}
	}
	return out
}

// groups puts the errors of one path together, in the order in which CUE
// found them.
func (sc scope) groups(err error, with *filling, input object.Value) []*group {
	var out []*group
	index := map[string]*group{}
	for _, e := range cueerrors.Errors(err) {
		path := inputPath(e.Path(), sc.skip, input)
		key := path.String()
		g := index[key]
		if g == nil {
			g = &group{path: path}
			index[key] = g
			out = append(out, g)
		}
		if format, _ := e.Msg(); strings.Contains(format, "empty disjunction") {
			g.choice = true
			continue
		}
		g.errs = append(g.errs, e)
		for _, p := range cueerrors.Positions(e) {
			if i := with.at(p); i > 0 {
				g.places = append(g.places, i)
			}
		}
	}
	return out
}

// inputPath turns labels of CUE into a path of input.
func inputPath(labels []string, skip int, input object.Value) object.Path {
	if len(labels) < skip {
		return nil
	}
	var path object.Path
	at := input
	for _, l := range labels[skip:] {
		step := object.Field(unquote(l))
		if n, err := strconv.Atoi(l); err == nil && at.Kind != object.KindMap {
			step = object.Index(n)
		}
		path = append(path, step)
		next, n := at.Lookup(object.Path{step})
		if n == 0 {
			next = object.Value{}
		}
		at = next
	}
	return path
}

func unquote(label string) string {
	if s, err := strconv.Unquote(label); err == nil {
		return s
	}
	return label
}

// isGone reports whether path is, or is below, a part that was taken out.
func isGone(gone map[string]bool, path object.Path) bool {
	for i := range path {
		if gone[path[:i+1].String()] {
			return true
		}
	}
	return gone[""]
}

func below(roots []object.Path, path object.Path) bool {
	for _, r := range roots {
		if isPrefix(r, path) {
			return true
		}
	}
	return false
}

func hasBelow(groups []*group, path object.Path) bool {
	for _, g := range groups {
		if len(g.path) > len(path) && isPrefix(path, g.path) {
			return true
		}
	}
	return false
}

// isCollection reports whether a list or a map is at path. CUE says of one in a
// disjunction what is wrong with its parts, and not always with which.
func isCollection(input object.Value, path object.Path) bool {
	v, n := input.Lookup(path)
	return n == len(path) && (v.Kind == object.KindList || v.Kind == object.KindMap)
}

func isPrefix(a, b object.Path) bool {
	if len(a) > len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// formats of CUE's messages that are told apart.
const (
	formatUnknown    = "field not allowed"
	formatRequired   = "field is required but not present"
	formatIncomplete = "incomplete value %v"
	formatKinds      = "conflicting values %s and %s (mismatched types %s and %s)"
	formatConflict   = "conflicting values %s and %s"
	formatBound      = "invalid value %v (out of bound %s)"
)

// say puts a group into words. It reports false where the group only says
// that something which was taken out is not there.
func (sc scope) say(g *group, with *filling, input object.Value, round int) (mistake, bool) {
	m := mistake{path: g.path}
	value, n := input.Lookup(g.path)
	present := n == len(g.path)
	schema := schemaAt(sc.schema, g.path)
	m.demands = demands(g, with, schema)
	unsure := round > 0
	for _, e := range g.errs {
		format, _ := e.Msg()
		switch {
		case format == formatUnknown:
			m.unknown, m.key = true, true
			m.message = sc.unknown(g.path)
			return m, true
		case format == formatRequired || format == formatIncomplete && !present:
			m.missing = true
			m.message = "is missing"
			if text := expected(schema); text != "" {
				m.message += ", expected " + text
			}
			return m, true
		case format == formatKinds, format == formatConflict, format == formatBound:
			unsure = false
		case strings.HasPrefix(format, "invalid value"):
			unsure = false
		}
	}
	if unsure || len(g.errs) == 0 {
		return m, false
	}
	m.message = wrong(g, schema, value)
	return m, true
}

// demands are the places of the module that a group is about: the field of the
// schema, or where there is none all that CUE names.
func demands(g *group, with *filling, schema cue.Value) []token.Pos {
	if schema.Exists() && schema.Pos().HasAbsPos() {
		return []token.Pos{schema.Pos()}
	}
	var places []token.Pos
	for _, e := range g.errs {
		for _, p := range cueerrors.Positions(e) {
			if with.at(p) == 0 {
				places = append(places, p)
			}
		}
	}
	return places
}

// unknown is the message for a field at path that the schema does not have.
func (sc scope) unknown(path object.Path) string {
	if len(path) == 0 {
		return "is not known here"
	}
	last := len(path) - 1
	return unknownField(path[last].Name, knownFields(schemaAt(sc.schema, path[:last])))
}

// wrong says what was expected instead of value. The schema has the better
// words, but what depends on other parts of the input is only in the errors.
func wrong(g *group, schema cue.Value, value object.Value) string {
	if schema.Exists() && value.Kind != object.KindNone {
		alone := schema.Unify(fill(part{field: fieldInput, value: value}).value)
		if alone.Validate() != nil {
			if text := expected(schema); text != "" {
				return "expected " + text + ", got " + got(value) + detail(g.errs) + nearestLiteral(schema, value)
			}
		}
	}
	return conflict(g.errs, value)
}

// detail is what a validator of CUE's library adds to its refusal.
func detail(errs []cueerrors.Error) string {
	for _, e := range errs {
		format, _ := e.Msg()
		if !strings.HasPrefix(format, "invalid value %s (does not satisfy %s)") {
			continue
		}
		if _, text, ok := strings.Cut(e.Error(), "): "); ok {
			return " (" + oneLineOf(text) + ")"
		}
	}
	return ""
}

// conflict says in words what CUE's errors have against a value.
func conflict(errs []cueerrors.Error, value object.Value) string {
	var wants []string
	fallback := ""
	for _, e := range errs {
		format, args := e.Msg()
		switch format {
		case formatKinds, formatConflict:
			want, ok := otherThan(value, fmt.Sprint(args[0]), fmt.Sprint(args[1]))
			if !ok {
				fallback = fmt.Sprintf("%s and %s are demanded at once", want, fmt.Sprint(args[1]))
				continue
			}
			wants = append(wants, want)
		case formatBound:
			wants = append(wants, bound(fmt.Sprint(args[1])))
		default:
			fallback = oneLineOf(words(e))
		}
	}
	if len(wants) == 0 {
		return fallback
	}
	return "expected " + best(wants) + ", got " + got(value)
}

// nearestLiteral suggests the allowed text that value was probably meant to be.
func nearestLiteral(schema cue.Value, value object.Value) string {
	if value.Kind != object.KindString {
		return ""
	}
	d := &demand{kind: cue.TopKind}
	d.read(schema, 0)
	var words []string
	for _, l := range d.literals {
		if text, err := strconv.Unquote(l); err == nil {
			words = append(words, text)
		}
	}
	return nearest(value.Text, words)
}
