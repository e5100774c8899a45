// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxIndex is the highest index of a list that --set may name.
const maxIndex = 10_000

// Set is one value that is merged over an input: [SPEC:]PATH=VALUE.
type Set struct {
	// Spec is the name of the spec, "" where none is named.
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
	s := Set{Pos: object.Pos{File: "--set " + text}}
	eq := outside(text, '=')
	if eq < 0 {
		return Set{}, s.fail(errors.New("has no ="), "write PATH=VALUE, such as replicas=3")
	}
	path := text[:eq]
	if colon := outside(path, ':'); colon >= 0 {
		s.Spec, path = path[:colon], path[colon+1:]
		if bad := badLabel(s.Spec); bad != "" {
			return Set{}, s.fail(fmt.Errorf("the name of the spec %q %s", s.Spec, bad), "write SPEC:PATH=VALUE")
		}
	}
	var err error
	if s.Path, err = setPath(path); err != nil {
		return Set{}, s.fail(err, `write names joined by dots, such as ports[0].name or labels["a.b"]`)
	}
	if s.Value, err = s.value(text[eq+1:]); err != nil {
		return Set{}, err
	}
	return s, nil
}

func (s Set) fail(err error, hint string) error {
	return object.Errors{mistake(s.Pos, nil, hint, "%w", err)}
}

// outside is the offset of the first c in text that is not inside brackets, -1
// where there is none.
func outside(text string, c byte) int {
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
	path, ok := object.ReadPath(text)
	if !ok || len(path) == 0 {
		return nil, fmt.Errorf("%q is not a path", text)
	}
	if path[0].IsIndex {
		return nil, fmt.Errorf("%q does not begin with a name", text)
	}
	for _, step := range path {
		if step.Index > maxIndex {
			return nil, fmt.Errorf("index %d is larger than %d", step.Index, maxIndex)
		}
	}
	return path, nil
}

// value reads the part behind the equals sign.
func (s Set) value(text string) (object.Value, error) {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	trimmed := strings.TrimSpace(text)
	switch {
	case text == "":
		return object.Value{Kind: object.KindString, Pos: s.Pos}, nil
	case strings.ContainsAny(trimmed[:min(1, len(trimmed))], `{["'`):
		v, err := ParseValue(File{Name: s.Pos.File, Data: []byte(text)})
		return at(v, s.Pos), errorsAt(err, s.Pos)
	}
	t := newText(s.Pos.File, []byte(text))
	if errs, _ := t.check(); len(errs) > 0 {
		return object.Value{}, errorsAt(errs, s.Pos)
	}
	c := newConverter(t, 1)
	v := c.convert(n, 0).value
	return at(v, s.Pos), errorsAt(c.errs.Err(), s.Pos)
}

// at is v with every part at pos.
func at(v object.Value, pos object.Pos) object.Value {
	v.Pos = pos
	v.Items = slices.Clone(v.Items)
	for i := range v.Items {
		v.Items[i] = at(v.Items[i], pos)
	}
	v.Members = slices.Clone(v.Members)
	for i, m := range v.Members {
		v.Members[i] = object.Member{Name: m.Name, Pos: pos, Value: at(m.Value, pos)}
	}
	return v
}

// errorsAt is err with every mistake at pos.
func errorsAt(err error, pos object.Pos) error {
	if err == nil {
		return nil
	}
	var out object.Errors
	for _, e := range object.AsErrors(err, object.StageSpec) {
		moved := *e
		moved.Pos = pos
		out = append(out, &moved)
	}
	return out
}

// Over is v with the set merged over it: maps on the way are made where they
// are missing, an index may name an item or the index after the last. v is
// not changed.
func (s Set) Over(v object.Value) (object.Value, error) {
	out, err := s.over(v, 0)
	if err != nil {
		return object.Value{}, s.fail(err, "")
	}
	return out, nil
}

func (s Set) over(v object.Value, step int) (object.Value, error) {
	if step == len(s.Path) {
		return s.Value, nil
	}
	next := s.Path[step]
	want, empty := object.KindMap, v.Kind == object.KindNone || v.Kind == object.KindNull
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
		return s.item(v, step)
	}
	under, _ := v.Get(next.Name)
	inner, err := s.over(under, step+1)
	if err != nil {
		return v, err
	}
	v.Members = slices.Clone(v.Members)
	i := slices.IndexFunc(v.Members, func(m object.Member) bool { return m.Name == next.Name })
	if i < 0 {
		v.Members = append(v.Members, object.Member{Name: next.Name, Pos: s.Pos, Value: inner})
		return v, nil
	}
	v.Members[i].Value = inner
	return v, nil
}

// item merges the set over an item of the list v.
func (s Set) item(v object.Value, step int) (object.Value, error) {
	i := s.Path[step].Index
	if i > len(v.Items) {
		return v, fmt.Errorf("%s has %d items, so there is no item %d", s.Path[:step], len(v.Items), i)
	}
	v.Items = slices.Clone(v.Items)
	if i == len(v.Items) {
		v.Items = append(v.Items, object.Value{})
	}
	inner, err := s.over(v.Items[i], step+1)
	v.Items[i] = inner
	return v, err
}
