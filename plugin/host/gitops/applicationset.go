// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
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
	if err == nil {
		out, err = g.selected(out, lookup(generator, "selector"))
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

// git returns a set of parameters for each folder or file of this repository that patterns match.
func (g generating) git(v object.Value) ([]map[string]any, error) {
	if url := lookup(v, "repoURL"); !g.isOwnURL(mapOf(v.Pos, member("repoURL", url), member("path", object.TextAt(".", v.Pos)))) {
		return nil, mistake(url.Pos, "", "the generator reads the repository %s", url.Text)
	}
	prefix := lookup(v, "pathParamPrefix").Text
	var out []map[string]any
	if directories := lookup(v, "directories"); len(directories.Items) > 0 {
		folders, err := g.foldersLike(directories.Items)
		if err != nil {
			return nil, err
		}
		for _, folder := range folders {
			out = append(out, g.withPath(map[string]any{}, prefix, folder, ""))
		}
	}
	if files := lookup(v, "files"); len(files.Items) > 0 {
		names, err := g.filesLike(files.Items)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			more, err := g.fileParameters(name, prefix)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
	}
	return g.withValues(out, lookup(v, "values"))
}

// foldersLike returns the folders that patterns match and no excluding one does, sorted.
func (g generating) foldersLike(patterns []object.Value) ([]string, error) {
	var out []string
	seen := 0
	err := fs.WalkDir(g.repo.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		seen++
		switch {
		case err != nil:
			return err
		case seen > maxFiles:
			return fmt.Errorf("the repository has more than %d files and folders", maxFiles)
		case !entry.IsDir() || name == ".":
			return nil
		case strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		}
		if included(patterns, name, func(pattern, name string) bool {
			ok, err := path.Match(pattern, name)
			return ok && err == nil
		}) {
			out = append(out, name)
		}
		return nil
	})
	return out, err
}

// included reports whether a pattern matches and no excluding one does.
func included(patterns []object.Value, name string, match func(pattern, name string) bool) bool {
	found := false
	for _, p := range patterns {
		if !match(path.Clean(p.TextOf("path")), name) {
			continue
		}
		if lookup(p, "exclude").Text == "true" {
			return false
		}
		found = true
	}
	return found
}

// filesLike returns the files that patterns match, sorted. In these, ** stands for any folders.
func (g generating) filesLike(patterns []object.Value) ([]string, error) {
	var out []string
	seen := 0
	err := fs.WalkDir(g.repo.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		seen++
		switch {
		case err != nil:
			return err
		case seen > maxFiles:
			return fmt.Errorf("the repository has more than %d files and folders", maxFiles)
		case entry.IsDir() && name == ".git":
			return fs.SkipDir
		}
		if entry.Type().IsRegular() && included(patterns, name, matchesDeep) {
			out = append(out, name)
		}
		return nil
	})
	return out, err
}

// matchesDeep reports whether a pattern matches a name, where ** stands for any number of folders.
func matchesDeep(pattern, name string) bool {
	before, after, deep := strings.Cut(pattern, "**")
	if !deep {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	// What is before ** is whole folders, and what is after it any end of the name.
	rest, ok := strings.CutPrefix(name, before)
	if !ok && strings.ContainsAny(before, "*?[") {
		folders := strings.Count(before, "/")
		parts := strings.SplitN(name, "/", folders+1)
		if len(parts) <= folders {
			return false
		}
		matched, err := path.Match(strings.TrimSuffix(before, "/"), strings.Join(parts[:folders], "/"))
		ok = matched && err == nil
		rest = parts[folders]
	}
	if !ok {
		return false
	}
	after = strings.TrimPrefix(after, "/")
	for {
		if matchesDeep(after, rest) {
			return true
		}
		_, next, more := strings.Cut(rest, "/")
		if !more {
			return after == ""
		}
		rest = next
	}
}

// fileParameters returns the parameters in a file: those of a map, or of each map in a list.
func (g generating) fileParameters(name, prefix string) ([]map[string]any, error) {
	data, err := readFile(g.repo.FS, name)
	if err != nil {
		return nil, err
	}
	var content any
	if err := yaml.Unmarshal(data, &content); err != nil {
		return nil, mistake(object.Pos{File: name}, "", "the file is no YAML: %w", err)
	}
	items, list := content.([]any)
	if !list {
		items = []any{content}
	}
	var out []map[string]any
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, mistake(object.Pos{File: name}, "", "the file holds no parameters: expected a map, or a list of maps")
		}
		out = append(out, g.withPath(g.shaped(fields), prefix, path.Dir(name), path.Base(name)))
	}
	return out, nil
}

