// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/parser"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// Names of a bundle and of its runtime, from https://timoni.sh/bundle and
// https://timoni.sh/bundle-runtime.
const (
	fieldBundle    = "bundle"
	fieldRuntime   = "runtime"
	fieldInstances = "instances"
	clusterName    = "TIMONI_CLUSTER_NAME"
	clusterGroup   = "TIMONI_CLUSTER_GROUP"
)

// bundle is one reading of a bundle.
type bundle struct {
	module evaluate.Module
	tree   *tree
	out    evaluate.Bundle
	errs   object.Errors
	// unsure is set by a mistake that may make fields seem to be missing.
	unsure bool
	// queries are the names that the runtime reads from a cluster, with what it reads.
	queries map[string]query
}

// query is an object in a cluster that a runtime reads a value from.
type query struct {
	text string
	pos  object.Pos
}

// keepReference is the hint for a bundle that wants a value of a Secret.
const keepReference = "no value of a Secret may enter a render: have the module refer to the Secret by its name"

// isSecret reports whether the object is a Secret of the core group: k8s:v1:Secret:….
func (q query) isSecret() bool { return strings.HasPrefix(q.text, "k8s:v1:Secret:") }

// ReadBundle reads the bundle that a request names.
func ReadBundle(m evaluate.Module, files evaluate.BundleFiles) (*evaluate.Bundle, error) {
	t, err := readTree(m, nil)
	if err != nil {
		return nil, err
	}
	m.Tags = maps.Clone(files.Values)
	if m.Tags == nil {
		m.Tags = map[string]string{}
	}
	b := &bundle{module: m, tree: t, queries: map[string]query{}}
	if files.Runtime != "" {
		b.readRuntime(files.Runtime)
	}
	if chosen, ok := b.choose(files.Cluster); ok {
		b.readBundle(files, chosen)
	}
	return &b.out, b.errs.Sorted().Err()
}

// choose returns the cluster of that name, or the only cluster. It reports false if the user has to
// choose a cluster first. The name of the cluster is "" if there are no clusters.
func (b *bundle) choose(name string) (evaluate.Cluster, bool) {
	switch {
	case len(b.out.Clusters) == 0:
		return evaluate.Cluster{}, true
	case name == "" && len(b.out.Clusters) == 1:
		return b.out.Clusters[0], true
	}
	i := slices.IndexFunc(b.out.Clusters, func(c evaluate.Cluster) bool { return c.Name == name })
	if i < 0 {
		return evaluate.Cluster{}, false
	}
	return b.out.Clusters[i], true
}

// load parses file and its siblings of the same package with everything that they import, sets
// their runtime values, and builds and validates them as Timoni does. If there is a mistake in
// them, the value holds what could be read. It reports false if nothing could be read.
func (b *bundle) load(file string, siblings ...string) (cue.Value, bool) {
	pkg := "_"
	if f, err := parser.ParseFile(file, b.tree.files[file], parser.PackageClauseOnly); err == nil && f.PackageName() != "" {
		pkg = f.PackageName()
	}

	// A list of files is loaded as one package.
	args := []string{path.Join(virtualRoot, file)}
	for _, name := range siblings {
		args = append(args, path.Join(virtualRoot, name))
	}
	instances := load.Instances(args, &load.Config{
		Dir:                 path.Join(virtualRoot, b.tree.dir),
		ModuleRoot:          path.Join(virtualRoot, b.tree.root),
		Overlay:             b.tree.overlay(),
		Registry:            offlineRegistry{b.tree},
		Env:                 []string{},
		Package:             pkg,
		AcceptLegacyModules: true,
	})
	inst := instances[0] // A list of files is one instance.
	if inst.Err != nil {
		b.reportBroken(b.tree.moduleErrors(b.module, inst.Err))
		return cue.Value{}, false
	}

	// A runtime value that is refused leaves its field without a value.
	refused := false
	if err := injectRuntime(b.module, b.tree, inst.Files); err != nil {
		b.reportBroken(err)
		refused = true
	}

	// Errors of a file come before errors of the value.
	v := newContext(true).BuildInstance(inst)
	err := v.Validate(cue.Concrete(true))
	if inst.Err != nil {
		err = inst.Err
	}
	if err == nil {
		return v, true
	}

	// Names without a value are reported once, and not wherever they are used.
	missing := b.missing(inst.Files)
	for _, e := range b.placeErrors(v, err) {
		// What has no value because a runtime value is missing, or wrong, has been reported.
		reported := isIncomplete(e) && (len(missing) > 0 || refused)
		if !reported {
			b.reportBroken(e)
		}
	}
	b.reportBroken(missing.Err())
	return v, true
}

