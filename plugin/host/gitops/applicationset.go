// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
)

// applicationSet returns the units of the Applications that an ApplicationSet generates.
func (x *expanding) applicationSet(ctx context.Context, f found) []Unit {
	id := f.named(f.cluster)
	g := generating{expanding: x, set: f, templater: &templater{ctx: ctx, goTemplate: f.is("spec", "goTemplate")}}
	for _, option := range f.at("spec", "goTemplateOptions").Items {
		g.options = append(g.options, option.Text)
	}

	// All generators give parameters, and each of these an Application.
	var out []Unit
	for _, generator := range f.at("spec", "generators").Items {
		all, err := g.parameters(generator, nil, 0)
		if err != nil {
			x.warnings = append(x.warnings, asWarning(id, generator.Pos, err))
		}
		for _, params := range all {
			w, err := g.application(lookup(generator, innerName(generator), "template"), params)
			if err != nil {
				x.warnings = append(x.warnings, asWarning(id, f.at("spec", "template").Pos, err))
				continue
			}
			made := found{Written: w, cluster: f.cluster, parents: append(slices.Clip(f.parents), id)}
			out = append(out, x.application(made)...)
		}
	}
	return out
}

// asWarning returns why an ApplicationSet is not expanded.
func asWarning(id ID, at object.Pos, err error) *object.Error {
	first := *object.AsErrors(err, object.StageSpec)[0]
	if !first.Pos.IsValid() {
		first.Pos = at
	}
	first.Err = fmt.Errorf("%s is not expanded: %w", id, first.Err)
	first.Severity = object.SeverityWarning
	return &first
}

// generating is the expansion of one ApplicationSet.
type generating struct {
	*expanding
	*templater
	set found
}

// Bounds of generators.
const (
	maxElements = 10_000
	maxNested   = 3
)

// innerName returns the name of a generator: list, git, matrix.
func innerName(generator object.Value) string {
	for _, m := range generator.Members {
		if m.Name != "selector" {
			return m.Name
		}
	}
	return ""
}

// parameters returns the parameters of a generator. The argument outer has those of a matrix that
// it is in, which its fields may use.
func (g generating) parameters(generator object.Value, outer map[string]any, depth int) ([]map[string]any, error) {
	if depth > maxNested {
		return nil, mistake(generator.Pos, "", "generators are nested more than %d deep", maxNested)
	}
	if outer != nil {
		filled, err := g.fill(generator, outer)
		if err != nil {
			return nil, err
		}
		generator = filled
	}
	name := innerName(generator)
	inner, _ := generator.Get(name)
	var out []map[string]any
	var err error
	switch name {
	case "list":
		out, err = g.list(inner)
	case "git":
		out, err = g.git(inner)
	case "clusters":
		out, err = g.inCluster(inner)
	case "matrix":
		out, err = g.matrix(inner, depth)
	case "merge":
		out, err = g.merge(inner, depth)
	case "":
		err = mistake(generator.Pos, "", "it has a generator without a name")
	default:
		err = mistake(inner.Pos, "", "the generator %s asks a server", name)
	}
	if selector := lookup(generator, "selector"); err == nil && len(selector.Members) > 0 {
		out = selected(out, selector)
	}
	if err == nil && len(out) > maxElements {
		err = mistake(generator.Pos, "", "the generator has more than %d elements", maxElements)
		out = nil
	}
	return out, err
}

// list returns the elements of a list.
func (g generating) list(v object.Value) ([]map[string]any, error) {
	elements := lookup(v, "elements").Items
	if text := lookup(v, "elementsYaml"); text.Text != "" {
		var more any
		if err := yaml.Unmarshal([]byte(text.Text), &more); err != nil {
			return nil, mistake(text.Pos, "", "elementsYaml is no YAML: %w", err)
		}
		elements = append(slices.Clip(elements), valueOf(more, object.Value{Pos: text.Pos}).Items...)
	}
	var out []map[string]any
	for _, element := range elements {
		fields, ok := plain(element).(map[string]any)
		if !ok {
			return nil, mistake(element.Pos, "", "an element of the list is no map")
		}
		out = append(out, g.shaped(fields))
	}
	return out, nil
}

// shaped returns parameters as templates see them: as they are for those of Go, and else flat, with
// dots in their names.
func (g generating) shaped(fields map[string]any) map[string]any {
	if g.goTemplate {
		return numbersOf(fields)
	}
	out := map[string]any{}
	flatten(out, "", fields)
	return out
}

// numbersOf returns a value with the numbers of Go: sprig counts with no json.Number.
func numbersOf(fields map[string]any) map[string]any {
	data, err := json.Marshal(fields)
	if err != nil {
		return fields
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		return fields
	}
	return out
}

// flatten adds the parts of v to out, by names with dots.
func flatten(out map[string]any, name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range object.SortedKeys(v) {
			flatten(out, strings.TrimPrefix(name+"."+key, "."), v[key])
		}
	case []any:
		for i, item := range v {
			flatten(out, fmt.Sprintf("%s[%d]", name, i), item)
		}
	default:
		out[name] = v
	}
}

