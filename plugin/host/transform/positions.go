// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// positions lead from what a request says back to what the user wrote.
type positions struct {
	doc       *spec.Structured // nil until the inputs and the path are good
	transform *v1alpha1.Transform
	at        func(field string) (object.Pos, string)
}

// Explain returns an error with the positions of the user's input. An error that is not an
// object.Errors is returned as it is.
func (l Loaded) Explain(err error) error {
	var mistakes object.Errors
	if !errors.As(err, &mistakes) {
		return err
	}
	return l.Positions(mistakes)
}

// Positions returns mistakes at the positions of the user's input.
func (l Loaded) Positions(mistakes object.Errors) object.Errors {
	out := make(object.Errors, len(mistakes))
	for i, m := range mistakes {
		at := *m
		if _, or, ok := strings.Cut(m.Hint, "=VALUE, or "); ok && strings.HasPrefix(m.Hint, "pass --runtime ") {
			at.Hint = "set it in spec.tags, or from a ConfigMap with spec.inputsFrom[].runtime, or " + or
		}
		if pos, path := l.positions.of(m.Pos); path != "" {
			// What a mistake calls its path is that of the document, and so of the Transform.
			if strings.HasPrefix(m.Path, "spec.") && !strings.HasPrefix(path, m.Path+":") {
				path = m.Path
			}
			at.Pos, at.Path = l.positions.at(path)
		} else {
			at.Pos = pos
		}
		at.Notes = make([]object.Note, len(m.Notes))
		for j, n := range m.Notes {
			n.Pos = l.Pos(n.Pos)
			at.Notes[j] = n
		}
		out[i] = &at
	}
	return out
}

// Pos returns a position of the user's input for a position of the render.
func (l Loaded) Pos(pos object.Pos) object.Pos {
	pos, path := l.positions.of(pos)
	if path != "" {
		pos, _ = l.positions.at(path)
	}
	return pos
}

// of returns a position without the files that no user wrote, or the field of the Transform that
// it is.
func (p positions) of(pos object.Pos) (object.Pos, string) {
	switch {
	case pos.File == "":
	case p.doc != nil && pos.File == p.doc.File.Name:
		return object.Pos{}, cmp.Or(p.doc.PathAt(pos), "spec")
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
	case strings.HasPrefix(pos.File, "--runtime "):
		return object.Pos{}, p.runtime(strings.TrimPrefix(pos.File, "--runtime "))
	case strings.HasPrefix(pos.File, "--values"):
		return object.Pos{}, p.input(pos.File)
	}
	return pos, ""
}

// runtime returns the field that sets a runtime value.
func (p positions) runtime(name string) string {
	for i, in := range p.transform.Spec.InputsFrom {
		if in.Runtime == name {
			return fmt.Sprintf("spec.inputsFrom[%d].runtime", i)
		}
	}
	return "spec.tags." + name
}

// input returns the field of inputsFrom that names a spec, from the option that it became.
func (p positions) input(option string) string {
	for i := range p.transform.Spec.InputsFrom {
		if strings.Contains(option, fmt.Sprintf(":%s/%d/", hidden, i)) {
			return fmt.Sprintf("spec.inputsFrom[%d].spec", i)
		}
	}
	return "spec.inputsFrom"
}