// withPath returns parameters with those of a folder, and of a file in it.
func (g generating) withPath(params map[string]any, prefix, folder, file string) map[string]any {
	out := maps.Clone(params)
	segments := strings.Split(folder, "/")
	if g.goTemplate {
		at := map[string]any{"path": folder, "basename": path.Base(folder), "basenameNormalized": normalize(path.Base(folder)), "segments": anyOf(segments)}
		if file != "" {
			at["filename"], at["filenameNormalized"] = file, normalize(file)
		}
		if prefix != "" {
			out[prefix] = map[string]any{"path": at}
		} else {
			out["path"] = at
		}
		return out
	}
	name := "path"
	if prefix != "" {
		name = prefix + ".path"
	}
	out[name] = folder
	out[name+".basename"] = path.Base(folder)
	out[name+".basenameNormalized"] = normalize(path.Base(folder))
	for i, segment := range segments {
		out[name+"["+strconv.Itoa(i)+"]"] = segment
	}
	if file != "" {
		out[name+".filename"], out[name+".filenameNormalized"] = file, normalize(file)
	}
	return out
}

// anyOf returns texts as a list that templates index.
func anyOf(in []string) []any {
	out := make([]any, len(in))
	for i, text := range in {
		out[i] = text
	}
	return out
}

// withValues returns parameters with the values of their generator, which may use them.
func (g generating) withValues(all []map[string]any, values object.Value) ([]map[string]any, error) {
	if len(values.Members) == 0 {
		return all, nil
	}
	for _, params := range all {
		own := map[string]any{}
		for _, m := range values.Members {
			text, err := g.text(m.Value.Written(), params)
			if err != nil {
				return nil, mistake(m.Pos, "", "%w", err)
			}
			own[m.Name] = text
		}
		if g.goTemplate {
			params["values"] = own
			continue
		}
		for name, text := range own {
			params["values."+name] = text
		}
	}
	return all, nil
}

// inCluster returns the parameters of the clusters whose Secrets are in the repository, and of the
// one that Argo CD runs in.
func (g generating) inCluster(v object.Value) ([]map[string]any, error) {
	selector := lookup(v, "selector")
	var out []map[string]any
	for _, w := range g.written.objects {
		labels := w.at("metadata", "labels")
		if w.TextOf("kind") != "Secret" || labels.TextOf("argocd.argoproj.io/secret-type") != "cluster" || !selects(selector, plainMap(labels)) {
			continue
		}
		name := cmp.Or(w.text("stringData", "name"), w.named("").Name)
		out = append(out, g.clusterParameters(name, w.text("stringData", "server"), w.at("metadata")))
	}
	if len(selector.Members) == 0 {
		out = append(out, g.clusterParameters("in-cluster", "https://kubernetes.default.svc", object.Value{}))
	} else if len(out) == 0 {
		return nil, mistake(v.Pos, "add their Secrets to the repository, with stringData", "the clusters of the generator are in no file of the repository")
	}
	return g.withValues(out, lookup(v, "values"))
}

// clusterParameters returns the parameters of a cluster.
func (g generating) clusterParameters(name, server string, metadata object.Value) map[string]any {
	fields := map[string]any{"name": name, "nameNormalized": normalize(name), "server": server, "project": ""}
	meta := map[string]any{"labels": plainMap(lookup(metadata, "labels")), "annotations": plainMap(lookup(metadata, "annotations"))}
	if g.goTemplate {
		fields["metadata"] = meta
		return fields
	}
	flatten(fields, "metadata", meta)
	return fields
}

// plainMap returns a map as encoding/json has it.
func plainMap(v object.Value) map[string]any {
	out, _ := plain(v).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	return out
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
func (g generating) selected(all []map[string]any, selector object.Value) ([]map[string]any, error) {
	if len(selector.Members) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(params map[string]any) bool {
		flat := map[string]any{}
		flatten(flat, "", params)
		return !selects(selector, flat)
	}), nil
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
