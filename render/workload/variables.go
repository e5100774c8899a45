// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"strings"
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

// variable returns the pieces that replace ${NAME}: text that is not read again. No message shows a value
// or a default, as both may be passwords.
func (s scope) variable(v placeholder.Variable) ([]generate.Piece, *object.Error) {
	if v.Unknown {
		return nil, mistake("write ${"+v.Name+"} or ${"+v.Name+":-default}, with a default that refers to nothing; $${…} is the text itself",
			"this form of a reference to a variable is not known")
	}
	value, isSet := s.member.source.Variables[v.Name]
	switch {
	case value != "" || isSet && v.Default == nil:
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

// warnScript warns of a default that is written into a script, which may have been meant
// for the shell that runs it.
func (m *member) warnScript(raw string, origin position) (errs object.Errors) {
	if !strings.HasPrefix(raw, "#!") {
		return nil
	}
	for _, p := range placeholder.Parse(raw) {
		v, ok := p.VariableAt(raw)
		if !ok || v.Default == nil || m.source.Variables[v.Name] != "" {
			continue
		}
		errs = append(errs, &object.Error{
			Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: origin.within(raw, p.Offset), Path: origin.path(),
			Err:  fmt.Errorf("the default of %s is written into the script: its shell sees no variable here", v),
			Hint: fmt.Sprintf("write $${%s:-…} to leave it to the shell, or noExpand: true for the whole file", v.Name),
		})
	}
	return errs
}
