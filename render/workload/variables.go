// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"unicode/utf8"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/placeholder"
)

// Mentioned returns the names of the variables that texts of s refer to, sorted, each once:
// ${NAME} and ${NAME:-default} wherever Score expands placeholders.
func Mentioned(s Source) []string {
	found := map[string]bool{}
	text := func(text string) {
		for _, v := range placeholder.Variables(text) {
			found[v.Name] = true
		}
	}

	// Containers mention variables in several fields.
	for _, c := range s.Spec.Containers {
		for _, v := range c.Variables {
			text(v.Value.Value)
		}
		for _, v := range c.Volumes {
			text(v.Source.Value)
		}
		for _, f := range c.Files {
			switch {
			case f.NoExpand:
			case f.Content != nil:
				text(f.Content.Value)
			case f.Source != nil && utf8.Valid(s.Files[f.Source.Value]):
				text(string(s.Files[f.Source.Value]))
			}
		}
	}

	// Resources mention them in their params.
	for _, r := range s.Spec.Resources {
		_, _, _ = mapTexts(r.Params, nil, func(v object.Value, _ object.Path) (object.Value, bool, object.Errors) {
			text(v.Text)
			return v, true, nil
		})
	}
	return object.SortedKeys(found)
}

// variable returns what ${NAME} stands for: text that is not read again. No message shows a value
// or a default, as both may be passwords.
func (s scope) variable(v placeholder.Variable) ([]generate.Piece, *object.Error) {
	if v.Unknown {
		return nil, mistake("write ${"+v.Name+"} or ${"+v.Name+":-default}, with a default that refers to nothing; $${…} is the text itself",
			"this form of a reference to a variable is not known")
	}
	value, given := s.member.source.Variables[v.Name]
	switch {
	case value != "" || given && v.Default == nil:
		return []generate.Piece{{Literal: value, Verbatim: true}}, nil
	case v.Default != nil:
		return []generate.Piece{{Literal: *v.Default}}, nil
	case s.member.config.VariablesIncomplete:
		return nil, &object.Error{} // reported elsewhere
	}
	hint := fmt.Sprintf("write ${%[1]s:-default}, set %[1]s in a file of spec.workloads.envFiles, or give --env-file FILE, --var %[1]s=VALUE "+
		"or --var-from-env %[1]s; $${%[1]s} is the text itself", v.Name)
	if near := object.DidYouMean(v.Name, s.member.config.Variables); near != "" {
		hint = near + " Or " + hint
	}
	return nil, mistake(hint, "no source gives the variable, and it has no default")
}
