// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

// maxIndex is the highest index of a list that --set may name.
const maxIndex = 10_000

// Set is one value that is merged over an input: [SPEC:]PATH=VALUE.
type Set struct {
	// Spec is the name of the spec, or "".
	Spec  string
	Path  object.Path
	Value object.Value
	// Pos is the position for messages: the complete argument.
	Pos object.Pos
}

// ParseSet reads [SPEC:]PATH=VALUE, such as api:ports[0].name=http.
//
// PATH is names joined by dots, with indexes in brackets; a name that holds a
// dot, a colon, a bracket or an equals sign is written ["a.b"]. VALUE is a
// scalar as in YAML (3, true, null, text), or a flow map or list ({a: 1},
// [1, 2]); quotes make it text, and nothing at all is the empty text.
func ParseSet(text string) (Set, error) {
	s := Set{Pos: object.Pos{File: SetPlace(text)}}
	eq := indexOutside(text, '=')
	if eq < 0 {
		return Set{}, s.fail(errors.New("has no ="), "write PATH=VALUE, such as replicas=3")
	}
	path := text[:eq]
	if colon := indexOutside(path, ':'); colon >= 0 {
		s.Spec = path[:colon]
		path = path[colon+1:]
		if problem := document.BadLabel(s.Spec); problem != "" {
			return Set{}, s.fail(fmt.Errorf("the name of the spec %q %s", shortened(s.Spec), problem), "write SPEC:PATH=VALUE")
		}
	}
	var err error
	s.Path, err = setPath(path)
	if err != nil {
		return Set{}, s.fail(err, `write names joined by dots, such as ports[0].name or labels["a.b"]`)
	}
	s.Value, err = s.readValue(text[eq+1:])
	if err != nil {
		return Set{}, err
	}
	return s, nil
}

// SetPlace returns the place of a [Set] in messages. If a text has no equals sign, any part of it may
// be a secret.
func SetPlace(text string) string {
	if !strings.Contains(text, "=") {
		return "--set"
	}
	return "--set " + SetTarget(text)
}

// SetTarget returns the part of the text of a [Set] or an [Override] that messages show: the part
// before the equals sign, because the value may be a secret. Text behind the name of a secret that is
// not a further step of its path may be a secret, too.
func SetTarget(text string) string {
	if eq := indexOutside(text, '='); eq >= 0 {
		text = text[:eq]
	}
	text, _, _ = strings.Cut(text, "=")
	for _, match := range regexp.MustCompile(`[\w-]+`).FindAllStringIndex(text, -1) {
		after := text[match[1]:]
		isStep := strings.HasPrefix(after, ".") || strings.HasPrefix(after, "[") || strings.HasPrefix(after, `"]`)
		if object.SensitiveName(text[match[0]:match[1]]) && !isStep {
			return shortened(text[:match[1]])
		}
	}
	return shortened(text)
}

// shortened returns text cut to a length that fits into a message.
func shortened(text string) string {
	const most = 200
	return printable.Cut(text, most, "…")
}

func (s Set) fail(err error, hint string) error {
	return object.Errors{mistake(s.Pos, nil, hint, "%w", err)}
}

// indexOutside returns the offset of the first c in text that is not inside brackets, or -1.
func indexOutside(text string, c byte) int {
	inText, depth := false, 0
	for i := 0; i < len(text); i++ {
		switch {
		case inText && text[i] == '\\':
			i++
		case text[i] == '"' && depth > 0:
			inText = !inText
		case inText:
		case text[i] == '[':
			depth++
		case text[i] == ']':
			depth--
		case text[i] == c && depth <= 0:
			return i
		}
	}
	return -1
}

// setPath reads a path that begins with a name.
func setPath(text string) (object.Path, error) {
	if steps := strings.Count(text, ".") + strings.Count(text, "["); steps > 32*maxDepth && !strings.Contains(text, `"`) {
		return nil, fmt.Errorf("the path has more than %d steps", maxDepth) // Reading all steps would take memory.
	}
	path, ok := object.ReadPath(text)
	if !ok || len(path) == 0 {
		return nil, fmt.Errorf("%q is not a path", SetTarget(text))
	}
	if len(path) > maxDepth {
		return nil, fmt.Errorf("the path has more than %d steps", maxDepth)
	}
	if path[0].IsIndex {
		return nil, fmt.Errorf("%q does not begin with a name", SetTarget(text))
	}
	for _, step := range path {
		if step.Index > maxIndex {
			return nil, fmt.Errorf("index %d is larger than %d", step.Index, maxIndex)
		}
	}
	return path, nil
}

