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
	work := maxWork
	g := generating{expanding: x, set: f, templater: &templater{ctx: ctx, work: &work, goTemplate: f.is("spec", "goTemplate")}}
	for _, option := range f.at("spec", "goTemplateOptions").Items {
		g.options = append(g.options, option.Text)
	}

	// All generators give parameters, and each of these an Application.
	var out []Unit
	names := map[string]bool{}
	elements := 0
	for _, generator := range f.at("spec", "generators").Items {
		for _, name := range generatorNames(generator) {
			all, err := g.parametersOf(generator, name, nil, 0)
			if err != nil {
				x.warnings = append(x.warnings, asWarning(id, generator.Pos, err))
			}
			elements += len(all)
			if elements > maxElements {
				x.warn(generator.Pos, "", "%s is not expanded: its generators have more than %d elements", id, maxElements)
				return nil
			}
			for _, params := range all {
				w, err := g.application(lookup(generator, name, "template"), params)
				if err != nil {
					x.warnings = append(x.warnings, asWarning(id, f.at("spec", "template").Pos, err))
					return nil // Argo CD makes all of them or none.
				}
				made := found{Written: w, cluster: f.cluster, parents: append(slices.Clip(f.parents), id)}
				if own := made.named("").Name; names[own] {
					x.warn(f.at("spec", "template", "metadata", "name").Pos, "give each a name of its own", "%s makes more than one Application %q, and Argo CD applies none of them", id, own)
				}
				names[made.named("").Name] = true
				out = append(out, x.application(made)...)
			}
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

// generatorNames returns the names of the generators in an item of a list of them: list, git, matrix.
func generatorNames(generator object.Value) []string {
	names := slices.DeleteFunc(generator.MemberNames(), func(name string) bool { return name == "selector" })
	if len(names) == 0 {
		names = []string{""}
	}
	return names
}

// parameters returns the parameters of a generator in a matrix or a merge. The argument outer has
// those of the first generator of a matrix, which the fields of the second may use.
func (g generating) parameters(generator object.Value, outer map[string]any, depth int) ([]map[string]any, error) {
	names := generatorNames(generator)
	if len(names) > 1 {
		return nil, mistake(generator.Pos, "", "a generator in another one is one, and this has %d", len(names))
	}
	return g.parametersOf(generator, names[0], outer, depth)
}

// parametersOf returns the parameters of the generator called name.
func (g generating) parametersOf(generator object.Value, name string, outer map[string]any, depth int) ([]map[string]any, error) {
	if depth > maxNested {
		return nil, mistake(generator.Pos, "", "generators are nested more than %d deep", maxNested)
	}
	selector, isSelected := generator.Get("selector") // Argo CD fills no template in it.
	if err := checkSelector(selector); err != nil {
		return nil, err
	}
	if len(outer) > 0 {
		filled, err := g.fill(generator, outer)
		if err != nil {
			return nil, err
		}
		generator = filled
	}
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
	if err == nil && isSelected {
		out = selected(out, selector)
	}
	if err == nil && len(out) > maxElements {
		err = mistake(generator.Pos, "", "the generator has more than %d elements", maxElements)
		out = nil
	}
	return out, err
}

// list returns the elements of a list. Without Go, all of their values are texts, and those of values
// have names such as values.color.
func (g generating) list(v object.Value) ([]map[string]any, error) {
	var out []map[string]any
	for _, element := range lookup(v, "elements").Items {
		if g.goTemplate {
			out = append(out, numbersOf(plainMap(element)))
			continue
		}
		params := map[string]any{}
		for _, m := range element.Members {
			texts, prefix := []object.Member{m}, ""
			if m.Name == "values" {
				texts, prefix = m.Value.Members, "values."
			}
			for _, text := range texts {
				if text.Value.Kind != object.KindString {
					return nil, mistake(text.Pos, "write it in quotes, or set goTemplate", "the value of %s is no text", prefix+text.Name)
				}
				params[prefix+text.Name] = text.Value.Text
			}
		}
		out = append(out, params)
	}
	if text := lookup(v, "elementsYaml"); text.Text != "" {
		var more []map[string]any
		if err := yaml.Unmarshal([]byte(text.Text), &more); err != nil {
			return nil, mistake(text.Pos, "", "elementsYaml is no list of maps in YAML: %w", err)
		}
		out = append(out, more...) // Without Go, only the texts in them can be used.
	}
	return out, nil
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

// flatten adds the parts of v to out, by names with dots: a.b.0.
func flatten(out map[string]any, name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range object.SortedKeys(v) {
			flatten(out, strings.TrimPrefix(name+"."+key, "."), v[key])
		}
	case []any:
		for i, item := range v {
			flatten(out, fmt.Sprintf("%s.%d", name, i), item)
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
			both, err := g.pair(outer, inner)
			if err != nil {
				return nil, mistake(v.Pos, "", "%w", err)
			}
			out = append(out, both)
		}
		if len(out) > maxElements {
			return nil, mistake(v.Pos, "", "the matrix has more than %d elements", maxElements)
		}
	}
	return out, nil
}

// pair returns the parameters of the two generators of a matrix. For a template of Go those of the
// first win; else all are texts, and two that differ are a mistake.
func (g generating) pair(outer, inner map[string]any) (map[string]any, error) {
	if g.goTemplate {
		both, _ := over(inner, outer).(map[string]any)
		return both, nil
	}
	both := map[string]any{}
	for name, value := range outer {
		both[name] = fmt.Sprint(value)
	}
	for _, name := range object.SortedKeys(inner) {
		text := fmt.Sprint(inner[name])
		if other, there := both[name]; there && other != text {
			return nil, fmt.Errorf("both generators of the matrix have the parameter %s, with different values", name)
		}
		both[name] = text
	}
	return both, nil
}

// over returns a parameter with another one over it: maps are merged.
func over(base, top any) any {
	switch top := top.(type) {
	case map[string]any:
		if base, ok := base.(map[string]any); ok {
			out := maps.Clone(base)
			for name, value := range top {
				out[name] = over(base[name], value)
			}
			return out
		}
	case map[string]string:
		if base, ok := base.(map[string]string); ok {
			out := maps.Clone(base)
			maps.Copy(out, top)
			return out
		}
	}
	return top
}

// merge returns the parameters of the first generator, with those of the others over them that have
// the same values of the merge keys. A key is the name of a parameter, and no path.
func (g generating) merge(v object.Value, depth int) ([]map[string]any, error) {
	generators := lookup(v, "generators").Items
	for _, key := range lookup(v, "mergeKeys").Items {
		if key.Kind != object.KindString {
			return nil, mistake(key.Pos, "write the name of a parameter, in quotes", "a key of mergeKeys is no text")
		}
	}
	keys := texts(lookup(v, "mergeKeys"))
	if len(generators) < 2 || len(keys) == 0 { //nolint:mnd // a merge is of two or more
		return nil, mistake(v.Pos, "", "a merge has two generators or more, and mergeKeys")
	}

	// Parameters are found by the values of their keys, which tell those of a generator apart.
	var base []map[string]any
	for i, generator := range generators {
		all, err := g.parameters(generator, nil, depth+1)
		if err != nil {
			return nil, err
		}
		byKey := map[string]map[string]any{}
		for _, params := range all {
			key := keyOf(params, keys)
			if byKey[key] != nil {
				return nil, mistake(generator.Pos, "name more keys", "the generator has the same %s more than once", strings.Join(keys, ", "))
			}
			byKey[key] = params
		}
		if i == 0 {
			base = all
			continue
		}
		for i, params := range base {
			switch more := byKey[keyOf(params, keys)]; {
			case more == nil:
			case g.goTemplate:
				base[i], _ = over(params, more).(map[string]any)
			default:
				base[i] = maps.Clone(params)
				maps.Copy(base[i], more)
			}
		}
	}
	return base, nil
}

// keyOf returns the values of the keys of a merge as one text.
func keyOf(params map[string]any, keys []string) string {
	values := make([]any, len(keys))
	for i, key := range keys {
		values[i] = params[key]
	}
	text, err := json.Marshal(values)
	if err != nil { // Parameters are what JSON holds.
		return fmt.Sprint(values)
	}
	return string(text)
}

// application returns the Application of one set of parameters. The argument own is the template of
// its generator, which goes over that of the ApplicationSet.
func (g generating) application(own object.Value, params map[string]any) (Written, error) {
	made := templateOver(g.set.at("spec", "template"), own)
	if len(params) > 0 { // Without parameters Argo CD fills nothing.
		filled, err := g.fill(made, params)
		if err != nil {
			return Written{}, err
		}
		made = withFinalizer(filled, g.set.is("spec", "syncPolicy", "preserveResourcesOnDeletion"))
	}
	if patch := g.set.at("spec", "templatePatch"); patch.Text != "" {
		patched, err := g.patched(made, patch, params)
		if err != nil {
			return Written{}, err
		}
		made = patched
	}

	// An Application is in the namespace of its ApplicationSet, whatever the template says.
	metadata := []object.Member{member("namespace", object.TextAt(g.set.named("").Namespace, made.Pos))}
	for _, name := range []string{"name", "labels", "annotations", "finalizers"} {
		metadata = append(metadata, member(name, lookup(made, "metadata", name)))
	}
	out := mapOf(g.set.Pos, member("apiVersion", object.TextAt(groupArgo+"/v1alpha1", made.Pos)), member("kind", object.TextAt(kindApplication, made.Pos)),
		member("metadata", mapOf(made.Pos, metadata...)), member("spec", lookup(made, "spec")))
	return Written{Value: out, Rendered: true}, nil
}

// withFinalizer returns an Application with the finalizer that deletes its objects with it, unless it
// has finalizers or they are to stay.
func withFinalizer(v object.Value, stay bool) object.Value {
	if stay || len(lookup(v, "metadata", "finalizers").Items) > 0 {
		return v
	}
	return v.Merge(nestedIn([]string{"metadata", "finalizers"}, object.ListAt(v.Pos, object.TextAt(resourcesFinalizer, v.Pos))))
}

// templateOver returns a template with that of a generator over it. Argo CD fills up what the latter
// leaves empty, so that false and "" do not win, and the values of a chart are one value.
func templateOver(base, own object.Value) object.Value {
	if base.Kind != object.KindMap || own.Kind != object.KindMap {
		isEmpty := len(own.Members)+len(own.Items) == 0 && (own.Text == "" || own.Text == "false" || own.Text == "0")
		if isEmpty {
			return base
		}
		return own
	}
	members := make([]object.Member, 0, len(own.Members))
	for _, m := range own.Members {
		below := lookup(base, m.Name)
		if m.Name == "valuesObject" {
			below = object.Value{}
		}
		members = append(members, member(m.Name, templateOver(below, m.Value)))
	}
	return replaced(base, members)
}
