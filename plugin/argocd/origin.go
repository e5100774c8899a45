// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
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

// malformed is what is wrong with the JSON of parameters, in words of JSON.
func malformed(err error) error {
	why := err.Error()
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
		at, want := "they are", "a list"
		switch kind.Field {
		case "":
			if kind.Type.Kind().String() == "struct" {
				at, want = "one of them is", "a map with name, and string, array or map"
			}
		case "name", "string":
			at, want = fmt.Sprintf("%q is", kind.Field), "text"
		case "array":
			at, want = `"array" is`, "a list of texts"
		case "map":
			at, want = `"map" is`, "a map of texts"
		default:
			at, want = fmt.Sprintf("%q is", kind.Field), "text"
		}
		why = fmt.Sprintf("%s, or holds, a JSON %s where %s is expected", at, kind.Value, want)
	}
	return fmt.Errorf("%s: not a JSON list of parameters: %s", inParameters, strings.TrimPrefix(why, "json: "))
}
