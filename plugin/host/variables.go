// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/envfile"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload"
)

// variables are those that workloads may refer to, ${NAME}.
type variables struct {
	values map[string]string
	// texts are the values that no message shows, also of those that another one replaces.
	texts []string
	// given are the options that name a single variable, which must be of use, by name.
	given map[string]object.Pos
	used  map[string]bool
	// incomplete is set if a source could not be read.
	incomplete bool
}

func (v *variables) set(name, value string) {
	v.values[name] = value
	v.hide(name, value)
}

// words is a value such as "postgres", "production" or "/var/lib/data", which messages show
// for other reasons too: paths of fields would not be readable without it.
var words = regexp.MustCompile(`^/?[a-z]+(?:[-_./][a-z]+)*$`)

// hide keeps a value out of all messages, unless it is of words and its name is not one of a
// secret.
func (v *variables) hide(name, value string) {
	if object.SensitiveName(name) || !words.MatchString(value) {
		v.texts = append(v.texts, value)
	}
}

var variableName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)

// readVariables reads the files of the project and of its environment, those of the
// options, the names that are taken from the environment of the process, and single
// values; what comes later wins.
func (l *loading) readVariables() {
	if l.variables.values != nil { // for documents that become workloads
		l.config.Variables, l.config.VariablesIncomplete = object.SortedKeys(l.variables.values), l.variables.incomplete
		return
	}
	l.variables = variables{values: map[string]string{}, given: map[string]object.Pos{}, used: map[string]bool{}}
	for _, f := range l.config.EnvFiles {
		at, name := l.Location(f.Pos.File), f.Path
		data, err := at.Read(name)
		if err == nil {
			name = at.Root.Display(path.Join(at.Dir, name))
		}
		l.envFile(spec.File{Name: name, Data: data}, f.Pos, err)
	}
	for _, name := range l.opts.EnvFiles {
		file, err := l.ReadNamed(name)
		l.envFile(file, object.Pos{File: file.Name}, err)
	}
	for _, name := range l.opts.VariablesFromEnv {
		pos := object.Pos{File: "--var-from-env " + name}
		value, ok := "", false
		if l.opts.LookupEnv != nil {
			value, ok = l.opts.LookupEnv(name)
		}
		switch {
		case !variableName.MatchString(name):
			l.config.VariablesIncomplete = true
			l.Fail(object.Pos{File: "--var-from-env"}, "", errors.New("expected a NAME of A-Z, 0-9 and _"))
		case !ok:
			l.config.VariablesIncomplete = true
			l.Fail(pos, "set it, or give --var "+name+"=VALUE", errors.New("the variable is not set in the environment of the process"))
		default:
			l.variables.given[name] = pos
			l.variables.set(name, value)
		}
	}
	for _, arg := range l.opts.Variables {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || !variableName.MatchString(name) {
			l.config.VariablesIncomplete = true
			// What was written may be a secret, whatever is missing.
			l.Fail(object.Pos{File: "--var"}, "", errors.New("expected NAME=VALUE, with a NAME of A-Z, 0-9 and _"))
			continue
		}
		l.variables.given[name] = object.Pos{File: "--var " + name}
		l.variables.set(name, value)
	}
	l.config.Variables, l.variables.incomplete = object.SortedKeys(l.variables.values), l.config.VariablesIncomplete
}

// envFile adds the variables of a file; err is that of reading it.
func (l *loading) envFile(file spec.File, pos object.Pos, err error) {
	var errs object.Errors
	values := map[string]string{}
	if err == nil {
		values, errs = envfile.Parse(file)
	}
	if err != nil {
		hint := ""
		if pos.Line > 0 {
			hint = "the path is relative to the project, and stays in its root; --env-file takes any file"
		}
		l.Fail(pos, hint, fmt.Errorf("env file %q: %w", file.Name, err))
	}
	l.config.VariablesIncomplete = l.config.VariablesIncomplete || err != nil || len(errs) > 0
	l.Errs = append(l.Errs, errs...)
	if len(errs) > 0 {
		return // The values are not known.
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		l.variables.set(name, values[name])
	}
}

// variablesOf are the values of the variables that texts of a workload mention.
func (l *loading) variablesOf(w workload.Source) map[string]string {
	var out map[string]string
	for _, name := range workload.Mentioned(w) {
		l.variables.used[name] = true
		if value, ok := l.variables.values[name]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = value
		}
	}
	return out
}

// unusedVariables reports single variables that nothing refers to, where all workloads
// were read. A file may be shared with others.
func (l *loading) unusedVariables() {
	if l.overlays.NamesIncomplete || l.Errs.Err() != nil {
		return
	}
	for _, name := range object.SortedKeys(l.variables.given) {
		if !l.variables.used[name] {
			l.Fail(l.variables.given[name], l.Suggest(name, object.SortedKeys(l.variables.used)), fmt.Errorf("no workload refers to ${%s}", name))
		}
	}
}
