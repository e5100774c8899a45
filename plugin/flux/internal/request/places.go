// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"strings"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/object"
)

// places lead from what a request says back to what the user wrote.
type places struct {
	doc       document
	transform *v1alpha1.Transform
}

// Explain is an error with the places where the user wrote what is wrong. What is
// none of an object.Errors is given back as it is.
func (l Loaded) Explain(err error) error {
	var mistakes object.Errors
	if !errors.As(err, &mistakes) {
		return err
	}
	return l.Places(mistakes)
}

// Places are mistakes at the places where the user made them.
func (l Loaded) Places(mistakes object.Errors) object.Errors {
	out := make(object.Errors, len(mistakes))
	for i, m := range mistakes {
		at := *m
		if pos, path := l.places.of(m.Pos); path != "" {
			// What a mistake calls its path is that of the document, and so of the Transform.
			if strings.HasPrefix(m.Path, "spec.") && !strings.HasPrefix(path, m.Path+":") {
				path = m.Path
			}
			at.Pos, at.Path = object.Pos{File: path}, ""
		} else {
			at.Pos = pos
		}
		at.Notes = make([]object.Note, len(m.Notes))
		for j, n := range m.Notes {
			pos, path := l.places.of(n.Pos)
			if n.Pos = pos; path != "" {
				n.Pos = object.Pos{File: path}
			}
			at.Notes[j] = n
		}
		out[i] = &at
	}
	return out
}

// of is a position without the files that nobody wrote, or the field of the
// Transform that it is.
func (p places) of(pos object.Pos) (object.Pos, string) {
	switch {
	case pos.File == "":
	case pos.File == p.doc.name:
		return object.Pos{}, p.field(pos)
	case strings.HasPrefix(pos.File, hidden+"/"):
		// .ropewalk/0/ConfigMap settings/values.yaml
		_, rest, _ := strings.Cut(strings.TrimPrefix(pos.File, hidden+"/"), "/")
		pos.File = rest
	case strings.HasPrefix(pos.File, "--kube-version"):
		return object.Pos{}, "spec.context.kubeVersion"
	case strings.HasPrefix(pos.File, "--namespace"):
		return object.Pos{}, "spec.context.namespace"
	case strings.HasPrefix(pos.File, "--env"):
		return object.Pos{}, "spec.sourceRef.environment"
	case strings.HasPrefix(pos.File, "--values"):
		return object.Pos{}, p.input(pos.File)
	}
	return pos, ""
}

// input is the field of inputsFrom that names a spec, from the option that it became.
func (p places) input(option string) string {
	for i := range p.transform.Spec.InputsFrom {
		if strings.Contains(option, fmt.Sprintf(":%s/%d/", hidden, i)) {
			return fmt.Sprintf("spec.inputsFrom[%d].spec", i)
		}
	}
	return "spec.inputsFrom"
}

// field is the field of the Transform at a position of its document: with the line
// and the column in its text where it is a text of several lines.
func (p places) field(pos object.Pos) string {
	path, at := nearest(p.doc.value, nil, pos)
	if at.Kind == object.KindString && pos.Line > at.Pos.Line {
		// The text begins in the line after its field, with an indentation.
		indent := 2 * len(path)
		return fmt.Sprintf("%s:%d:%d", path, pos.Line-at.Pos.Line, max(1, pos.Column-indent))
	}
	if len(path) == 0 {
		return "spec"
	}
	return path.String()
}

// nearest is the last part of v that begins at pos or before it.
func nearest(v object.Value, path object.Path, pos object.Pos) (object.Path, object.Value) {
	bestPath, best := path, v
	for _, m := range v.Members {
		if before(m.Pos, pos) || before(m.Value.Pos, pos) {
			bestPath, best = nearest(m.Value, path.Append(object.Field(m.Name)), pos)
		}
	}
	for i, item := range v.Items {
		if before(item.Pos, pos) {
			bestPath, best = nearest(item, path.Append(object.Index(i)), pos)
		}
	}
	return bestPath, best
}

// before reports whether p is q, or comes before it in the same file.
func before(p, q object.Pos) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Column <= q.Column
}
