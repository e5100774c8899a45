// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxNotes is how many lines of the module one mistake names at most.
const maxNotes = 3

// explain says what is wrong with field, which did not validate with f.
func (s *session) explain(f filled, field string, err error) error {
	switch field {
	case fieldInput:
		if errs := s.inputErrors(); len(errs) > 0 {
			return errs.Sorted()
		}
	case fieldGraph:
		return s.graphErrors(f, err)
	}
	return s.errorsOf(f, field, err)
}

// graphErrors is what is wrong with the graph.
func (s *session) graphErrors(f filled, err error) error {
	return s.outcomeErrors(f, fieldGraph, err, func(input object.Value) (filled, error) {
		f, err := s.fillNative(input)
		if err != nil {
			return f, err
		}
		return f, f.root.LookupPath(cue.MakePath(cue.Str(fieldGraph))).Validate(cue.Concrete(true), cue.Final())
	})
}

// outcomeErrors is what is wrong with what was made of the input, which err
// says of f. CUE hides what is missing behind what is in conflict, so the
// user's part in the conflicts is taken out and the rest is tried again.
func (s *session) outcomeErrors(f filled, field string, err error, try func(object.Value) (filled, error)) error {
	var all object.Errors
	input, first := s.input, f
	firstErr := err
	for round := range maxRounds {
		progress := false
		for _, g := range (scope{skip: s.skip}).groups(err, f.with, object.Value{}) {
			if len(g.errs) == 0 {
				continue
			}
			i := s.place(f, g, fieldInput)
			if round > 0 && i == 0 && isIncomplete(g) {
				continue // what was taken out is missing now
			}
			all = append(all, s.moduleMistake(f, field, g))
			if i == 0 {
				continue
			}
			if path := f.with.path(i); len(path) > 0 {
				input, progress = blank(input, path), true
			}
		}
		if !progress || time.Now().After(s.patience()) {
			break
		}
		if f, err = try(input); err == nil {
			break
		}
	}
	if len(all) == 0 {
		return s.errorsOf(first, field, firstErr)
	}
	return all.Sorted()
}

// isIncomplete reports whether a group only says that something has no value.
func isIncomplete(g *group) bool {
	for _, e := range g.errs {
		switch format, _ := e.Msg(); format {
		case formatKinds, formatConflict, formatBound, formatUnknown:
			return false
		}
	}
	return true
}

// inputErrors is all mistakes in the input.
func (s *session) inputErrors() object.Errors {
	try := func(v object.Value) (*filling, error) {
		f, err := s.fillNative(v)
		if err != nil {
			return nil, err
		}
		return f.with, f.root.LookupPath(cue.MakePath(cue.Str(fieldInput))).Validate(cue.Concrete(true), cue.Final())
	}
	schema := s.module.value.LookupPath(cue.MakePath(cue.Str(fieldInput)))
	return s.inputErrorsOf(schema, 1, try)
}

// inputErrorsOf is all mistakes of the session's input against schema; skip is
// how many labels of CUE's paths lead to where it is filled.
func (s *session) inputErrorsOf(schema cue.Value, skip int, try func(object.Value) (*filling, error)) object.Errors {
	sc := scope{schema: schema, skip: skip, try: try, deadline: s.patience()}
	var errs object.Errors
	for _, m := range sc.mistakes(s.input) {
		errs = append(errs, s.report(m))
	}
	return errs
}

// patience is until when errors are looked for; what was found by then is
// better than the error that time ran out.
func (s *session) patience() time.Time { return s.began.Add(s.req.Limits.timeout() / 2) }

// report gives a mistake its place in the user's text.
func (s *session) report(m mistake) *object.Error {
	pos := s.input.NearestPos(m.path)
	if m.missing {
		pos = s.written.NearestPos(m.path)
	}
	if m.key {
		if key := keyPos(s.input, m.path); key.IsValid() {
			pos = key
		}
	}
	return &object.Error{
		Stage: object.StageEvaluate,
		Pos:   or(pos, s.pos),
		Path:  s.inputPath.Append(m.path...).String(),
		Err:   fmt.Errorf("%s", m.message),
		Notes: s.notes(m.demands, "demanded here"),
	}
}

