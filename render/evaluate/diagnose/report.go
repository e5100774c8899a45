// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

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

// maxNotes limits the lines of the module that one mistake names.
const maxNotes = 3

// OutcomeErrors returns the mistakes in what was made of the input. The error err is CUE's error
// about f. CUE hides missing values behind conflicts, so the user's part in the conflicts is taken
// out and the rest is tried again.
func (s *Subject) OutcomeErrors(f Filled, field string, err error, try func(object.Value) (Filled, error)) error {
	var errs object.Errors
	input := s.Input
	firstFilled := f
	firstErr := err

	// Each round reports the conflicts, and takes the user's part in them out.
	for round := range maxRounds {
		progress := false
		for _, g := range (Scope{skip: s.Skip}).Groups(err, f.With, object.Value{}) {
			if len(g.Errs) == 0 {
				continue
			}
			i := s.entry(f, g, FieldInput)
			if round > 0 && i == 0 && IsIncomplete(g) {
				continue // what was taken out is missing now
			}
			errs = append(errs, s.moduleMistake(f, field, g))
			if i == 0 {
				continue
			}
			if path := f.With.Path(i); len(path) > 0 {
				input = blank(input, path)
				progress = true
			}
		}
		if !progress || time.Now().After(s.searchDeadline()) {
			break
		}
		f, err = try(input)
		if err == nil {
			break
		}
	}

	// If no group has an error, the first errors are reported as they are.
	if len(errs) == 0 {
		return s.ErrorsOf(firstFilled, field, firstErr)
	}
	return dropRepeated(foldObjectNodes(errs)).Sorted()
}

// IsIncomplete reports whether a group only says that something has no value.
func IsIncomplete(g *Group) bool {
	for _, e := range g.Errs {
		switch format, _ := e.Msg(); format {
		case formatKinds, formatConflict, formatBound, FormatUnknown:
			return false
		}
	}
	return true
}

// InputErrorsOf returns all mistakes of the input against schema. The argument skip counts
// the labels of CUE's paths that lead to the place where the input is filled in.
func (s *Subject) InputErrorsOf(schema cue.Value, skip int, try func(object.Value) (Filled, error)) object.Errors {
	sc := Scope{schema: schema, skip: skip, try: try, deadline: s.searchDeadline()}
	var errs object.Errors
	for _, m := range sc.findMistakes(s.Input) {
		errs = append(errs, s.Report(m))
	}
	return errs
}

// searchDeadline returns the time until which errors are looked for. What was found by then is
// better than the error that time ran out.
func (s *Subject) searchDeadline() time.Time { return s.Began.Add(Timeout(s.Req.Limits) / 2) }

// Report returns a mistake with its place in the user's text.
func (s *Subject) Report(m Mistake) *object.Error {
	pos := s.Input.NearestPos(m.Path)
	if m.Missing {
		pos = s.Written.NearestPos(m.Path)
	}
	if m.Key {
		if key := keyPos(s.Input, m.Path); key.IsValid() {
			pos = key
		}
	}
	e := &object.Error{
		Stage: object.StageEvaluate,
		Pos:   object.FirstValid(pos, s.Pos),
		Path:  s.InputPath.Append(m.Path...).String(),
		Err:   fmt.Errorf("%s", m.Message),
		Hint:  forShell(m.Hint, object.FirstValid(pos, s.Pos)),
	}
	if hint := s.valuesHint(m, pos); hint != "" {
		e.Hint = hint
		if m.unknown {
			e.Err = fmt.Errorf("unknown field %q", m.Path[0].Name)
		}
	}
	if !m.unknown { // What CUE names of a field that it does not know are conditions around it.
		e.Notes = s.Notes(m.Demands, "required here")
	}
	s.placeOutdated(e, m.Demands)
	return e
}

// placeOutdated places a mistake of syntax that CUE has given up at the line where it is written.
// What was filled in has no part in it.
func (s *Subject) placeOutdated(e *object.Error, places []token.Pos) {
	if !strings.Contains(e.Err.Error(), " is superseded by ") {
		return
	}
	e.Hint = `run "cue fix ./..." in the module, which rewrites it`
	if notes := s.Notes(places, ""); len(notes) > 0 {
		e.Pos = notes[0].Pos
		e.Notes = nil
	}
}