// placeErrors returns the errors of CUE about v, with places. For alternatives CUE knows no place,
// only the path.
func (b *bundle) placeErrors(v cue.Value, err error) (placed object.Errors) {
	for _, cueErr := range cueerrors.Errors(err) {
		for _, e := range object.AsErrors(b.tree.moduleErrors(b.module, cueErr), object.StageEvaluate) {
			pos := b.valuePos(below(v, cueErr.Path()))
			known := e.Pos.Line > 0
			if !known && pos.IsValid() {
				e.Pos = pos
			}
			if known || pos.IsValid() {
				e.Path = cmp.Or(e.Path, strings.Join(cueErr.Path(), "."))
				e.Named = isIncomplete(e)
			}
			placed = append(placed, e)
		}
	}
	return placed
}

// reportBroken reports mistakes that may be the cause of others.
func (b *bundle) reportBroken(err error) {
	if err != nil {
		b.unsure = true
		b.errs = append(b.errs, object.AsErrors(err, object.StageEvaluate)...)
	}
}

// missing returns the mistakes of missingRuntime, with notes of what the runtime says of a name.
func (b *bundle) missing(files []*ast.File) object.Errors {
	errs := missingRuntime(b.module, b.tree, files)
	for _, e := range errs {
		for _, name := range object.SortedKeys(b.queries) {
			if q := b.queries[name]; e.Err.Error() == notSet(name).Error() {
				e.Notes = append(e.Notes, object.Note{Pos: q.pos, Text: fmt.Sprintf("read from the cluster as %q; a render reads no cluster", q.text)})
				if q.isSecret() {
					e.Hint = keepReference
				}
			}
		}
	}
	return errs
}

// readRuntime reads the clusters and the queries of a runtime.
func (b *bundle) readRuntime(file string) {
	v, ok := b.load(file)
	if !ok {
		return
	}
	runtime := b.root(v, fieldRuntime, file)
	b.refuseUnknown(runtime, fieldRuntime, "apiVersion", "name", "clusters", "values", "defaults")
	b.checkVersion(runtime, fieldRuntime)

	// One of the clusters may be chosen by its name.
	b.each(runtime, fieldRuntime, "clusters", func(name string, c cue.Value) {
		fieldPath := "runtime.clusters." + name
		b.refuseUnknown(c, fieldPath, "group", "kubeContext")
		b.out.Clusters = append(b.out.Clusters, evaluate.Cluster{Name: name, Group: b.text(c, fieldPath, "group", true).Text, Pos: b.labelPos(c)})
	})

	// Queries are not made, but they explain why a name has no value.
	values := Field(runtime, "values")
	items, err := values.List()
	if values.Exists() && err != nil && !b.unsure {
		kind := diagnose.KindName(values.IncompleteKind())
		b.fail(b.valuePos(values), "runtime.values", "values: [{query: …, for: …}]", "expected a list, got %s", kind)
	}
	for i := 0; items.Next(); i++ {
		fieldPath := fmt.Sprintf("runtime.values[%d]", i)
		b.refuseUnknown(items.Value(), fieldPath, "query", "for", "optional")
		q := query{text: b.text(items.Value(), fieldPath, "query", true).Text, pos: b.valuePos(Field(items.Value(), "query"))}
		b.each(items.Value(), fieldPath, "for", func(name string, _ cue.Value) { b.queries[name] = q })
	}

	// Defaults hold for names that were not given.
	b.each(runtime, fieldRuntime, "defaults", func(name string, v cue.Value) {
		value := b.data(v, object.Pos{})
		switch value.Kind {
		case object.KindString, object.KindNumber, object.KindBool:
		default:
			b.fail(value.Pos, "runtime.defaults."+name, "", "expected a text, a number or a boolean, got a %s", value.Kind)
		}
		if _, given := b.module.Tags[name]; !given {
			b.module.Tags[name] = value.Text
		}
	})
}

