// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/load"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// noVersion is the module version that Timoni itself builds with if a module has no version.
const noVersion = "0.0.0-devel"

// buildTimoni loads the module together with its values, as Timoni does, and evaluates
// it once: a fill would evaluate all of it again, and would give another order of fields,
// which a module can see in marshalled text.
func (s *Session) buildTimoni() (diagnose.Filled, error) {
	if s.Input.Kind == object.KindNone || s.Input.Kind == object.KindNull {
		c := *s.Compiled
		if c.timoni.data != nil {
			t := *c.Tree
			t.files = maps.Clone(t.files)
			t.files[c.timoni.file] = c.timoni.data
			c.Tree = &t
		}
		err := s.open(&c, nil)
		return diagnose.Filled{Root: c.Value}, err
	}
	values, err := s.mergedValues()
	if err != nil {
		return diagnose.Filled{}, err
	}
	c := *s.Compiled
	f, file := diagnose.File("main", diagnose.Part{Field: diagnose.FieldInput, At: []string{fieldValues}, Value: values, Soft: s.soft})
	file.Filename = path.Join(virtualRoot, c.timoni.file)
	s.Input = values
	err = s.open(&c, file)
	return diagnose.Filled{Root: c.Value, With: f}, err
}

// withoutValues returns a session of the same request with the module as it is without any values,
// for messages and descriptions.
func (s *Session) withoutValues() (*Session, error) {
	c := *s.Compiled
	d := NewSession(s.Req, s.origin, &c)
	return d, d.open(&c, nil)
}

// open builds the Timoni module c for this session, with inputFile unless it is nil.
func (s *Session) open(c *Compiled, inputFile *ast.File) error {
	c.context = &s.Req.Context
	c.version = s.origin.Version
	if err := c.build(s.origin, true, inputFile); err != nil {
		return InModule(s.origin, err)
	}
	if ours := c.Value.LookupPath(cue.ParsePath("ropewalk")); ours.Exists() {
		return &object.Error{
			Stage: object.StageEvaluate, Pos: c.Tree.At(s.origin, ours), Path: "ropewalk",
			Err: fmt.Errorf("the module has both the mark ropewalk and the mark timoni: keep one"),
		}
	}
	s.Compiled = c
	s.Module = located{c, s.origin}
	return nil
}

// shared is a loaded Timoni module that renders use one after the other: to load it again for each
// instance of a bundle would take as long as to evaluate it.
type shared struct {
	instance *build.Instance
	// literals holds the values that the loader put into fields with @tag, by the name of the tag.
	literals map[string][]*ast.BasicLit
}

// loadShared returns the module with the tags of this render, as a copy to which a file can be
// added. It returns nil for a module that must be loaded for each render, because a tag has no value
// or is no string, or because the module has a mistake.
func (c *Compiled) loadShared(m evaluate.Module) *build.Instance {
	names := []string{"name", "namespace", "mv", "kv"}
	for _, name := range names {
		if timoniTag(name, *c.context, c.version) == "" {
			return nil
		}
	}

	// A render has the syntax trees for itself until it is done: literals in them are changed.
	s, ok := c.spare.Get().(*shared)
	if !ok {
		stand := func(name string) string {
			if !slices.Contains(names, name) {
				return "" // a tag of the module's own
			}
			return "\uE000" + name // no module has such a text
		}
		tags, vars := c.injected(stand)
		inst, err := c.Tree.load(m, tags, vars)
		if err != nil || injectRuntime(m, c.Tree, inst.Files) != nil {
			return nil
		}
		s = &shared{instance: inst, literals: map[string][]*ast.BasicLit{}}
		for _, name := range names {
			s.literals[name] = literalsOf(inst.Files, stand(name))
		}
	}
	for name, literals := range s.literals {
		for _, l := range literals {
			l.Value = ast.NewString(timoniTag(name, *c.context, c.version)).Value
		}
	}
	c.inUse = s
	inst := *s.instance
	inst.Files = slices.Clone(inst.Files)
	return &inst
}

// release lets the next render have the loaded module. No value of this one may be used any more.
func (c *Compiled) release() {
	if c.inUse != nil {
		c.spare.Put(c.inUse)
		c.inUse = nil
	}
}

// literalsOf returns the literals in files that are a text.
func literalsOf(files []*ast.File, text string) (literals []*ast.BasicLit) {
	quoted := ast.NewString(text).Value
	for _, f := range files {
		ast.Walk(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Value == quoted {
				literals = append(literals, l)
			}
			return true
		}, nil)
	}
	return literals
}

// injected returns what the loader puts into fields with @tag: the tags of the request, and for a
// Timoni module the tags that Timoni sets. The function text returns the value of such a tag.
func (c *Compiled) injected(text func(name string) string) ([]string, map[string]load.TagVar) {
	if c.timoni == nil || c.context == nil {
		return c.tags, nil
	}
	tags := append([]string{}, c.tags...)
	done := map[string]bool{}
	for _, t := range c.timoni.tags {
		if value := text(t.name); value != "" && !done[t.name] {
			done[t.name] = true
			tags = append(tags, t.name+"="+value)
		}
	}
	variable := func(name string) load.TagVar {
		return load.TagVar{Func: func() (ast.Expr, error) {
			if value := text(name); value != "" {
				return ast.NewString(value), nil
			}
			// Without a cluster there is no version of a cluster: the field stays open, as for cue vet.
			return ast.NewIdent("__string"), nil
		}}
	}
	return tags, map[string]load.TagVar{"moduleVersion": variable("mv"), "kubeVersion": variable("kv")}
}

