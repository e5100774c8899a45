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
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload"
)

// variables are the variables that workloads may refer to, ${NAME}.
type variables struct {
	values map[string]string
	// texts are the values that no message shows, also values that were replaced later.
	texts []string
	// given are the options that name a single variable, which must be of use, by name.
	given map[string]object.Pos
	used  map[string]bool
	// incomplete is set if a source could not be read.
	incomplete bool
}

// set sets a variable, and hides its value.
func (v *variables) set(name, value string) {
	v.values[name] = value
	v.hide(name, value)
}

// words is a value such as "postgres", "production" or "/var/lib/data", which messages show
// for other reasons too: paths of fields would not be readable without it.
var words = regexp.MustCompile(`^/?[a-z]+(?:[-_./][a-z]+)*$`)

// hide keeps a value out of all messages, unless it consists of words and its name is not the name
// of a secret.
func (v *variables) hide(name, value string) {
	if object.SensitiveName(name) || !words.MatchString(value) {
		v.texts = append(v.texts, value)
	}
}

var variableName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)

// readVariables reads the files that a project lists for its environment, the files of the options,
// the names that are taken from the environment of the process, and single values. Later values win.
func readVariables(d *project.Discovery, opts Options, config spec.Workloads) *variables {
	// Files come first.
	v := &variables{
		values:     map[string]string{},
		given:      map[string]object.Pos{},
		used:       map[string]bool{},
		incomplete: config.VariablesIncomplete,
	}
	for _, f := range config.EnvFiles {
		location := d.Location(f.Pos.File)
		name := f.Path
		data, err := location.Read(name)
		if err == nil {
			name = location.Root.Display(path.Join(location.Dir, name))
		}
		v.addFile(d, spec.File{Name: name, Data: data}, f.Pos, err)
	}
	for _, name := range opts.EnvFiles {
		file, err := d.Places.ReadNamed(name)
		v.addFile(d, file, object.Pos{File: file.Name}, err)
	}

	// Variables of the process are taken by name.
	for _, name := range opts.VariablesFromEnv {
		pos := object.Pos{File: "--var-from-env " + name}
		var value string
		var ok bool
		if opts.LookupEnv != nil {
			value, ok = opts.LookupEnv(name)
		}
		switch {
		case !variableName.MatchString(name):
			v.incomplete = true
			d.Fail(object.Pos{File: "--var-from-env"}, "", errors.New("expected a NAME of A-Z, 0-9 and _"))
		case !ok:
			v.incomplete = true
			d.Fail(pos, "set it, or give --var "+name+"=VALUE", errors.New("the variable is not set in the environment of the process"))
		default:
			v.given[name] = pos
			v.set(name, value)
		}
	}

	// Single values override all others.
	for _, arg := range opts.Variables {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || !variableName.MatchString(name) {
			v.incomplete = true
			// The argument may be a secret, whatever is missing.
			d.Fail(object.Pos{File: "--var"}, "", errors.New("expected NAME=VALUE, with a NAME of A-Z, 0-9 and _"))
			continue
		}
		v.given[name] = object.Pos{File: "--var " + name}
		v.set(name, value)
	}
	return v
}

// addFile adds the variables of a file. The argument err is the error of reading it.
func (v *variables) addFile(d *project.Discovery, file spec.File, pos object.Pos, err error) {
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
		d.Fail(pos, hint, fmt.Errorf("env file %q: %w", file.Name, err))
	}
	v.incomplete = v.incomplete || err != nil || len(errs) > 0
	d.Errs = append(d.Errs, errs...)
	if len(errs) > 0 {
		return // The values are not known.
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v.set(name, values[name])
	}
}

// lookup returns a variable, and records that it is used.
func (v *variables) lookup(name string) (string, bool) {
	v.used[name] = true
	value, ok := v.values[name]
	return value, ok
}

// mentioned returns the variables that texts of a workload mention.
func (v *variables) mentioned(w workload.Source) map[string]string {
	var out map[string]string
	for _, name := range workload.Mentioned(w) {
		value, ok := v.lookup(name)
		if ok {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = value
		}
	}
	return out
}

// reportUnused reports single variables that nothing refers to. All workloads were read, and have
// no mistakes. A file may be shared with others.
func (v *variables) reportUnused(d *project.Discovery) {
	for _, name := range object.SortedKeys(v.given) {
		if !v.used[name] {
			d.Fail(v.given[name], d.Suggest(name, object.SortedKeys(v.used)), fmt.Errorf("no workload refers to ${%s}", name))
		}
	}
}
