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

// maxNotes is how many lines of the module one mistake names at most.
const maxNotes = 3

// OutcomeErrors is what is wrong with what was made of the input, which err
// says of f. CUE hides what is missing behind what is in conflict, so the
// user's part in the conflicts is taken out and the rest is tried again.
func (s *Subject) OutcomeErrors(f Filled, field string, err error, try func(object.Value) (Filled, error)) error {
	var all object.Errors
	input, first := s.Input, f
	firstErr := err
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
			all = append(all, s.moduleMistake(f, field, g))
			if i == 0 {
				continue
			}
			if path := f.With.Path(i); len(path) > 0 {
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
		return s.ErrorsOf(first, field, firstErr)
	}
	return once(objectNodes(all)).Sorted()
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

// InputErrorsOf is all mistakes of the session's input against schema; skip is
// how many labels of CUE's paths lead to where it is filled.
func (s *Subject) InputErrorsOf(schema cue.Value, skip int, try func(object.Value) (Filled, error)) object.Errors {
	sc := Scope{schema: schema, skip: skip, try: try, deadline: s.patience()}
	var errs object.Errors
	for _, m := range sc.mistakes(s.Input) {
		errs = append(errs, s.Report(m))
	}
	return errs
}

// patience is until when errors are looked for; what was found by then is
// better than the error that time ran out.
func (s *Subject) patience() time.Time { return s.Began.Add(Timeout(s.Req.Limits) / 2) }

// Report gives a mistake its place in the user's text.
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
		if e.Hint = hint; m.unknown {
			e.Err = fmt.Errorf("unknown field %q", m.Path[0].Name)
		}
	}
	if !m.unknown { // What CUE names of a field that it does not know are conditions around it.
		e.Notes = s.Notes(m.Demands, "required here")
	}
	s.outdated(e, m.Demands)
	return e
}

// outdated places a mistake of syntax that CUE has given up where it is written: what was
// filled in has no part in it.
func (s *Subject) outdated(e *object.Error, written []token.Pos) {
	if !strings.Contains(e.Err.Error(), " is superseded by ") {
		return
	}
	e.Hint = `run "cue fix ./..." in the module, which rewrites it`
	if at := s.Notes(written, ""); len(at) > 0 {
		e.Pos, e.Notes = at[0].Pos, nil
	}
}

// valuesHint is what to do about a mistake that only a values file or a flag makes; "" is
// nothing.
func (s *Subject) valuesHint(m Mistake, pos object.Pos) string {
	at, last := pos.File, len(m.Path)-1
	_, set, _ := strings.Cut(at, "--set ")
	switch {
	case set != "" && m.Message == "expected a list, got a map":
		return fmt.Sprintf("write the index of an item in brackets: --set '%s[0]=VALUE'", m.Path)
	case m.unknown && last == 0 && m.Path[0].Name == "values" && !strings.HasSuffix(at, ".cue"):
		return "values: is for CUE and Timoni; write its content at the top of the file"
	case m.unknown && last == 0 && m.Path[0].Name == s.Req.Spec && at != s.Pos.File:
		return fmt.Sprintf("%s is the only spec: write the content of %[1]s: at the top of the file", s.Req.Spec)
	}
	return ""
}