// timoniTag returns what Timoni sets for one of its own tags. The argument version is the version
// of the module.
func timoniTag(name string, c object.Context, version string) string {
	switch name {
	case "name":
		return c.Name
	case "namespace":
		return c.Namespace
	case "mv":
		return cmp.Or(version, noVersion)
	case "kv":
		return fullVersion(c.KubeVersion)
	}
	return ""
}

// mergeAsTimoni merges overlay onto base: overlay wins leaf by leaf, and lists of equal length are
// merged item by item. A module can see the order of fields in marshalled text and in what it
// hashes, so the order is the same as in Timoni, which fills base into overlay field by field: CUE
// keeps the order of overlay, and inserts fields that only base has by their names. Among the
// outermost fields, and if base has a single field, they come last instead, and the fields from the
// first shared field on are sorted.
func mergeAsTimoni(base, overlay object.Value, outermost bool) object.Value {
	merged := overlay

	// Lists of equal length and maps are merged, and anything else is replaced.
	if base.Kind == object.KindList && overlay.Kind == object.KindList && len(base.Items) == len(overlay.Items) {
		merged.Items = nil
		for i, item := range overlay.Items {
			merged.Items = append(merged.Items, mergeAsTimoni(base.Items[i], item, false))
		}
		return merged
	}
	if base.Kind != object.KindMap || overlay.Kind != object.KindMap {
		return base.Merge(overlay)
	}

	// The fields of overlay keep their order.
	merged.Members = nil
	shared := len(overlay.Members)
	for i, m := range overlay.Members {
		if baseValue, ok := base.Get(m.Name); ok {
			m.Value = mergeAsTimoni(baseValue, m.Value, false)
			shared = min(shared, i)
		}
		merged.Members = append(merged.Members, m)
	}

	// The fields that only base has follow, each where CUE puts it.
	baseOnly := slices.DeleteFunc(diagnose.Sorted(slices.Clone(base.Members)), func(m object.Member) bool {
		_, ok := overlay.Get(m.Name)
		return ok
	})
	if outermost || len(base.Members) == 1 {
		merged.Members = slices.Concat(merged.Members[:shared], diagnose.Sorted(merged.Members[shared:]), baseOnly)
		return merged
	}
	for i := 0; i < len(merged.Members) && len(baseOnly) > 0; i++ {
		if baseOnly[0].Name < merged.Members[i].Name {
			merged.Members = slices.Insert(merged.Members, i, baseOnly[0])
			baseOnly = baseOnly[1:]
		}
	}
	merged.Members = append(merged.Members, baseOnly...)
	return merged
}

// Values returns the field values of a values file in CUE, which is the one file of m. It may
// import CUE's own library. As with Timoni, its @if attributes mean nothing.
func Values(m evaluate.Module) (object.Value, error) {
	t, err := readTree(m, nil)
	if err != nil {
		return object.Value{}, err
	}
	name := t.cueFiles(t.dir)[0]
	c := &Compiled{Tree: t, timoni: &timoniModule{file: name, data: t.files[name]}}
	values, _, err := c.ownValues(m, object.Value{})
	if err == nil && values.Kind == object.KindNone {
		hint := "write values: {…}"
		if t.mentions(fieldBundle) {
			hint = "pass it as a path: several files with the field bundle are one bundle"
		}
		err = &object.Error{
			Stage: object.StageEvaluate, Pos: t.pos(m, path.Join(virtualRoot, name), 1, 1),
			Err: fmt.Errorf("a values file in CUE needs the field %q", fieldValues), Hint: hint,
		}
	}
	return values, err
}

// ownValues returns the values of values.cue below overlay, with positions as the request
// calls them. The map soft has the places of the values that are only defaults (*"a" | string).
func (c *Compiled) ownValues(m evaluate.Module, overlay object.Value) (values object.Value, soft map[object.Pos]bool, err error) {
	if c.timoni.data == nil {
		return object.Value{}, nil, nil
	}
	raw, err := readValues(m, c, overlay)
	if err != nil {
		return object.Value{}, nil, InModule(m, err)
	}
	if !raw.Exists() {
		return object.Value{}, nil, nil
	}
	soft = map[object.Pos]bool{}
	values = c.timoni.valuesIn(m, c.Tree, readValue(raw))
	addSoft(raw, values, soft)
	return values, soft, nil
}

// addSoft adds the places in data of the scalars of v that are defaults.
func addSoft(v cue.Value, data object.Value, soft map[object.Pos]bool) {
	switch data.Kind {
	case object.KindMap:
		v, _ = v.Default()
		for _, m := range data.Members {
			addSoft(v.LookupPath(cue.MakePath(cue.Str(m.Name))), m.Value, soft)
		}
	case object.KindList:
		v, _ = v.Default()
		for i, item := range data.Items {
			addSoft(v.LookupPath(cue.MakePath(cue.Index(i))), item, soft)
		}
	default:
		if _, is := v.Default(); is && !v.IsConcrete() {
			soft[data.Pos] = true
		}
	}
}

// fullVersion returns a version of Kubernetes as Timoni has it: without a v, and with a patch.
func fullVersion(text string) string {
	text = strings.TrimPrefix(text, "v")
	if strings.Count(text, ".") == 1 && !strings.ContainsAny(text, "-+") {
		text += ".0"
	}
	return text
}