// readBundle reads the bundle for a cluster.
func (b *bundle) readBundle(files evaluate.BundleFiles, c evaluate.Cluster) {
	if c.Name != "" {
		b.module.Tags[clusterName] = c.Name
		b.module.Tags[clusterGroup] = c.Group
	}
	b.refuseSecrets()
	v, ok := b.load(files.File, files.More...)
	if !ok {
		return
	}
	root := b.root(v, fieldBundle, files.File)
	b.refuseUnknown(root, fieldBundle, "apiVersion", "name", fieldInstances)
	b.checkVersion(root, fieldBundle)
	b.out.Name = b.text(root, fieldBundle, "name", true)
	b.each(root, fieldBundle, fieldInstances, func(name string, v cue.Value) {
		before := len(b.errs)
		i := b.readInstance(name, v)
		i.Unsure = b.unsure || len(b.errs) > before
		b.out.Instances = append(b.out.Instances, i)
	})
	if len(b.out.Instances) == 0 && len(b.errs) == 0 {
		b.fail(b.valuePos(root), "bundle.instances", "", "the bundle has no instances")
	}
}

// refuseSecrets refuses values that the runtime reads from a Secret.
func (b *bundle) refuseSecrets() {
	for _, name := range object.SortedKeys(b.queries) {
		if _, given := b.module.Tags[name]; given && b.queries[name].isSecret() {
			b.fail(b.queries[name].pos, "", keepReference,
				"runtime value %q is that of a Secret, %q", name, b.queries[name].text)
		}
	}
}

// readInstance reads one instance of the bundle.
func (b *bundle) readInstance(name string, v cue.Value) evaluate.Instance {
	fieldPath := "bundle.instances." + name
	b.refuseUnknown(v, fieldPath, "module", "namespace", fieldValues)
	module := Field(v, "module")
	b.refuseUnknown(module, fieldPath+".module", "url", "version", "digest")
	instance := evaluate.Instance{
		Name: name, Pos: b.labelPos(v), Namespace: b.text(v, fieldPath, "namespace", true), URL: b.text(module, fieldPath+".module", "url", true),
		Version: b.text(module, fieldPath+".module", "version", false), Digest: b.text(module, fieldPath+".module", "digest", false),
	}
	for _, a := range v.Attributes(cue.ValueAttr) {
		names, ok, err := a.Lookup(0, "allowSecrets")
		if a.Name() != "ropewalk" {
			continue
		}
		if err != nil || !ok || a.NumArgs() != 1 {
			b.fail(instance.Pos, fieldPath, "", "expected @ropewalk(allowSecrets=\"NAME, NAME\"), got @ropewalk(%s)", a.Contents())
		}
		for name := range strings.SplitSeq(names, ",") {
			instance.AllowSecrets = append(instance.AllowSecrets, strings.TrimSpace(name))
		}
	}
	if values := Field(v, fieldValues); values.Exists() {
		instance.Values = b.data(values, instance.Pos)
		if instance.Values.Kind != object.KindMap && !b.unsure {
			b.fail(instance.Values.Pos, fieldPath+"."+fieldValues, "", "expected a map of values, got a %s", instance.Values.Kind)
		}
	}
	return instance
}

// root returns the field that makes a file what it is, and reports it if it is missing.
func (b *bundle) root(v cue.Value, name, file string) cue.Value {
	root := Field(v, name)
	if !root.Exists() && !b.unsure {
		b.fail(b.tree.pos(b.module, path.Join(virtualRoot, file), 0, 0), "", "", "the file has no field %q", name)
	}
	return root
}

// checkVersion refuses any other version than the one that is supported.
func (b *bundle) checkVersion(v cue.Value, fieldPath string) {
	if text := b.text(v, fieldPath, "apiVersion", true); text.Kind != object.KindNone && text.Text != apiVersion {
		b.fail(text.Pos, fieldPath+".apiVersion", "", "version %q is not supported, expected %q", text.Text, apiVersion)
	}
}