// forShell is a hint to write quotes as it applies to a value of --set: those that the
// shell takes away are not enough.
func forShell(hint string, pos object.Pos) string {
	text, quotes := strings.CutPrefix(hint, quotesHint)
	flag, path, set := strings.Cut(pos.File, " ")
	if !quotes || !set || flag != "--set" {
		return hint
	}
	return fmt.Sprintf("keep the quotes from the shell: %s '%s=%s'", flag, path, text)
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

// Notes are places in the module; its own lines come before those of schemas,
// and a line that only names another that is there too is left out.
func (s *Subject) Notes(places []token.Pos, text string) []object.Note {
	var own, other []object.Note
	seen := map[object.Pos]bool{}
	for _, p := range places {
		at := s.Module.Position(p)
		if !at.IsValid() || seen[at] {
			continue
		}
		seen[at] = true
		if s.Module.Own(p) {
			own = append(own, object.Note{Pos: at, Text: text})
		} else {
			other = append(other, object.Note{Pos: at, Text: text})
		}
	}
	all := append(own, other...)
	return all[:min(len(all), maxNotes)]
}

// ErrorsOf translates the errors of a part of the module that is not the
// input. A position in the user's text comes first, then the module's.
func (s *Subject) ErrorsOf(f Filled, field string, err error) error {
	sc := Scope{skip: s.Skip}
	var out object.Errors
	for _, g := range sc.Groups(err, f.With, object.Value{}) {
		if len(g.Errs) > 0 {
			out = append(out, s.moduleMistake(f, field, g))
		}
	}
	out = once(objectNodes(out))
	if len(out) == 0 {
		return AtSpec(s.Req, fmt.Errorf("module %q: %s: %s", s.Module.Name(), field, oneLineOf(s.Module.Clean(err.Error()))))
	}
	return out.Sorted()
}

func (s *Subject) moduleMistake(f Filled, field string, g *Group) *object.Error {
	e := &object.Error{Stage: object.StageEvaluate, Path: g.Path.String(), Pos: s.Pos}
	if len(g.Path) > 2 && g.Path[0].Name == FieldGraph && g.Path[1].Name == FieldNodes {
		e.Node = s.NodeID(g.Path[2].Name)
	}
	var demands []token.Pos
	for _, c := range g.Errs {
		for _, p := range cueerrors.Positions(c) {
			if f.With.At(p) == 0 {
				demands = append(demands, p)
			}
		}
	}
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
	e.Err = fmt.Errorf("%s", s.selected(s.Module.Clean(s.moduleMessage(g, value)), demands))
	if tag := s.Module.Tag(demands); tag != "" && IsIncomplete(g) {
		e.Err = fmt.Errorf("tag %q is not set", tag)
		e.Hint = fmt.Sprintf("give it a value: spec.tags: {%s: VALUE}", tag)
		if s.Req.Pos.Line == 0 {
			e.Hint = fmt.Sprintf("write a Transform with cueRef: {type: path, ref: FOLDER} and tags: {%s: VALUE} in its spec", tag)
		}
		return e
	}
	if e.Hint = typeHint(cue.Value{}, g.Errs, value); e.Hint == "" {
		e.Hint = s.Module.Near(unknownIn(g, e.Err.Error()))
	}
	s.outdated(e, demands)
	if field == FieldContext && !strings.HasPrefix(e.Err.Error(), "undefined field: \"") {
		e.Hint = fmt.Sprintf("module %q requires this of its context", s.Module.Name())
	}
	return e
}

// related is how a note is about the places of g after the first.
func related(g *Group) string {
	if IsIncomplete(g) {
		return "it comes from here"
	}
	return "required here"
}

// byDepth puts the deepest of the places of a conflict first: those around it, and those
// that refer to a schema, only lead there.
func (s *Subject) byDepth(places []token.Pos, g *Group) []token.Pos {
	if !IsIncomplete(g) {
		slices.SortStableFunc(places, func(a, b token.Pos) int { return s.Module.Depth(b) - s.Module.Depth(a) })
	}
	return places
}

// entry is that of what was filled in at root that g is about; 0 is none.
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

func (s *Subject) moduleMessage(g *Group, value object.Value) string {
	if value.Kind != object.KindNone {
		return conflict(g.Errs, value, cue.Value{})
	}
	if text := instead(g.Errs); text != "" {
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

// UnknownHere is the message of a field that is not known, where there is no more to say.
const UnknownHere = "field is not known here"

// words is one error of CUE in plain words, without its path.
func words(e cueerrors.Error) string {
	format, args := e.Msg()
	if strings.Contains(format, " value") && format != formatIncomplete && isSecret(e.Path()) {
		return "must be a reference to a secret, such as {key, property}, and never its value"
	}
	switch format {
	case FormatUnknown:
		// The schema closes a node before we decode it: the words are the same.
		p := e.Path()
		if n := len(p) - 4; n >= 0 && p[n] == FieldGraph && p[n+1] == FieldNodes {
			return UnknownField(p[n+3], NodeFields())
		}
		if n := slices.Index(p, FieldGraph) + 1; n > 0 && n < len(p) && p[n] != FieldNodes && (n == 1 || n == 2 && strings.HasPrefix(p[0], "#")) {
			return UnknownField(p[n], []string{FieldNodes})
		}
		return UnknownHere
	case formatRequired:
		return "is missing"
	case formatIncomplete:
		if len(args) == 1 && strings.Contains(fmt.Sprint(args...), "} | {") {
			return "may still be one of several maps: mark one as the default with *, or tell them apart"
		}
		return NoValue + ", expected " + typeName(oneLineOf(fmt.Sprint(args...)))
	case formatUndecided:
		return "depends on a value that is not set, expected " + typeName(fmt.Sprint(args[0]))
	case formatBottom:
		return "is refused by the module, with _|_"
	case formatKinds, formatConflict:
		return oneLineOf(fmt.Sprintf("conflicting values %v and %v", args[0], args[1]))
	case formatBound:
		return oneLineOf(fmt.Sprintf("expected %s, got %v", bound(fmt.Sprint(args[1])), args[0]))
	default:
		text := strings.TrimSpace(fmt.Sprintf(format, args...))
		if inner := cueerrors.Unwrap(e); inner != nil {
			text = strings.TrimPrefix(text+": "+Message(inner), ": ")
		}
		return text
	}
}

// isSecret reports whether path leads into what a provisioner declares as
// sensitive: #License.sensitive.token. A value there, which CUE would repeat,
// may be a secret by mistake.
func isSecret(path []string) bool {
	n := slices.Index(path, FieldSensitive)
	return n >= 0 && n <= 2 && !slices.Contains([]string{FieldInput, FieldContext, FieldGraph}, path[0])
}

// Message is any error of CUE in plain words.
func Message(err error) string {
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
	if pattern, ok := strings.CutPrefix(text, "=~"); ok && patternName(Unquote(pattern)) != "" {
		return patternName(Unquote(pattern))
	}
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
	case "_":
		return "a value"
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

// NodeFields are the fields of a node.
func NodeFields() []string { return []string{"object", "dependsOn", "readyWhen", "apply"} }
