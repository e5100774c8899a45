// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"fmt"
	"slices"
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

// Mistake is one thing that is wrong in an input.
type Mistake struct {
	// Path leads to it from the root of the input.
	Path object.Path
	// Missing parts are not in the input, unknown ones should not be.
	Missing, unknown bool
	Message, Hint    string
	// Demands are the lines of the module that ask for something else.
	Demands []token.Pos
	// Key is set if the name is wrong, not the value.
	Key bool
	// inner is an unknown field in a map that the schema does not show: CUE names it
	// instead of the map, unless nothing else is wrong.
	inner bool
}

// Scope is a part of an input and the schema that it is held against.
type Scope struct {
	// schema is the value that an input is unified with, without the input.
	schema cue.Value
	// skip counts the labels of CUE's paths that lead to the part.
	skip int
	// try validates one version of the part.
	try      func(object.Value) (Filled, error)
	deadline time.Time
	// depth counts the scopes around this scope.
	depth int
}

// findMistakes finds all that is wrong with the input. It looks until the deadline, and for a
// bounded number of rounds.
func (sc Scope) findMistakes(input object.Value) []Mistake {
	var allMistakes []Mistake
	gone := map[string]bool{}

	// Each round validates what is left of the input.
	for round := range maxRounds {
		if round > 0 && time.Now().After(sc.deadline) {
			break
		}
		f, err := sc.try(input)
		if err == nil {
			break
		}
		progress := false
		mistakes := sc.read(err, f.With, input, gone, round)

		// An inner mistake counts only if a round finds no other.
		for _, inner := range []bool{false, true} {
			for _, m := range mistakes {
				if m.inner != inner {
					continue
				}
				if inner && progress {
					continue // The next round finds it again, by its right name.
				}
				allMistakes = append(allMistakes, m)
				gone[m.Path.String()] = true
				switch {
				case m.Missing:
				case m.unknown:
					input = input.Without(m.Path)
					progress = true
				default:
					if _, n := input.Lookup(m.Path); n == len(m.Path) {
						input = blank(input, m.Path)
						progress = true
					}
				}
			}
		}

		// Without progress, the next round would find the same.
		if !progress || len(allMistakes) >= maxReported {
			break
		}
	}
	return sc.foldMisspelt(allMistakes)
}

// foldMisspelt returns mistakes without the fields that are missing only because they are misspelt.
func (sc Scope) foldMisspelt(mistakes []Mistake) []Mistake {
	misspelt := map[string]bool{}
	for i, m := range mistakes {
		if last := len(m.Path) - 1; m.unknown && last >= 0 {
			if name := containedName(mistakes, m); name != "" {
				mistakes[i].Message = fmt.Sprintf("unknown field %q, did you mean %q?", m.Path[last].Name, name)
				misspelt[m.Path[:last].Append(object.Field(name)).String()] = true
				continue
			}
			if name, ok := object.Nearest(m.Path[last].Name, KnownFields(SchemaAt(sc.schema, m.Path[:last]))); ok {
				misspelt[m.Path[:last].Append(object.Field(name)).String()] = true
			}
		}
	}
	return slices.DeleteFunc(mistakes, func(m Mistake) bool { return m.Missing && misspelt[m.Path.String()] })
}

// containedName returns the name of the missing field beside m that the name of m contains, such as
// port for containerPort. It returns "" if there is no such field.
func containedName(mistakes []Mistake, m Mistake) string {
	last := len(m.Path) - 1
	for _, other := range mistakes {
		if !other.Missing || len(other.Path) != len(m.Path) || !IsPrefix(m.Path[:last], other.Path) {
			continue
		}
		name := other.Path[last].Name
		if len(name) > 2 && strings.Contains(strings.ToLower(m.Path[last].Name), strings.ToLower(name)) {
			return name
		}
	}
	return ""
}

// blank returns v with an empty value at p. The part stays, so that the parts beside it keep their
// numbers.
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

// maxReported limits the errors of CUE that are explained: each costs a walk over the input.
const maxReported = 1000

// Group holds the errors that CUE reports for one path.
type Group struct {
	Path    object.Path
	Errs    []cueerrors.Error
	Entries []int // of the filling
	// choice is set if CUE speaks of alternatives that all fail.
	choice bool
}

// read turns the errors of one round into mistakes, one for each path.
func (sc Scope) read(err error, filling *Filling, input object.Value, gone map[string]bool, round int) []Mistake {
	groups := sc.Groups(err, filling, input)
	var mistakes []Mistake
	var folded []object.Path
	for _, g := range groups {
		if isGone(gone, g.Path) || below(folded, g.Path) {
			continue
		}
		if g.choice && (hasBelow(groups, g.Path) || isCollection(input, g.Path)) {
			if near := sc.nearest(groups, g, input); len(near) > 0 {
				folded = append(folded, g.Path)
				mistakes = append(mistakes, near...)
				continue
			}
		}
		if m, ok := sc.describe(g, filling, input, round); ok {
			mistakes = append(mistakes, m)
		}
	}
	return mistakes
}

// Groups puts the errors of one path together, in the order in which CUE
// found them.
func (sc Scope) Groups(err error, filling *Filling, input object.Value) []*Group {
	var groups []*Group
	index := map[string]*Group{}
	all := cueerrors.Errors(err)
	for _, e := range all[:min(maxReported, len(all))] {
		path := inputPath(e.Path(), sc.skip, input)
		key := path.String()
		g := index[key]
		if g == nil {
			g = &Group{Path: path}
			index[key] = g
			groups = append(groups, g)
		}
		if format, _ := e.Msg(); strings.Contains(format, "empty disjunction") {
			g.choice = true
			continue
		}
		g.Errs = append(g.Errs, e)
		for _, p := range cueerrors.Positions(e) {
			if i := filling.At(p); i > 0 {
				g.Entries = append(g.Entries, i)
			}
		}
	}
	return groups
}