// keyPos is the place of the name that path ends in.
func keyPos(v object.Value, path object.Path) object.Pos {
	if len(path) == 0 {
		return v.Pos
	}
	parent, n := v.Lookup(path[:len(path)-1])
	if n < len(path)-1 {
		return object.Pos{}
	}
	for _, m := range parent.Members {
		if m.Name == path[len(path)-1].Name {
			return m.Pos
		}
	}
	return object.Pos{}
}

// notes are places in the module; its own lines come before those of schemas,
// and a line that only names another that is there too is left out.
func (s *session) notes(places []token.Pos, text string) []object.Note {
	var own, other []object.Note
	seen := map[object.Pos]bool{}
	for _, p := range places {
		at := s.module.tree.position(s.source, p)
		if !at.IsValid() || seen[at] {
			continue
		}
		seen[at] = true
		if s.module.tree.own(p) {
			own = append(own, object.Note{Pos: at, Text: text})
		} else {
			other = append(other, object.Note{Pos: at, Text: text})
		}
	}
	all := append(own, other...)
	return all[:min(len(all), maxNotes)]
}

// errorsOf translates the errors of a part of the module that is not the
// input. A position in the user's text comes first, then the module's.
func (s *session) errorsOf(f filled, field string, err error) error {
	sc := scope{skip: s.skip}
	var out object.Errors
	for _, g := range sc.groups(err, f.with, object.Value{}) {
		if len(g.errs) > 0 {
			out = append(out, s.moduleMistake(f, field, g))
		}
	}
	if len(out) == 0 {
		return s.req.error(fmt.Errorf("module %q: %s: %s", s.source.name(), field, oneLineOf(s.module.tree.clean(s.source, err.Error()))))
	}
	return out.Sorted()
}

func (s *session) moduleMistake(f filled, field string, g *group) *object.Error {
	e := &object.Error{Stage: object.StageEvaluate, Path: g.path.String(), Pos: s.pos}
	if len(g.path) > 2 && g.path[0].Name == fieldGraph && g.path[1].Name == fieldNodes {
		e.Node = s.nodeID(g.path[2].Name)
	}
	var demands []token.Pos
	for _, c := range g.errs {
		for _, p := range cueerrors.Positions(c) {
			if f.with.at(p) == 0 {
				demands = append(demands, p)
			}
		}
	}
	value := object.Value{}
	if i := s.place(f, g, fieldContext); i > 0 && field == fieldContext {
		value, _ = contextValue(s.req.Context).Lookup(f.with.path(i))
		e.Notes = s.notes(demands, "demanded here")
	} else if i := s.place(f, g, fieldInput); i > 0 {
		path := f.with.path(i)
		value, _ = s.input.Lookup(path)
		e.Pos, e.Path = or(f.with.places[i].pos, s.pos), s.inputPath.Append(path...).String()
		e.Notes = s.notes(demands, "leads to "+g.path.String())
	} else if i := s.place(f, g, fieldConfig); i > 0 {
		path := object.Fields(fieldConfig).Append(f.with.path(i)...)
		value, _ = s.req.Input.Lookup(path)
		e.Pos, e.Path = or(f.with.places[i].pos, s.pos), path.String()
		e.Notes = s.notes(demands, "leads to "+g.path.String())
	} else if notes := s.notes(demands, "has to do with it"); len(notes) > 0 {
		e.Pos, e.Notes = notes[0].Pos, notes[1:]
	}
	e.Err = fmt.Errorf("%s", s.module.tree.clean(s.source, s.moduleMessage(g, value)))
	if tag := s.module.tagAt(demands); tag != "" && isIncomplete(g) {
		e.Err = fmt.Errorf("tag %q is not set: give it a value under tags", tag)
	}
	if field == fieldContext {
		e.Hint = fmt.Sprintf("module %q asks this of its surroundings", s.source.name())
	}
	return e
}

// place is the entry of what was filled in at root that g is about; 0 is none.
func (s *session) place(f filled, g *group, root string) int {
	places := slices.Clone(g.places)
	slices.Sort(places)
	for _, i := range places {
		if f.with.places[i].root == root {
			return i
		}
	}
	return 0
}

