// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"errors"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// inParameters is where a user writes parameters.
const inParameters = "spec.source.plugin.parameters"

// origins are the fields in which the user of Argo CD has written what a render knows as
// options of the command line: --set n=3 is in spec.source.plugin.parameters: n.
type origins map[string]string

// note notes the field that has added what is in after, and not in before. One that
// holds several values names the value, too.
func (o origins) note(before, after inputs, field string, several bool) {
	add := func(flag string, was, is []string) {
		for _, arg := range is[len(was):] {
			if flag == "--set " {
				arg = spec.SetTarget(arg) // The value may be a secret.
			}
			if _, known := o[flag+arg]; known {
				continue
			}
			o[flag+arg] = field
			if several {
				o[flag+arg] += ": " + cut(arg, 200)
			}
		}
	}
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
}

// placed is an error that names the parameters at fault, and not options that the
// user has not written.
func (o origins) placed(err error) error {
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
		if got, isText := strings.CutPrefix(m.Err.Error(), "expected text, got "); isText && named.Hint == "" && isNoText(got) {
			named.Hint = "write it in quotes: " + quoted(got)
		}
	}
	return out
}