// value reads the part behind the equals sign.
func (s Set) readValue(text string) (object.Value, error) {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	trimmed := strings.TrimSpace(text)
	switch {
	case text == "":
		return object.Value{Kind: object.KindString, Pos: s.Pos}, nil
	case strings.ContainsAny(trimmed[:min(1, len(trimmed))], `{["'`):
		v, err := ParseValue(File{Name: s.Pos.File, Data: []byte(text)})
		return moveTo(v, s.Pos), errorsAt(err, s.Pos)
	}
	t := newText(s.Pos.File, []byte(text))
	if errs, _ := t.check(); len(errs) > 0 {
		return object.Value{}, errorsAt(errs, s.Pos)
	}
	c := newConverter(t, 1)
	v := c.convert(n, 0).value
	return moveTo(v, s.Pos), errorsAt(c.errs.Err(), s.Pos)
}

// Over returns v with the set merged over it. Missing maps on the way are made, and an index may name
// an item or the index after the last. The value v is not changed.
func (s Set) Over(v object.Value) (object.Value, error) { return s.Into(v, Own{}) }

// Into works like [Set.Over] for one of many sets: the parts of v in own are changed in place.
func (s Set) Into(v object.Value, own Own) (object.Value, error) {
	out, err := s.merge(v, 0, own)
	if err != nil {
		return object.Value{}, s.fail(err, "")
	}
	return out, nil
}

// Own are the maps and lists that earlier sets have copied, each by the address of its first element.
// Later sets need no other copy.
type Own map[any]bool

// owned returns a list that may be changed, which is list itself if it is in own.
func owned[E any](own Own, list []E) []E {
	if len(list) == 0 || own[&list[0]] {
		return list
	}
	list = slices.Clone(list)
	own[&list[0]] = true
	return list
}

// appendOwned returns an owned list with another element.
func appendOwned[E any](own Own, list []E, e E) []E {
	list = append(owned(own, list), e)
	own[&list[0]] = true
	return list
}

// merge returns v with the set merged over it, beginning at a step of its path.
func (s Set) merge(v object.Value, step int, own Own) (object.Value, error) {
	if step == len(s.Path) {
		return s.Value, nil
	}

	// A missing part becomes a map or a list.
	next := s.Path[step]
	want := object.KindMap
	empty := v.Kind == object.KindNone || v.Kind == object.KindNull
	if next.IsIndex {
		want = object.KindList
	}
	if empty {
		v = object.Value{Kind: want, Pos: s.Pos}
	}
	if v.Kind != want {
		return v, fmt.Errorf("%s is a %s, not a %s", s.Path[:step], v.Kind, want)
	}
	if next.IsIndex {
		return s.item(v, step, own)
	}

	// A map gets another member, or another value of a member.
	i := slices.IndexFunc(v.Members, func(m object.Member) bool { return m.Name == next.Name })
	var present object.Value
	if i >= 0 {
		present = v.Members[i].Value
	}
	inner, err := s.merge(present, step+1, own)
	if err != nil {
		return v, err
	}
	if i < 0 {
		v.Members = appendOwned(own, v.Members, object.Member{Name: next.Name, Pos: s.Pos, Value: inner})
		return v, nil
	}
	v.Members = owned(own, v.Members)
	v.Members[i].Value = inner
	return v, nil
}

// item merges the set over an item of the list v.
func (s Set) item(v object.Value, step int, own Own) (object.Value, error) {
	i := s.Path[step].Index
	if i > len(v.Items) {
		return v, fmt.Errorf("%s has %d items, so there is no item %d", s.Path[:step], len(v.Items), i)
	}
	var present object.Value
	if i < len(v.Items) {
		present = v.Items[i]
	}
	inner, err := s.merge(present, step+1, own)
	if err != nil {
		return v, err
	}
	if i == len(v.Items) {
		v.Items = appendOwned(own, v.Items, inner)
		return v, nil
	}
	v.Items = owned(own, v.Items)
	v.Items[i] = inner
	return v, nil
}

// Override is one value in the syntax of --override-property of score-k8s and
// score-compose: [SPEC:]PATH=VALUE.
type Override struct {
	// Spec is the name of the spec, or "".
	Spec string
	// Path lists names, and indexes of lists; -1 is behind the last item.
	Path []string
	// Value is the value to set, or KindNone if the path is to be deleted.
	Value object.Value
	// Pos is the position for messages: the complete argument.
	Pos object.Pos
}

// appended is the index behind the last item of a list.
const appended = "-1"

// ParseOverride reads [SPEC:]PATH=VALUE, such as containers.web.args.0=--verbose.
//
// PATH is names and indexes joined by dots; \. is a dot and \\ a backslash inside of a
// name. VALUE is YAML; without one, and with null, the path is deleted (score-go v1.20.0,
// framework/override_utils.go).
func ParseOverride(text string) (Override, error) {
	path, value, ok := strings.Cut(text, "=")
	o := Override{Pos: object.Pos{File: "--override-property " + SetTarget(path)}}
	if !ok {
		o.Pos.File = "--override-property" // See [SetPlace].
		return Override{}, o.fail(errors.New("has no ="), "write PATH=VALUE, such as containers.web.args.0=--verbose")
	}
	if before, after, named := strings.Cut(path, ":"); named && CheckName(before) == nil {
		o.Spec = before
		path = after
	}
	o.Path = dotted(path)
	if slices.Contains(o.Path, "") {
		return Override{}, o.fail(fmt.Errorf("%q is not a path", SetTarget(path)),
			`write names joined by dots, such as metadata.annotations.example\.com/team`)
	}
	if len(o.Path) > maxDepth {
		return Override{}, o.fail(fmt.Errorf("the path has more than %d steps", maxDepth), "")
	}
	v, err := ParseValue(File{Name: o.Pos.File, Data: []byte(value)})
	if err != nil {
		return Override{}, errorsAt(err, o.Pos)
	}
	if v.Kind != object.KindNull {
		o.Value = moveTo(v, o.Pos)
	}
	return o, nil
}