// valuesHint returns what to do about a mistake that only a values file or a flag makes, or "" for
// any other.
func (s *Subject) valuesHint(m Mistake, pos object.Pos) string {
	file := pos.File
	unknownAtTop := m.unknown && len(m.Path) == 1
	_, set, _ := strings.Cut(file, "--set ")
	switch {
	case set != "" && m.Message == "expected a list, got a map":
		return fmt.Sprintf("write the index of an item in brackets: --set '%s[0]=VALUE'", m.Path)
	case unknownAtTop && m.Path[0].Name == "values" && !strings.HasSuffix(file, ".cue"):
		return "values: is for CUE and Timoni; write its content at the top of the file"
	case unknownAtTop && m.Path[0].Name == s.Req.Spec && file != s.Pos.File:
		return fmt.Sprintf("%s is the only spec: write the content of %[1]s: at the top of the file", s.Req.Spec)
	}
	return ""
}

// forShell returns a hint to write quotes as it applies to a value of --set: quotes that the shell
// takes away are not enough. Other hints stay as they are.
func forShell(hint string, pos object.Pos) string {
	text, quotes := strings.CutPrefix(hint, quotesHint)
	flag, path, set := strings.Cut(pos.File, " ")
	if !quotes || !set || flag != "--set" {
		return hint
	}
	return fmt.Sprintf("keep the quotes from the shell: %s '%s=%s'", flag, path, text)
}

// keyPos returns the place of the name that path ends in.
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

// Notes returns notes with a text for places in the module. Lines of the module itself come before
// lines of schemas, and a line is named once.
func (s *Subject) Notes(places []token.Pos, text string) []object.Note {
	var ownNotes, otherNotes []object.Note
	seen := map[object.Pos]bool{}
	for _, p := range places {
		pos := s.Module.Position(p)
		if !pos.IsValid() || seen[pos] {
			continue
		}
		seen[pos] = true
		if s.Module.Own(p) {
			ownNotes = append(ownNotes, object.Note{Pos: pos, Text: text})
		} else {
			otherNotes = append(otherNotes, object.Note{Pos: pos, Text: text})
		}
	}
	all := append(ownNotes, otherNotes...)
	return all[:min(len(all), maxNotes)]
}

// ErrorsOf translates the errors of a part of the module that is not the
// input. A position in the user's text comes first, then the module's.
func (s *Subject) ErrorsOf(f Filled, field string, err error) error {
	sc := Scope{skip: s.Skip}
	var errs object.Errors
	for _, g := range sc.Groups(err, f.With, object.Value{}) {
		if len(g.Errs) > 0 {
			errs = append(errs, s.moduleMistake(f, field, g))
		}
	}
	errs = dropRepeated(foldObjectNodes(errs))
	if len(errs) == 0 {
		return AtSpec(s.Req, fmt.Errorf("module %q: %s: %s", s.Module.Name(), field, oneLineOf(s.Module.Clean(err.Error()))))
	}
	return errs.Sorted()
}

