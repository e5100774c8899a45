// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/inject/embed"
	"cuelang.org/go/cue/load"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// apiVersion is the one version of the contract of native modules and
// policies, and of Timoni's, that is understood.
const apiVersion = "v1alpha1"

// Values of ropewalk.kind; a module of specs has none.
const (
	KindPolicy       = "Policy"
	KindProvisioners = "Provisioners"
)

// Compiled is a module that is ready to be filled. Nothing is ever compiled
// in the context of its value again, so that it stays as large as it is. It is
// safe for concurrent use.
type Compiled struct {
	Tree  *tree
	Value cue.Value
	// instance holds the syntax trees, which are only read.
	instance *build.Instance
	Files    []*ast.File
	// timoni is set for Timoni modules only.
	timoni  *timoniModule
	Flavour evaluate.Flavour
	Kind    string
}

// Compile loads and builds a module; slowly is always through CUE's loader.
func Compile(m evaluate.Module, schemas map[string]fs.FS, slowly bool) (*Compiled, error) {
	t, err := readTree(m, schemas)
	if err != nil {
		return nil, err
	}
	tags, err := t.tags(m.Tags)
	if err != nil {
		return nil, err
	}
	timoni, err := prepareTimoni(m, t)
	if err != nil {
		return nil, err
	}
	var inst *build.Instance
	if !slowly && timoni == nil {
		inst = t.fastLoad(m)
	}
	c := &Compiled{Tree: t, timoni: timoni}
	if inst == nil || !c.buildLoaded(inst) {
		if err := c.build(m, tags); err != nil {
			return nil, err
		}
	}
	c.Files = c.instance.Files
	if err := c.mark(m); err != nil {
		return nil, err
	}
	// The syntax trees are kept by CUE; the bytes are no longer needed.
	t.files = nil
	return c, nil
}

// build goes through CUE's loader, which knows everything and says what is
// wrong.
func (c *Compiled) build(m evaluate.Module, tags []string) error {
	inst, err := c.Tree.load(m, tags)
	if err != nil {
		return err
	}
	if c.timoni != nil {
		if err := injectRuntime(m, c.Tree, inst.Files); err != nil {
			return err
		}
	}
	c.instance, c.Value = inst, newContext(c.timoni != nil).BuildInstance(inst)
	if inst.Err != nil {
		return c.Tree.moduleErrors(m, inst.Err)
	}
	return nil
}

// buildLoaded takes what fastLoad returned. A module with a mistake is left to
// build.
func (c *Compiled) buildLoaded(inst *build.Instance) bool {
	value := newContext(false).BuildInstance(inst)
	if inst.Err != nil || value.Err() != nil {
		return false
	}
	c.instance, c.Value = inst, value
	return true
}

// newContext is a context that no variable of the environment has a say in. Where
// the order of fields means nothing it is by name, which CUE finds faster than
// the order in which they were written; Timoni's apply sets are in that order.
func newContext(asWritten bool) *cue.Context {
	debug := "sortfields"
	if asWritten {
		debug = ""
	}
	return cuecontext.New(cuecontext.WithInjection(embed.New()), cuecontext.CUE_DEBUG(debug))
}

// load reads the package with everything that it imports.
func (t *tree) load(m evaluate.Module, tags []string) (*build.Instance, error) {
	instances := load.Instances([]string{"."}, &load.Config{
		Dir:                 path.Join(virtualRoot, t.dir),
		ModuleRoot:          path.Join(virtualRoot, t.root),
		Overlay:             t.overlay(),
		Registry:            offlineRegistry{t},
		Env:                 []string{},
		Tags:                tags,
		Package:             t.packageName(),
		AcceptLegacyModules: true,
	})
	if len(instances) != 1 {
		return nil, fmt.Errorf("folder %q holds %d packages, expected one", t.dir, len(instances))
	}
	if instances[0].Err != nil {
		return nil, t.moduleErrors(m, instances[0].Err)
	}
	return instances[0], nil
}

// tags are Module.Tags as the loader wants them: a name that is used in @if
// is a switch, which is on unless its value is false; one that is used in @tag
// has its value.
func (t *tree) tags(values map[string]string) ([]string, error) {
	if len(values) == 0 {
		return nil, nil
	}
	switches, fields := map[string]bool{}, map[string]bool{}
	ifs := regexp.MustCompile(`@if\(([^)]*(?:\([^)]*\)[^)]*)*)\)`)
	tag := regexp.MustCompile(`@tag\(\s*([\p{L}_$][\p{L}\p{N}_$]*)`)
	word := regexp.MustCompile(`[\p{L}_$][\p{L}\p{N}_$]*`)
	for name, data := range t.files {
		if !strings.HasSuffix(name, ".cue") {
			continue
		}
		for _, m := range ifs.FindAllSubmatch(data, -1) {
			for _, w := range word.FindAll(m[1], -1) {
				switches[string(w)] = true
			}
		}
		for _, m := range tag.FindAllSubmatch(data, -1) {
			fields[string(m[1])] = true
		}
	}
	var out []string
	runtime := t.runtimeNames()
	for _, name := range object.SortedKeys(values) {
		value := values[name]
		if runtime[name] && !switches[name] && !fields[name] {
			continue
		}
		if !switches[name] && !fields[name] {
			known := append(object.SortedKeys(switches), object.SortedKeys(fields)...)
			return nil, fmt.Errorf("tag %q is not declared by the module: no field has @tag(%s) and no file @if(%s)%s",
				name, name, name, diagnose.Nearest(name, known))
		}
		if switches[name] && value != "false" {
			out = append(out, name)
		}
		if fields[name] {
			out = append(out, name+"="+value)
		}
	}
	return out, nil
}

// mark tells the flavour and the kind of a module.
func (c *Compiled) mark(m evaluate.Module) error {
	native := c.Value.LookupPath(cue.ParsePath("ropewalk.apiVersion"))
	ours := c.Value.LookupPath(cue.ParsePath("ropewalk"))
	switch {
	case ours.Exists() && c.timoni != nil:
		e := fmt.Errorf("the module has both the mark ropewalk and the mark timoni: keep one")
		return &object.Error{Stage: object.StageEvaluate, Pos: c.Tree.At(m, ours), Path: "ropewalk", Err: e}
	case c.timoni != nil:
		c.Flavour = evaluate.FlavourTimoni
		return nil
	case !ours.Exists():
		c.Flavour = evaluate.FlavourPlain
		return nil
	}
	c.Flavour = evaluate.FlavourNative
	version, err := native.String()
	if err != nil || version != apiVersion {
		return &object.Error{
			Stage: object.StageEvaluate, Pos: c.Tree.At(m, ours), Path: "ropewalk.apiVersion",
			Err: fmt.Errorf("version %s is not supported, expected %q", diagnose.Given(native), apiVersion),
		}
	}
	if kind := c.Value.LookupPath(cue.ParsePath("ropewalk.kind")); kind.Exists() {
		if c.Kind, err = kind.String(); err != nil || c.Kind != KindPolicy && c.Kind != KindProvisioners {
			return &object.Error{
				Stage: object.StageEvaluate, Pos: c.Tree.At(m, kind), Path: "ropewalk.kind",
				Err: fmt.Errorf("kind %s is not known, expected %q, %q or none", diagnose.Given(kind), KindPolicy, KindProvisioners),
			}
		}
	}
	return nil
}

// At is the place in the module that v was written at.
func (t *tree) At(m evaluate.Module, v cue.Value) object.Pos { return t.position(m, v.Pos()) }