// dotted splits a path at its dots that are not escaped.
func dotted(path string) []string {
	var out []string
	var step strings.Builder
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '\\' && i+1 < len(path) && (path[i+1] == '.' || path[i+1] == '\\'):
			i++
			step.WriteByte(path[i])
		case path[i] == '.':
			out = append(out, step.String())
			step.Reset()
		default:
			step.WriteByte(path[i])
		}
	}
	return append(out, step.String())
}

func (o Override) fail(err error, hint string) error {
	return object.Errors{mistake(o.Pos, nil, hint, "%w", err)}
}

// Over returns v with the value set or deleted. Missing maps on the way are made. To delete a missing
// path is a warning, and leaves v unchanged.
func (o Override) Over(v object.Value) (object.Value, error) {
	out, err := o.set(v, 0)
	if err == nil {
		return out, nil
	}
	if missing := (*missingError)(nil); errors.As(err, &missing) {
		e := mistake(o.Pos, nil, missing.hint, "%w", err)
		e.Severity = object.SeverityWarning
		return v, object.Errors{e}
	}
	return v, o.fail(err, "")
}

// missingError is the error of a path that cannot be deleted, because it does not exist.
type missingError struct{ path, hint string }

// Error names the path.
func (e *missingError) Error() string { return "there is no " + e.path + " to delete" }

func (o Override) set(v object.Value, step int) (object.Value, error) {
	if step == len(o.Path) {
		return o.Value, nil
	}
	if v.Kind == object.KindNone || v.Kind == object.KindNull {
		v = object.Value{Kind: object.KindMap, Pos: o.Pos}
	}
	switch v.Kind {
	case object.KindMap:
		return o.member(v, step)
	case object.KindList:
		return o.item(v, step)
	default:
		return v, fmt.Errorf("%s is a %s, not a map or a list", o.upTo(step), v.Kind)
	}
}

// upTo returns the path before a step, as a user writes it.
func (o Override) upTo(step int) string { return strings.Join(o.Path[:step], ".") }

// deletes reports whether the step is to be deleted.
func (o Override) deletes(step int) bool {
	return o.Value.Kind == object.KindNone && step == len(o.Path)-1
}

func (o Override) member(v object.Value, step int) (object.Value, error) {
	name := o.Path[step]
	i := slices.IndexFunc(v.Members, func(m object.Member) bool { return m.Name == name })
	if i < 0 && o.Value.Kind == object.KindNone {
		names := make([]string, len(v.Members))
		for n, m := range v.Members {
			names[n] = m.Name
		}
		return v, &missingError{o.upTo(step + 1), object.Suggest(name, names)}
	}
	v.Members = slices.Clone(v.Members)
	if o.deletes(step) {
		v.Members = slices.Delete(v.Members, i, i+1)
		return v, nil
	}
	if i < 0 {
		i = len(v.Members)
		v.Members = append(v.Members, object.Member{Name: name, Pos: o.Pos})
	}
	inner, err := o.set(v.Members[i].Value, step+1)
	v.Members[i].Value = inner
	return v, err
}

func (o Override) item(v object.Value, step int) (object.Value, error) {
	v.Items = slices.Clone(v.Items)
	if o.Path[step] == appended && step == len(o.Path)-1 && o.Value.Kind != object.KindNone {
		v.Items = append(v.Items, o.Value)
		return v, nil
	}
	i, err := strconv.Atoi(o.Path[step])
	switch {
	case err != nil:
		return v, fmt.Errorf("%s is a list, and %q is not an index of it", o.upTo(step), o.Path[step])
	case i < 0 || i >= len(v.Items):
		return v, fmt.Errorf("%s has %d items, so there is no item %d", o.upTo(step), len(v.Items), i)
	case o.deletes(step):
		v.Items = slices.Delete(v.Items, i, i+1)
		return v, nil
	}
	v.Items[i], err = o.set(v.Items[i], step+1)
	return v, err
}

// HelmSet is an argument of --set, --set-string, --set-json or --set-file as Helm reads it.
type HelmSet struct {
	Flag, Text string
	// Content is the content of the file of --set-file.
	Content string
	// Pos is the position for messages.
	Pos object.Pos
}