// moduleMistake returns the mistake that a group of errors is, with the best place that is known
// for it.
func (s *Subject) moduleMistake(f Filled, field string, g *Group) *object.Error {
	e := &object.Error{Stage: object.StageEvaluate, Path: g.Path.String(), Pos: s.Pos}
	if len(g.Path) > 2 && g.Path[0].Name == FieldGraph && g.Path[1].Name == FieldNodes {
		e.Node = s.NodeID(g.Path[2].Name)
	}

	// Demands are the places that nothing was filled in at.
	var demands []token.Pos
	for _, c := range g.Errs {
		for _, p := range cueerrors.Positions(c) {
			if f.With.At(p) == 0 {
				demands = append(demands, p)
			}
		}
	}

	// What was filled in comes first: the context, the input, then the config. The next best is the
	// line of the module's author that made the value, and then the deepest of the demands.
	value := object.Value{}
	if i := s.entry(f, g, FieldContext); i > 0 && field == FieldContext {
		value, _ = ContextValue(s.Req.Context).Lookup(f.With.Path(i))
		e.Notes = s.Notes(demands, "required here")
	} else if i := s.entry(f, g, FieldInput); i > 0 {
		path := f.With.Path(i)
		value, _ = s.Input.Lookup(path)
		e.Pos, e.Path = object.FirstValid(f.With.Positions[i].pos, s.Pos), s.InputPath.Append(path...).String()
		e.Notes = s.Notes(demands, "leads to "+g.Path.String())
	} else if i := s.entry(f, g, FieldConfig); i > 0 {
		path := object.Fields(FieldConfig).Append(f.With.Path(i)...)
		value, _ = s.Req.Input.Lookup(path)
		e.Pos, e.Path = object.FirstValid(f.With.Positions[i].pos, s.Pos), path.String()
		e.Notes = s.Notes(demands, "leads to "+g.Path.String())
	} else if at := s.nearest(f.Root, g.Path); at.IsValid() && !slices.ContainsFunc(demands, s.Module.Own) {
		e.Pos, e.Notes = at, s.Notes(demands, "required here")
	} else if notes := s.Notes(s.byDepth(demands, g), related(g)); len(notes) > 0 {
		e.Pos, e.Notes = notes[0].Pos, notes[1:]
	}

	// The message has no internal names.
	e.Err = fmt.Errorf("%s", s.quoteSelected(s.Module.Clean(s.moduleMessage(g, value)), demands))
	if tag := s.Module.Tag(demands); tag != "" && IsIncomplete(g) {
		e.Err = fmt.Errorf("tag %q is not set", tag)
		e.Hint = fmt.Sprintf("give it a value: spec.tags: {%s: VALUE}", tag)
		if s.Req.Pos.Line == 0 {
			e.Hint = fmt.Sprintf("write a Transform with cueRef: {type: path, ref: FOLDER} and tags: {%s: VALUE} in its spec", tag)
		}
		return e
	}

	// Hints about types are more certain than hints about names.
	e.Hint = typeHint(cue.Value{}, g.Errs, value)
	if e.Hint == "" {
		e.Hint = s.Module.Near(unknownIn(g, e.Err.Error()))
	}
	s.placeOutdated(e, demands)
	if field == FieldContext && !strings.HasPrefix(e.Err.Error(), "undefined field: \"") {
		e.Hint = fmt.Sprintf("module %q requires this of its context", s.Module.Name())
	}
	return e
}

// related returns the text of notes on the places of g after the first.
func related(g *Group) string {
	if IsIncomplete(g) {
		return "it comes from here"
	}
	return "required here"
}

// byDepth puts the deepest of the places of a conflict first: places around it, and
// references to a schema, only lead there.
func (s *Subject) byDepth(places []token.Pos, g *Group) []token.Pos {
	if !IsIncomplete(g) {
		slices.SortStableFunc(places, func(a, b token.Pos) int { return s.Module.Depth(b) - s.Module.Depth(a) })
	}
	return places
}

// entry returns the first entry of g that was filled in at root, or 0 if no entry was.
func (s *Subject) entry(f Filled, g *Group, root string) int {
	places := slices.Clone(g.Entries)
	slices.Sort(places)
	for _, i := range places {
		if f.With.Positions[i].Root == root {
			return i
		}
	}
	return 0
}

// moduleMessage returns the message of a group. With a value, it says what is wrong with the value.
func (s *Subject) moduleMessage(g *Group, value object.Value) string {
	if value.Kind != object.KindNone {
		return conflict(g.Errs, value, cue.Value{})
	}
	if text := expectedInstead(g.Errs); text != "" {
		return text
	}
	var texts []string
	for _, e := range g.Errs {
		if text := oneLineOf(words(e)); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; or ")
}

// UnknownHere is the message of a field that is not known, if there is no more to say.
const UnknownHere = "field is not known here"

// NodeFields returns the names of the fields of a node.
func NodeFields() []string { return []string{"object", "dependsOn", "readyWhen", "needs", "apply"} }