// text returns a field of text, of KindNone if v lacks it. It reports a required field that is
// missing, and a field that is no text.
func (b *bundle) text(v cue.Value, fieldPath, name string, required bool) object.Value {
	if !v.Exists() {
		return object.Value{} // That it is missing has been reported.
	}
	field := Field(v, name)
	if !field.Exists() {
		if required && !b.unsure && !b.misspelt(v, name) {
			b.fail(b.valuePos(v), fieldPath+"."+name, "", "is missing")
		}
		return object.Value{}
	}
	value := b.data(field, b.valuePos(v))
	if value.Kind != object.KindString || value.Text == "" {
		if value.Kind == object.KindNone {
			return value
		}
		b.fail(value.Pos, fieldPath+"."+name, "", "expected a text")
		return object.Value{}
	}
	return value
}

// each calls do for every field of the struct name in v. The argument fieldPath is the path of v.
func (b *bundle) each(v cue.Value, fieldPath, name string, do func(name string, v cue.Value)) {
	field := Field(v, name)
	fields, err := field.Fields()
	if field.Exists() && err != nil && !b.unsure {
		b.fail(b.valuePos(field), fieldPath+"."+name, "", "expected a map, got %s", diagnose.KindName(field.IncompleteKind()))
	}
	for err == nil && fields.Next() {
		do(fields.Selector().Unquoted(), fields.Value())
	}
}

// misspelt reports whether v has a field whose name is nearly the missing name. [bundle.refuseUnknown]
// reports that field.
func (b *bundle) misspelt(v cue.Value, name string) bool {
	fields, err := v.Fields()
	for err == nil && fields.Next() {
		if _, near := object.Nearest(name, []string{fields.Selector().Unquoted()}); near {
			return true
		}
	}
	return false
}

// refuseUnknown refuses fields of a struct that are not known.
func (b *bundle) refuseUnknown(v cue.Value, fieldPath string, knownFields ...string) {
	fields, err := v.Fields()
	if v.Exists() && err != nil && !b.unsure {
		b.fail(b.valuePos(v), fieldPath, "", "expected a struct")
	}
	for err == nil && fields.Next() {
		if name := fields.Selector().Unquoted(); !slices.Contains(knownFields, name) {
			b.fail(b.labelPos(fields.Value()), fieldPath+"."+name, object.Suggest(name, knownFields), "the field is not known")
		}
	}
}

func (b *bundle) fail(pos object.Pos, fieldPath, hint, format string, args ...any) {
	b.errs = append(b.errs, &object.Error{Stage: object.StageSpec, Pos: pos, Path: fieldPath, Hint: hint, Err: fmt.Errorf(format, args...)})
}

// data returns a concrete value as data. The argument above is the place of the struct around v.
func (b *bundle) data(v cue.Value, above object.Pos) object.Value {
	result := object.Value{Pos: b.valuePos(v)}
	if !result.Pos.IsValid() {
		result.Pos = above
	}

	// Containers hold data themselves, and other kinds have a text.
	v, _ = v.Default()
	switch kind := v.Kind(); kind {
	case cue.StructKind:
		result.Kind = object.KindMap
		fields, err := v.Fields()
		for err == nil && fields.Next() {
			value := b.data(fields.Value(), result.Pos)
			name := b.labelPos(fields.Value())
			if !name.IsValid() {
				name = value.Pos
			}
			result.Members = append(result.Members, object.Member{Name: fields.Selector().Unquoted(), Pos: name, Value: value})
		}
		return result
	case cue.ListKind:
		result.Kind = object.KindList
		items, err := v.List()
		for err == nil && items.Next() {
			result.Items = append(result.Items, b.data(items.Value(), result.Pos))
		}
		return result
	case cue.StringKind:
		result.Kind = object.KindString
		result.Text, _ = v.String()
		return result
	case cue.NullKind:
		result.Kind = object.KindNull
		return result
	case cue.BoolKind:
		result.Kind = object.KindBool
	case cue.BytesKind:
		b.fail(result.Pos, v.Path().String(), "write it as a string", "bytes cannot be given to a module")
		return result
	case cue.BottomKind:
		return result // It has no value, which has been reported.
	default:
		result.Kind = object.KindNumber
	}

	// Booleans and numbers are written as in JSON.
	text, err := v.MarshalJSON()
	if err != nil || !json.Valid(text) {
		b.fail(result.Pos, v.Path().String(), "", "%w", errors.Join(errors.New("the value cannot be given to a module"), err))
	}
	result.Text = string(text)
	return result
}