// inputPath turns labels of CUE into a path of input.
func inputPath(labels []string, skip int, input object.Value) object.Path {
	if len(labels) < skip {
		return nil
	}
	var path object.Path
	value := input
	for _, l := range labels[skip:] {
		step := object.Field(Unquote(l))
		if n, err := strconv.Atoi(l); err == nil && value.Kind != object.KindMap {
			step = object.Index(n)
		}
		path = append(path, step)
		next, n := value.Lookup(object.Path{step})
		if n == 0 {
			next = object.Value{}
		}
		value = next
	}
	return path
}

// Unquote returns a label of CUE without quotes.
func Unquote(label string) string {
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
		if IsPrefix(r, path) {
			return true
		}
	}
	return false
}

func hasBelow(groups []*Group, path object.Path) bool {
	for _, g := range groups {
		if len(g.Path) > len(path) && IsPrefix(path, g.Path) {
			return true
		}
	}
	return false
}

// isCollection reports whether a list or a map is at path. If it is in a disjunction, CUE reports
// what is wrong with its parts, and not always in which part.
func isCollection(input object.Value, path object.Path) bool {
	v, n := input.Lookup(path)
	return n == len(path) && (v.Kind == object.KindList || v.Kind == object.KindMap)
}

// IsPrefix reports whether b is a or below a.
func IsPrefix(a, b object.Path) bool {
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

// NoValue are the words of messages for a value that is not set.
const NoValue = "has no value"

// formats of CUE's messages that are told apart.
const (
	FormatUnknown    = "field not allowed"
	formatRequired   = "field is required but not present"
	formatIncomplete = "incomplete value %v"
	formatUndecided  = "incomplete %s: %s"
	formatKinds      = "conflicting values %s and %s (mismatched types %s and %s)"
	formatConflict   = "conflicting values %s and %s"
	formatBound      = "invalid value %v (out of bound %s)"
	formatBottom     = "explicit error (_|_ literal) in source"
	formatLengths    = "incompatible list lengths (%d and %d)"
)

func formatOf(e cueerrors.Error) string {
	format, _ := e.Msg()
	return format
}

// describe returns a group as a mistake. It reports false if the group only says that something
// which was taken out is absent.
func (sc Scope) describe(g *Group, filling *Filling, input object.Value, round int) (Mistake, bool) {
	// An absent part has no value.
	m := Mistake{Path: g.Path}
	value, n := input.Lookup(g.Path)
	present := n == len(g.Path)
	if !present {
		value = object.Value{} // Lookup gives what is nearest.
	}

	// The demands are the lines of the module that ask for something else.
	schema := SchemaAt(sc.schema, g.Path)
	m.Demands = Demands(g, filling, schema)

	// The first error that is about the field itself decides. After the first round, an error may be
	// about what was taken out: only conflicts are sure.
	unsure := round > 0
	for _, e := range g.Errs {
		format, _ := e.Msg()
		switch {
		case format == FormatUnknown:
			// CUE may name the first item of a list in place of the field that it does not know.
			for len(m.Path) > 1 && m.Path[len(m.Path)-1].IsIndex {
				m.Path = m.Path[:len(m.Path)-1]
			}
			m.unknown, m.Key = true, true
			m.inner = len(m.Path) > 0 && !SchemaAt(sc.schema, m.Path[:len(m.Path)-1]).Exists()
			m.Message = sc.unknownMessage(m.Path)
			return m, true
		case format == formatRequired || (format == formatIncomplete && !present):
			m.Missing = true
			m.Message = "is missing"
			if text := Expected(schema); text != "" {
				m.Message += ", expected " + text
			}
			m.Hint = cmp.Or(sc.mapHint(g.Path, schema, input), sc.strayHint(g.Path, input))
			return m, true
		case format == formatKinds, format == formatConflict, format == formatBound:
			unsure = false
		case strings.HasPrefix(format, "invalid value"):
			unsure = false
		}
	}
	if unsure || len(g.Errs) == 0 {
		return m, false
	}

	// The value is wrong.
	m.Message = wrong(g, schema, value)
	m.Hint = typeHint(schema, g.Errs, value)
	if value.Kind == object.KindNull && m.Hint == "" {
		m.Hint = sc.mapHint(g.Path, schema, input)
	}
	return m, true
}

// Demands returns the places of the module that a group is about: the field of the schema. Without a
// schema it returns all places that CUE names. It also does so for a _|_, because CUE reports a _|_
// at the value around it.
func Demands(g *Group, filling *Filling, schema cue.Value) []token.Pos {
	bottom := slices.ContainsFunc(g.Errs, func(e cueerrors.Error) bool { return formatOf(e) == formatBottom })
	if !bottom && schema.Exists() && schema.Pos().HasAbsPos() {
		return []token.Pos{schema.Pos()}
	}
	var places []token.Pos
	for _, e := range g.Errs {
		for _, p := range cueerrors.Positions(e) {
			if filling.At(p) == 0 {
				places = append(places, p)
			}
		}
	}
	return places
}

// unknownMessage returns the message for a field at path that the schema does not have.
func (sc Scope) unknownMessage(path object.Path) string {
	if len(path) == 0 {
		return "is not known here"
	}
	last := len(path) - 1
	parent := SchemaAt(sc.schema, path[:last])
	known := KnownFields(parent)
	if name := patternOfNames(parent); name != "" && len(known) == 0 {
		return fmt.Sprintf("%q is not a valid name here, expected %s", path[last].Name, name)
	}
	return UnknownField(path[last].Name, known)
}
