// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"cmp"
	"context"
	"fmt"
	"hash/adler32"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// The group and the kinds of the Flux Operator.
const (
	groupOperator     = "fluxcd.controlplane.io"
	kindResourceSet   = "ResourceSet"
	kindInputProvider = "ResourceSetInputProvider"
)

// Annotations of the Flux Operator.
const (
	annotationReconcile = groupOperator + "/reconcile"
	annotationCopyFrom  = groupOperator + "/copyFrom"
)

// resourceSet returns the unit of a ResourceSet: its objects are those of its templates, filled with
// each of its inputs.
func (x *expanding) resourceSet(ctx context.Context, f found) Unit {
	spec := f.at("spec")
	u := f.unit()
	u.Prunes, u.Deletes = true, true
	u.Suspended = f.text("metadata", "annotations", annotationReconcile) == "disabled"
	u.Overlays = commonMetadata(f.at("spec", "commonMetadata"))
	for _, item := range f.at("spec", "dependsOn").Items {
		u.DependsOn = append(u.DependsOn, ID{f.cluster, item.TextOf("kind"), cmp.Or(item.TextOf("namespace"), u.ID.Namespace), item.TextOf("name")})
	}
	noteFields(&u, f.Written, []string{
		"commonMetadata", "dependsOn", "inputStrategy", "inputs", "inputsFrom", "resources", "resourcesTemplate", "serviceAccountName", "steps", "wait",
	})

	// The templates are filled with each of the inputs, or once if there are none to take.
	inputs, problem := x.inputs(f)
	if problem != nil {
		u.Problem = problem
		return u
	}
	if len(inputs) == 0 && len(f.at("spec", "inputsFrom").Items) == 0 {
		inputs = []map[string]any{nil}
	}
	var objects []object.Value
	for _, part := range append([]object.Value{spec}, f.at("spec", "steps").Items...) {
		made, problem := resources(ctx, part, inputs)
		if problem != nil {
			u.Problem = problem
			return u
		}
		objects = append(objects, made...)
	}
	if len(objects) == 0 {
		u.Problem = warning(spec.Pos, "", "%s makes no objects of its inputs", u.ID)
		return u
	}

	// They are rendered like the text of manifests.
	for _, o := range objects {
		if from := (Written{Value: o}).text("metadata", "annotations", annotationCopyFrom); from != "" {
			u.Warnings = append(u.Warnings, warning(o.Pos, "", "%s: what %s copies from %s is in the cluster alone", u.ID, o.TextOf("kind"), from))
		}
	}
	list := mapOf(spec.Pos, member("apiVersion", object.TextAt("v1", spec.Pos)), member("kind", object.TextAt("List", spec.Pos)), member("items", object.ListAt(spec.Pos, objects...)))
	text := member("inline", object.TextAt(string(list.JSON()), spec.Pos))
	u.Components = []object.Value{mapOf(spec.Pos, member("manifests", mapOf(spec.Pos, text)))}
	return u
}

// resources returns the objects of the templates of a ResourceSet, or of a step of it, each once:
// those of resources count before those of resourcesTemplate.
func resources(ctx context.Context, v object.Value, inputs []map[string]any) ([]object.Value, *object.Error) {
	var out []object.Value
	known := map[string]bool{}
	work := maxWork
	add := func(at object.Pos, text string, params map[string]any) *object.Error {
		filled, err := (&templater{
			ctx: ctx, work: &work, goTemplate: true, options: []string{"missingkey=error"}, left: "<<", right: ">>", own: operatorFunctions(params),
		}).text(text, nil)
		if err != nil {
			return mistake(at, "", "the template cannot be filled: %w", err)
		}
		documents, err := spec.ParseManifests(spec.File{Name: at.File, Data: []byte(filled)}, spec.MaxFile)
		if err != nil {
			return mistake(at, "quote what may be more than a word: << inputs.name | quote >>", "the template makes no YAML: %w", object.AsErrors(err, object.StageSpec)[0].Err)
		}
		for _, d := range documents {
			w := Written{Value: movedTo(d.Value, at)}
			id := w.named("")
			key := strings.Join([]string{w.group(), id.Kind, id.Namespace, id.Name}, "/")
			if id.Kind == "" || known[key] || w.text("metadata", "annotations", annotationReconcile) == "disabled" {
				continue
			}
			known[key] = true
			out = append(out, w.Value)
		}
		if len(out) > maxElements {
			return mistake(at, "", "the templates make more than %d objects", maxElements)
		}
		return nil
	}

	// Each object is a template as YAML: values of templates are no texts in it, unless they are quoted.
	for _, item := range lookup(v, "resources").Items {
		text, err := yaml.JSONToYAML(item.JSON())
		if err != nil {
			return nil, mistake(item.Pos, "", "%w", err)
		}
		for _, params := range inputs {
			if problem := add(item.Pos, string(text), params); problem != nil {
				return nil, problem
			}
		}
	}
	whole := lookup(v, "resourcesTemplate")
	for _, params := range inputs {
		if problem := add(whole.Pos, whole.Text, params); problem != nil {
			return nil, problem
		}
	}
	return out, nil
}

// movedTo returns a value whose parts are all at one place.
func movedTo(v object.Value, at object.Pos) object.Value {
	return valueOf(plain(v), object.Value{Pos: at})
}

// operatorFunctions returns the functions of templates that the Flux Operator adds to those of the
// library.
func operatorFunctions(params map[string]any) template.FuncMap {
	toYAML := func(v any) (string, error) {
		data, err := yaml.Marshal(v)
		return string(data), err
	}
	return template.FuncMap{"inputs": func() map[string]any { return params }, "toYaml": toYAML, "mustToYaml": toYAML, "slugify": slug}
}