// matrix returns the parameters of each pair of two generators.
func (g generating) matrix(v object.Value, depth int) ([]map[string]any, error) {
	generators := lookup(v, "generators").Items
	if len(generators) != 2 { //nolint:mnd // a matrix is of two
		return nil, mistake(v.Pos, "", "a matrix has two generators, and this one has %d", len(generators))
	}
	first, err := g.parameters(generators[0], nil, depth+1)
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, outer := range first {
		second, err := g.parameters(generators[1], outer, depth+1)
		if err != nil {
			return nil, err
		}
		for _, inner := range second {
			both := maps.Clone(outer)
			maps.Copy(both, inner)
			out = append(out, both)
		}
		if len(out) > maxElements {
			return nil, mistake(v.Pos, "", "the matrix has more than %d elements", maxElements)
		}
	}
	return out, nil
}

// merge returns the parameters of the first generator, with those of the others over them that have
// the same values of the merge keys.
func (g generating) merge(v object.Value, depth int) ([]map[string]any, error) {
	generators := lookup(v, "generators").Items
	keys := texts(lookup(v, "mergeKeys"))
	if len(generators) < 2 || len(keys) == 0 { //nolint:mnd // a merge is of two or more
		return nil, mistake(v.Pos, "", "a merge has two generators or more, and mergeKeys")
	}
	keyOf := func(params map[string]any) string {
		var values []string
		for _, key := range keys {
			var value any = params
			if flat, ok := params[key]; ok {
				value = flat
			} else {
				for _, name := range strings.Split(key, ".") {
					below, _ := value.(map[string]any)
					value = below[name]
				}
			}
			values = append(values, fmt.Sprintf("%q", fmt.Sprint(value)))
		}
		return strings.Join(values, ",")
	}
	out, err := g.parameters(generators[0], nil, depth+1)
	if err != nil {
		return nil, err
	}
	for _, generator := range generators[1:] {
		more, err := g.parameters(generator, nil, depth+1)
		if err != nil {
			return nil, err
		}
		over := map[string]map[string]any{}
		for _, params := range more {
			over[keyOf(params)] = params
		}
		for i, params := range out {
			both := maps.Clone(params)
			maps.Copy(both, over[keyOf(params)])
			out[i] = both
		}
	}
	return out, nil
}

// selected returns the parameters that a selector of labels matches.
func selected(all []map[string]any, selector object.Value) []map[string]any {
	return slices.DeleteFunc(all, func(params map[string]any) bool {
		flat := map[string]any{}
		flatten(flat, "", params)
		return !selects(selector, flat)
	})
}

// selects reports whether a selector of labels matches.
func selects(selector object.Value, labels map[string]any) bool {
	for _, m := range lookup(selector, "matchLabels").Members {
		if fmt.Sprint(labels[m.Name]) != m.Value.Written() {
			return false
		}
	}
	for _, rule := range lookup(selector, "matchExpressions").Items {
		value, there := labels[rule.TextOf("key")]
		in := slices.Contains(texts(lookup(rule, "values")), fmt.Sprint(value))
		switch rule.TextOf("operator") {
		case "In":
			if !there || !in {
				return false
			}
		case "NotIn":
			if there && in {
				return false
			}
		case "Exists":
			if !there {
				return false
			}
		case "DoesNotExist":
			if there {
				return false
			}
		}
	}
	return true
}

// application returns the Application of one set of parameters. The argument own is the template of
// its generator, which goes over that of the ApplicationSet.
func (g generating) application(own object.Value, params map[string]any) (Written, error) {
	template := g.set.at("spec", "template")
	if own.Kind == object.KindMap {
		template = template.Merge(own)
	}
	filled, err := g.fill(template, params)
	if err != nil {
		return Written{}, err
	}
	if patch := g.set.at("spec", "templatePatch"); patch.Text != "" {
		text, err := g.text(patch.Text, params)
		if err != nil {
			return Written{}, mistake(patch.Pos, "", "templatePatch: %w", err)
		}
		var over any
		if err := yaml.Unmarshal([]byte(text), &over); err != nil {
			return Written{}, mistake(patch.Pos, "", "templatePatch makes no YAML: %w", err)
		}
		if v := valueOf(over, object.Value{Pos: patch.Pos}); v.Kind == object.KindMap {
			filled = filled.Merge(v)
		}
	}
	metadata, _ := filled.Get("metadata")
	if metadata.TextOf("namespace") == "" {
		metadata = metadata.Merge(mapOf(filled.Pos, member("namespace", object.TextAt(g.set.named("").Namespace, filled.Pos))))
	}
	made := mapOf(g.set.Pos, member("apiVersion", object.TextAt(groupArgo+"/v1alpha1", filled.Pos)), member("kind", object.TextAt(kindApplication, filled.Pos)),
		member("metadata", metadata), member("spec", lookup(filled, "spec")))
	return Written{Value: made, Rendered: true}, nil
}
