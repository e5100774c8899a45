// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Names of parameters that are no paths of inputs. An input of such a name is set
// with its spec before it (api:values), or by the parameter set.
const (
	paramEnvironment = "environment"
	paramPreview     = "preview"
	paramValues      = "values"
	paramSet         = "set"
	paramImages      = "images"
	paramRuntime     = "runtime"
	paramAllowEmpty  = "allowEmpty"
)

// parameter is one of spec.source.plugin.parameters of an Application.
type parameter struct {
	Name   string            `json:"name"`
	String *string           `json:"string"`
	Array  []string          `json:"array"`
	Map    map[string]string `json:"map"`
}

// parameters reads ARGOCD_APP_PARAMETERS.
func parameters(text string) ([]parameter, error) {
	if text == "" || text == "null" {
		return nil, nil
	}
	var list []parameter
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
			found, _, _ := strings.Cut(kind.Value, " ") // Of a number the digits follow, which may be a secret.
			err = fmt.Errorf("found a JSON %s at %q: expected maps with a name and one of "+
				"string (a text), array (a list of texts) and map (a map of texts)", found, kind.Field)
		}
		return nil, fmt.Errorf("%s: not a JSON list of parameters: %w", inParameters, err)
	}
	return list, nil
}

// apply adds a parameter to the inputs of a render.
func (p parameter) apply(w *inputs) error {
	// A parameter has one value.
	kinds := 0
	for _, given := range []bool{p.String != nil, p.Array != nil, p.Map != nil} {
		if given {
			kinds++
		}
	}
	if kinds > 1 {
		return p.fail("the parameter has several values: expected one of string, array and map")
	}

	// Parameters of this plugin come before inputs of the same name.
	switch p.Name {
	case "":
		return p.fail("the parameter has no name")
	case paramEnvironment, paramPreview, paramAllowEmpty:
		if p.String == nil {
			return p.fail("expected a string")
		}
		switch {
		case p.Name == paramEnvironment:
			w.Environment = *p.String
			return nil
		case p.Name == paramPreview:
			w.Preview = *p.String
			return nil
		case *p.String == "true" || *p.String == "false":
			w.AllowEmpty = *p.String == "true"
			return nil
		}
		return p.fail(fmt.Sprintf("expected true or false, got %q", *p.String))
	case paramValues:
		for _, file := range p.list() {
			name, err := w.resolveFile(file)
			if err != nil {
				return p.fail(err.Error())
			}
			w.Values = append(w.Values, name)
		}
		return nil
	case paramSet:
		w.Set = append(w.Set, p.list()...)
		return nil
	case paramRuntime:
		for _, value := range p.list() {
			if !strings.Contains(value, "=") {
				return p.fail("expected NAME=VALUE, or a map")
			}
			w.Runtime = append(w.Runtime, value)
		}
		return nil
	case paramImages:
		w.Images = append(w.Images, p.list()...)
		return nil
	}
	return p.setInput(w)
}

// isInput reports whether the parameter is named like an input.
func (p parameter) isInput() bool {
	static := []string{
		paramEnvironment, paramPreview, paramValues, paramSet, paramImages, paramRuntime, paramAllowEmpty,
	}
	return !slices.Contains(static, p.Name)
}

// list returns the texts of a parameter: a map is a list of KEY=VALUE.
func (p parameter) list() []string {
	var out []string
	if p.String != nil {
		out = append(out, *p.String)
	}
	out = append(out, p.Array...)
	for _, key := range slices.Sorted(maps.Keys(p.Map)) {
		out = append(out, key+"="+p.Map[key])
	}
	return out
}

// setInput sets the input that the parameter is named like.
func (p parameter) setInput(w *inputs) error {
	if strings.ContainsRune(p.Name, '=') {
		return p.fail("expected the path of an input, [SPEC:]PATH")
	}
	switch {
	case p.String != nil:
		w.Set = append(w.Set, p.Name+"="+*p.String)
	case p.Array != nil:
		items := make([]string, len(p.Array))
		for i, item := range p.Array {
			items[i] = yamlElement(item)
		}
		w.Set = append(w.Set, p.Name+"=["+strings.Join(items, ", ")+"]")
	case len(p.Map) > 0:
		for _, key := range slices.Sorted(maps.Keys(p.Map)) {
			w.Set = append(w.Set, fmt.Sprintf("%s[%s]=%s", p.Name, quoted(key), yamlElement(p.Map[key])))
		}
	case p.Map != nil:
		w.Set = append(w.Set, p.Name+"={}")
	default:
		return p.fail("the parameter has no value: expected string, array or map")
	}
	return nil
}

// fail returns a mistake of the parameter.
func (p parameter) fail(why string) error {
	return object.Errors{{
		Stage: object.StageSpec, Pos: object.Pos{File: inParameters},
		Path: cut(spec.SetTarget(p.Name), 200), Err: errors.New(why),
	}}
}

// yamlElement returns an element of a list or a map. A number, true, false or null stays as it is.
// One of these in quotes is text without them, and everything else is text. Unlike the value of a
// text parameter it is never a list or a map itself.
func yamlElement(text string) string {
	var inner string
	isQuoted := json.Unmarshal([]byte(text), &inner) == nil
	if isNoText(text) || (isQuoted && isNoText(inner)) {
		return text
	}
	return quoted(text)
}

// isNoText reports whether a text is read as a number, true, false or null.
func isNoText(text string) bool {
	return !strings.HasPrefix(text, `"`) && !strings.ContainsAny(text, "[{ \n\t\r") && json.Valid([]byte(text))
}

// quoted returns a text in quotes, as JSON has it.
func quoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil {
		return `""` // A text always encodes.
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// static returns the parameters that every application takes.
func static() []*wire.Parameter {
	return []*wire.Parameter{
		{Name: paramEnvironment, Title: "Environment", Tooltip: "environment of the project to lay over it", CollectionType: "string"},
		{
			Name: paramPreview, Title: "Preview", CollectionType: "string",
			Tooltip: "name of the preview, which spec.previews of the project gives namespaces and hosts of its own",
		},
		{
			Name: paramValues, Title: "Values", CollectionType: "array",
			Tooltip: "[SPEC:]FILE of values to lay over the inputs, relative to the path",
		},
		{Name: paramSet, Title: "Set", Tooltip: "[SPEC:]PATH=VALUE to lay over the inputs", CollectionType: "array"},
		{
			Name: paramImages, Title: "Images", CollectionType: "array",
			Tooltip: "[SPEC[/CONTAINER]=]IMAGE for containers of workloads with image \".\"",
		},
		{
			Name: paramRuntime, Title: "Runtime", CollectionType: "map",
			Tooltip: "NAME and value of attributes @timoni(runtime:TYPE:NAME) of bundles and modules",
		},
		{
			Name: paramAllowEmpty, Title: "Allow empty", Tooltip: "true accepts a render without objects, which deletes those in the cluster",
			ItemType: "boolean", CollectionType: "string", String_: "false",
		},
	}
}

// resolveFile returns a path of the user, [SPEC:]FILE, relative to the root of the repository.
func (w *inputs) resolveFile(name string) (string, error) {
	spec, file, ok := strings.Cut(name, ":")
	if !ok {
		spec = ""
		file = name
	}
	full := path.Join(w.Path, file)
	if path.IsAbs(file) || full == ".." || strings.HasPrefix(full, "../") {
		return "", fmt.Errorf("%q: expected a path relative to that of the application, inside the repository", name)
	}
	if ok {
		return spec + ":" + full, nil
	}
	return full, nil
}
