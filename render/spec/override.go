// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Override is one value in the syntax of --override-property of score-k8s and
// score-compose: [SPEC:]PATH=VALUE.
type Override struct {
	// Spec is the name of the spec, "" where none is named.
	Spec string
	// Path are names, and in lists indexes; -1 is behind the last item.
	Path []string
	// Value is what to set, KindNone where the path is to be deleted.
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
	o := Override{Pos: object.Pos{File: "--override-property " + text}}
	path, value, ok := strings.Cut(text, "=")
	if !ok {
		return Override{}, o.fail(errors.New("has no ="), "write PATH=VALUE, such as containers.web.args.0=--verbose")
	}
	if before, after, named := strings.Cut(path, ":"); named && CheckName(before) == nil {
		o.Spec, path = before, after
	}
	o.Path = dotted(path)
	if slices.Contains(o.Path, "") {
		return Override{}, o.fail(fmt.Errorf("%q is not a path", path), `write names joined by dots, such as metadata.annotations.example\.com/team`)
	}
	v, err := ParseValue(File{Name: o.Pos.File, Data: []byte(value)})
	if err != nil {
		return Override{}, errorsAt(err, o.Pos)
	}
	if v.Kind != object.KindNull {
		o.Value = at(v, o.Pos)
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

// Over is v with the value set or deleted. Maps on the way are made where they are
// missing. To delete what is not there is a warning, and leaves v as it is.
func (o Override) Over(v object.Value) (object.Value, error) {
	out, err := o.over(v, 0)
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

// missingError is what cannot be deleted, because it is not there.
type missingError struct{ path, hint string }

// Error names the path.
func (e *missingError) Error() string { return "there is no " + e.path + " to delete" }

func (o Override) over(v object.Value, step int) (object.Value, error) {
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

// upTo is the path before a step, as a user writes it.
func (o Override) upTo(step int) string { return strings.Join(o.Path[:step], ".") }

// deletes reports whether the step is the one to delete.
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
	inner, err := o.over(v.Members[i].Value, step+1)
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
	v.Items[i], err = o.over(v.Items[i], step+1)
	return v, err
}