// slug returns a text as the Flux Operator makes a label of it: small letters, digits, - and _, at
// most 63, cut between words.
func slug(text string) (string, error) {
	const most = 63
	if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
		return "", fmt.Errorf("slugify of %q depends on its language, and is not done here", text)
	}
	text = strings.NewReplacer("&", " and ", "@", " at ", "'", "", `"`, "").Replace(strings.ToLower(text))
	text = strings.Trim(regexp.MustCompile(`[^a-z0-9_]+`).ReplaceAllString(text, "-"), "-_")
	for len(text) > most {
		i := strings.LastIndex(text, "-")
		if i < 0 {
			return text[:most], nil
		}
		text = text[:i]
	}
	return text, nil
}

// inputs returns the inputs of a ResourceSet: its own, and those of the static providers that it
// refers to.
func (x *expanding) inputs(f found) ([]map[string]any, *object.Error) {
	providers := []provider{providerOf(f.Written, f.at("spec", "inputs").Items)}
	var others []provider
	for _, ref := range f.at("spec", "inputsFrom").Items {
		found := x.providers(f, ref)
		if name := ref.TextOf("name"); name != "" && len(found) == 0 {
			return nil, warning(ref.Pos, "", "the inputs in %s %q are in the cluster alone", kindInputProvider, name)
		}
		for _, w := range found {
			if kind := w.text("spec", "type"); kind != "Static" {
				return nil, warning(ref.Pos, "", "the inputs in %s %q are those of a server: %s", kindInputProvider, w.named("").Name, kind)
			}
			p := providerOf(w, []object.Value{w.at("spec", "defaultValues")})
			if !slices.ContainsFunc(others, func(o provider) bool { return o.name == p.name }) {
				others = append(others, p)
			}
		}
	}
	slices.SortFunc(others, func(a, b provider) int { return strings.Compare(a.name, b.name) })
	providers = append(providers, others...)

	// One list of all, or each with each.
	if f.text("spec", "inputStrategy", "name") == "Permute" {
		return permute(f, providers)
	}
	var out []map[string]any
	for _, p := range providers {
		out = append(out, p.inputs...)
	}
	return out, nil
}

// provider is what gives inputs.
type provider struct {
	name   string
	inputs []map[string]any
}

// providerOf returns the inputs in values of an object, each with a reference to it.
func providerOf(w Written, values []object.Value) provider {
	id := w.named("")
	out := provider{name: id.Name}
	for _, v := range values {
		input := numbersOf(plainMap(v))
		input["provider"] = map[string]any{"apiVersion": w.TextOf("apiVersion"), "kind": id.Kind, "name": id.Name, "namespace": id.Namespace}
		out.inputs = append(out.inputs, input)
	}
	return out
}

// providers returns the providers in the namespace of a ResourceSet that it refers to by name or by
// labels: those that units have rendered, and else those of files.
func (x *expanding) providers(f found, ref object.Value) []Written {
	namespace := f.named("").Namespace
	selector := lookup(ref, "selector")
	if name := ref.TextOf("name"); name != "" {
		w, known := x.lookup(ID{f.cluster, kindInputProvider, namespace, name})
		if !known {
			return nil
		}
		return []Written{w}
	}
	names := map[string]bool{}
	for id := range x.objects {
		if id.Cluster == f.cluster && id.Kind == kindInputProvider && id.Namespace == namespace {
			names[id.Name] = true
		}
	}
	for _, w := range x.written.objects {
		if id := w.named(""); id.Kind == kindInputProvider && id.Namespace == namespace {
			names[id.Name] = true
		}
	}
	var out []Written
	for _, name := range object.SortedKeys(names) {
		w, known := x.lookup(ID{f.cluster, kindInputProvider, namespace, name})
		if known && selects(selector, plainMap(w.at("metadata", "labels"))) {
			out = append(out, w)
		}
	}
	return out
}

// permute returns each combination of the inputs of several providers, each below the name of its
// provider: my_set for my-set. Providers without inputs do not count, unless they shall.
func permute(f found, providers []provider) ([]map[string]any, *object.Error) {
	strategy := f.at("spec", "inputStrategy")
	withEmpty := f.is("spec", "inputStrategy", "includeEmptyProviders")
	type combination struct {
		values map[string]any
		id     []string
	}
	all := []combination{{values: map[string]any{}}}
	used := 0
	for _, p := range providers {
		if len(p.inputs) == 0 && !withEmpty {
			continue
		}
		used++
		if len(all)*len(p.inputs) > maxElements {
			return nil, mistake(strategy.Pos, "", "the inputs have more than %d combinations", maxElements)
		}
		name := inputName(p.name)
		var next []combination
		for _, c := range all {
			for i, input := range p.inputs {
				values := map[string]any{name: input}
				for key, value := range c.values {
					if _, ok := values[key]; !ok {
						values[key] = value
					}
				}
				next = append(next, combination{values, append(slices.Clip(c.id), name+"="+strconv.Itoa(i))})
			}
		}
		all = next
	}
	var out []map[string]any
	for _, c := range all {
		if used == 0 {
			break
		}
		c.values["id"] = strconv.FormatUint(uint64(adler32.Checksum([]byte(strings.Join(c.id, "/")))), 10)
		out = append(out, c.values)
	}
	return out, nil
}

// inputName returns the name of a provider as templates write it: small letters and digits, with _
// for blanks and punctuation.
func inputName(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) })
	for i, word := range words {
		words[i] = regexp.MustCompile(`[^a-z0-9]`).ReplaceAllString(word, "")
	}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), "_")
}
