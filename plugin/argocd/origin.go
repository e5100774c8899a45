// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// inParameters is the field in which a user writes parameters.
const inParameters = "spec.source.plugin.parameters"

// origins are the fields in which the user of Argo CD has written what a render knows as
// options of the command line: --set n=3 is in spec.source.plugin.parameters: n.
type origins map[string]string

// note keeps the field that has added what is in after, and not in before. A field that holds
// several values is kept with the value.
func (o origins) note(before, after inputs, field string, several bool) {
	add := func(flag string, was, is []string) {
		for _, arg := range is[len(was):] {
			place := flag + arg
			if flag == "--set " {
				place = spec.SetPlace(arg) // The value may be a secret.
			}
			if _, known := o[place]; known {
				continue
			}
			o[place] = field
			if arg, named := strings.CutPrefix(place, flag); several && named {
				o[place] += ": " + cut(arg, 200)
			}
		}
	}

	// Each value is known by the place that errors give for it.
	add("--set ", before.Set, after.Set)
	add("--image ", before.Images, after.Images)
	add("--values ", before.Values, after.Values)
	for _, arg := range after.Runtime[len(before.Runtime):] {
		name, _, _ := strings.Cut(arg, "=") // The value may be a secret.
		o["--runtime "+name] = field + ": " + name
	}
	if before.Environment != after.Environment {
		o["--env "+after.Environment] = field
	}
	if before.Preview != after.Preview {
		o["--preview "+after.Preview] = field
	}
}

// atParameters returns an error that names the parameters at fault, and not options that the user
// has not written.
func (o origins) atParameters(err error) error {
	var mistakes object.Errors
	if !errors.As(err, &mistakes) {
		return err
	}
	out := make(object.Errors, len(mistakes))
	for i, m := range mistakes {
		named := *m
		out[i] = &named
		field, ok := o[m.Pos.File]
		if !ok {
			continue
		}
		named.Pos.File = field
		if _, text, ok := strings.Cut(m.Hint, "from the shell: "); ok {
			_, text, _ = strings.Cut(text, "=")
			named.Hint = "write it in quotes: " + strings.TrimSuffix(text, "'")
		}
		named.Hint = strings.ReplaceAll(named.Hint, "--set ", "")
		if got, isText := strings.CutPrefix(m.Err.Error(), "expected text, got "); isText && named.Hint == "" && isNoText(got) {
			named.Hint = "write it in quotes: " + quoted(got)
		}
		rewordMistake(&named)
	}
	return out
}

// rewordMistake rewords a mistake in a parameter that is named like an input: its value is beside
// its name, and the name may be a slip of one that every application takes.
func rewordMistake(m *object.Error) {
	name, ok := strings.CutPrefix(m.Pos.File, inParameters+": ")
	if !ok || strings.HasPrefix(name, paramSet+": ") {
		return
	}
	form, isUnclear := strings.CutSuffix(m.Hint, "=VALUE")
	isUnknown := m.Hint == "" && strings.HasPrefix(m.Err.Error(), "unknown field")
	if isUnclear {
		m.Stage = "" // No stage has a part in it: the parameter is for nothing.
		m.Hint = form
	}
	var known []string
	for _, p := range static() {
		known = append(known, p.Name)
	}
	if near := object.DidYouMean(name, known); near != "" && (isUnclear || isUnknown) {
		m.Stage = ""
		m.Err = errors.New("the parameter is not known")
		m.Path = ""
		m.Hint = near
	}
}

// explainMissing adds to errors about missing files the name of the annotation that limits what
// the repo-server sends, if it has sent only a part of the repository.
func (r request) explainMissing(err error) error {
	var mistakes object.Errors
	if r.sent == "" || !errors.As(err, &mistakes) {
		return err
	}
	out := make(object.Errors, len(mistakes))
	for i, m := range mistakes {
		named := *m
		out[i] = &named
		if isMissingFile(m.Err) {
			named.Hint = fmt.Sprintf("Argo CD has sent only %q of the repository: add the missing folder to the annotation "+
				"argocd.argoproj.io/manifest-generate-paths of the Application, such as .;/modules", r.sent)
		}
	}
	return out
}

// isMissingFile reports whether an error is about a file or folder of the repository that does not
// exist. What a server does not have is another matter.
func isMissingFile(err error) bool {
	text := err.Error()
	return errors.Is(err, fs.ErrNotExist) || strings.Contains(text, " leaves the root") || strings.Contains(text, "there is no folder ")
}