func (s *session) moduleMessage(g *group, value object.Value) string {
	if value.Kind != object.KindNone {
		return conflict(g.errs, value)
	}
	var texts []string
	for _, e := range g.errs {
		if text := oneLineOf(words(e)); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; or ")
}

// words is one error of CUE in plain words, without its path.
func words(e cueerrors.Error) string {
	format, args := e.Msg()
	if strings.Contains(format, " value") && format != formatIncomplete && isSecret(e.Path()) {
		return "must be a reference to a secret, such as {key, property}, and never its value"
	}
	switch format {
	case formatUnknown:
		// The schema closes a node before we decode it: the words are the same.
		p := e.Path()
		if n := len(p) - 4; n >= 0 && p[n] == fieldGraph && p[n+1] == fieldNodes {
			return unknownField(p[n+3], nodeFields())
		}
		return "field is not known here"
	case formatRequired:
		return "is missing"
	case formatIncomplete:
		return "has no value, expected " + typeName(oneLineOf(fmt.Sprint(args...)))
	case formatKinds, formatConflict:
		return oneLineOf(fmt.Sprintf("%v and %v are demanded at once", args[0], args[1]))
	case formatBound:
		return oneLineOf(fmt.Sprintf("expected %s, got %v", bound(fmt.Sprint(args[1])), args[0]))
	default:
		text := strings.TrimSpace(fmt.Sprintf(format, args...))
		if inner := cueerrors.Unwrap(e); inner != nil {
			text = strings.TrimPrefix(text+": "+plain(inner), ": ")
		}
		return text
	}
}

// isSecret reports whether path leads into what a provisioner declares as
// sensitive: #License.sensitive.token. A value there, which CUE would repeat,
// may be a secret by mistake.
func isSecret(path []string) bool {
	n := slices.Index(path, fieldSensitive)
	return n >= 0 && n <= 2 && !slices.Contains([]string{fieldInput, fieldContext, fieldGraph}, path[0])
}

// plain is any error of CUE in plain words.
func plain(err error) string {
	var texts []string
	for _, e := range cueerrors.Errors(err) {
		if _, ok := err.(cueerrors.Error); !ok { //nolint:errorlint // errors of Go have no words of CUE
			return oneLineOf(err.Error())
		}
		if text := words(e); text != "" {
			texts = append(texts, text)
		}
	}
	return oneLineOf(strings.Join(texts, "; "))
}

// bound is a bound of CUE, such as >=9, in plain words.
func bound(text string) string {
	for _, op := range [...]struct{ sign, words string }{
		{">=", "at least "}, {"<=", "at most "}, {">", "more than "}, {"<", "less than "},
		{"!=", "anything but "}, {"=~", "text that matches "}, {"!~", "text that does not match "},
	} {
		if rest, ok := strings.CutPrefix(text, op.sign); ok {
			return op.words + rest
		}
	}
	return oneLineOf(text)
}

// otherThan is which of the two sides of a conflict is not the user's; false
// where neither is.
func otherThan(value object.Value, a, b string) (string, bool) {
	mine := string(value.JSON())
	switch {
	case value.Kind == object.KindNone:
		return a, false
	case a == mine:
		return typeName(b), true
	case b == mine:
		return typeName(a), true
	case value.Kind == object.KindMap || value.Kind == object.KindList:
		if strings.HasPrefix(a, "{") || strings.HasPrefix(a, "[") {
			return typeName(b), true
		}
		return typeName(a), true
	default:
		return a, false
	}
}

// typeName is a value of CUE in plain words where it is a type.
func typeName(text string) string {
	switch text {
	case "string":
		return "text"
	case "int":
		return "an integer"
	case "float", "number":
		return "a number"
	case "bool":
		return "true or false"
	case "bytes":
		return "bytes"
	}
	if strings.HasPrefix(text, "{") {
		return "a map"
	}
	if strings.HasPrefix(text, "[") {
		return "a list"
	}
	return bound(text)
}

// best joins what is wanted. A single value beside a wider want is only a
// default.
func best(wants []string) string {
	wide := slices.DeleteFunc(slices.Clone(wants), func(w string) bool { return w == "" || strings.ContainsAny(w[:1], `"-0123456789`) })
	if len(wide) > 0 {
		wants = wide
	}
	slices.Sort(wants)
	wants = slices.Compact(wants)
	if len(wants) > 1 && len(wide) == 0 {
		return "one of " + choice(wants)
	}
	return choice(wants)
}
