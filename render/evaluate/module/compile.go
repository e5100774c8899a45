// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/inject/embed"
	"cuelang.org/go/cue/load"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// apiVersion is the one version of the contract of native modules and
// policies, and of Timoni's, that is understood.
const apiVersion = "v1alpha1"

// Compiled is a module that is ready to be filled. Nothing is ever compiled
// in the context of its value again, so that it stays as large as it is. It is
// safe for concurrent use.
type Compiled struct {
	Tree *tree
	// Value is the module without any input. A Timoni module in the cache has no
	// Value: each render loads and builds the module with its values.
	Value cue.Value
	// instance holds the syntax trees, which are only read.
	instance *build.Instance
	Files    []*ast.File
	// tags are the tags of the request, as the loader takes them.
	tags []string
	// slowly makes every load go through CUE's loader.
	slowly bool
	// timoni is set for Timoni modules only, and context and version while one is built.
	timoni  *timoniModule
	context *object.Context
	version string
	// spare holds loaded Timoni modules for the next renders, and inUse the one of this render.
	spare *sync.Pool
	inUse *shared

	Flavour evaluate.Flavour
	Kind    string
	// Mark is the mark of a native module.
	Mark spec.Mark
}

// Compile loads and builds a module. With slowly it always goes through CUE's loader.
func Compile(m evaluate.Module, schemas map[string]fs.FS, slowly bool) (*Compiled, error) {
	t, err := readTree(m, schemas)
	if err != nil {
		return nil, err
	}

	// The loader needs the tags, and a module of Timoni is built for each request.
	tags, err := t.loaderTags(m.Tags, m.TagPos)
	if err != nil {
		return nil, err
	}
	timoni := prepareTimoni(m, t)
	c := &Compiled{Tree: t, tags: tags, slowly: slowly, timoni: timoni}
	if timoni != nil {
		c.Flavour = evaluate.FlavourTimoni
		c.spare = &sync.Pool{}
		return c, nil
	}
	// Only a module without a mark shows the order of its fields; that it has none is
	// known once it is built, and nearly always before.
	asWritten := !t.mentions("ropewalk")
	if err := c.buildMarked(m, asWritten); err != nil {
		return nil, err
	}
	if plain := c.Flavour == evaluate.FlavourPlain; plain != asWritten {
		if err := c.buildMarked(m, plain); err != nil {
			return nil, err
		}
	}
	if c.Flavour == evaluate.FlavourNative {
		// The syntax trees are kept by CUE; the bytes are no longer needed.
		t.files = nil
	}
	return c, nil
}

// buildMarked builds the module and reads its mark.
func (c *Compiled) buildMarked(m evaluate.Module, asWritten bool) error {
	if err := c.build(m, asWritten, nil); err != nil {
		return err
	}
	return c.readMark(m)
}

// build loads and evaluates the module, with inputFile unless it is nil.
func (c *Compiled) build(m evaluate.Module, asWritten bool, inputFile *ast.File) error {
	if !c.slowly && c.timoni == nil {
		if inst := c.Tree.fastLoad(m); inst != nil && c.buildLoaded(inst, asWritten, inputFile) {
			return nil
		}
	}
	// CUE's loader knows everything and says what is wrong.
	inst, err := c.load(m, inputFile != nil)
	if err != nil {
		return err
	}
	if inputFile != nil {
		addFile(inst, inputFile)
	}
	c.instance = inst
	c.Files = inst.Files
	c.Value = newContext(asWritten).BuildInstance(inst)
	if inst.Err != nil {
		return c.Tree.moduleErrors(m, inst.Err)
	}
	return nil
}

// load loads the module by CUE's loader. A Timoni module with values of a render is loaded once for
// all of its renders.
func (c *Compiled) load(m evaluate.Module, values bool) (*build.Instance, error) {
	if c.timoni != nil && values {
		if inst := c.loadShared(m); inst != nil {
			return inst, nil
		}
	}
	tags, vars := c.injected(func(name string) string { return timoniTag(name, *c.context, c.version) })
	inst, err := c.Tree.load(m, tags, vars)
	if err == nil && c.timoni != nil {
		err = injectRuntime(m, c.Tree, inst.Files)
	}
	return inst, err
}

// buildLoaded evaluates the instance of fastLoad, and reports whether it has no mistake. A module
// with a mistake is left to CUE's loader.
func (c *Compiled) buildLoaded(inst *build.Instance, asWritten bool, inputFile *ast.File) bool {
	if inputFile != nil {
		addFile(inst, inputFile)
	}
	value := newContext(asWritten).BuildInstance(inst)
	if inst.Err != nil || value.Err() != nil {
		return false
	}
	c.instance = inst
	c.Files = inst.Files
	c.Value = value
	return true
}

// addFile adds a file to a package at the place that its name has among the others:
// CUE orders fields by where they are written first.
func addFile(inst *build.Instance, f *ast.File) {
	// What AddSyntax has against the file is in inst.Err too.
	_ = inst.AddSyntax(f)
	slices.SortStableFunc(inst.Files, func(a, b *ast.File) int { return strings.Compare(a.Filename, b.Filename) })
}

// newContext returns a context that no variable of the environment influences. A native module has
// its fields by name, which CUE finds faster than the order in which they were written, and which
// is the same after a fill. Timoni and plain modules have them as written, as `cue export` does.
func newContext(asWritten bool) *cue.Context {
	debug := "sortfields"
	if asWritten {
		debug = ""
	}
	return cuecontext.New(cuecontext.WithInjection(embed.New()), cuecontext.CUE_DEBUG(debug))
}

// load reads the package with everything that it imports.
func (t *tree) load(m evaluate.Module, tags []string, vars map[string]load.TagVar) (*build.Instance, error) {
	args := []string{"."}
	if t.packageName() == "_" {
		// By folder, CUE looks up no imports of files without a package clause.
		args = args[:0]
		for _, name := range t.cueFiles(t.dir) {
			args = append(args, "./"+path.Base(name))
		}
	}
	instances := load.Instances(args, &load.Config{
		Dir:                 path.Join(virtualRoot, t.dir),
		ModuleRoot:          path.Join(virtualRoot, t.root),
		Overlay:             t.overlay(),
		Registry:            offlineRegistry{t},
		Env:                 []string{},
		Tags:                tags,
		TagVars:             vars,
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

// loaderTags returns Module.Tags in the form of the loader. A name that is used in @if is a switch,
// which is on unless its value is false. A name that is used in @tag has its value. The argument
// pos has the places of the names, for errors.
func (t *tree) loaderTags(values map[string]string, pos map[string]object.Pos) ([]string, error) {
	if len(values) == 0 {
		return nil, nil
	}

	// Find the names that the files declare.
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

	// Each name of the user must be one of them.
	var tags []string
	runtime := t.runtimeNames()
	for _, name := range object.SortedKeys(values) {
		value := values[name]
		if runtime[name] && !switches[name] && !fields[name] {
			continue
		}
		if !switches[name] && !fields[name] {
			known := append(object.SortedKeys(switches), object.SortedKeys(fields)...)
			err := fmt.Errorf("tag %q is not declared by the module: no field has @tag(%s) and no file @if(%s)%s",
				name, name, name, diagnose.Nearest(name, known))
			if at, ok := pos[name]; ok {
				return nil, &object.Error{Stage: object.StageEvaluate, Pos: at, Err: err}
			}
			return nil, err
		}
		if switches[name] && value != "false" {
			tags = append(tags, name)
		}
		if fields[name] {
			tags = append(tags, name+"="+value)
		}
	}
	return tags, nil
}

// readMark reads the flavour, the kind and the mark of a module.
func (c *Compiled) readMark(m evaluate.Module) error {
	native := c.Value.LookupPath(cue.ParsePath("ropewalk.apiVersion"))
	ours := c.Value.LookupPath(cue.ParsePath("ropewalk"))
	if !ours.Exists() {
		c.Flavour = evaluate.FlavourPlain
		return c.refuseUnmarked(m)
	}

	// The mark has a version, and for some modules a kind.
	c.Flavour = evaluate.FlavourNative
	version, err := native.String()
	if err != nil || version != apiVersion {
		return &object.Error{
			Stage: object.StageEvaluate, Pos: c.Tree.At(m, ours), Path: "ropewalk.apiVersion",
			Err: fmt.Errorf("version %s is not supported, expected %q", diagnose.Given(native), apiVersion),
		}
	}
	if kind := c.Value.LookupPath(cue.ParsePath("ropewalk.kind")); kind.Exists() {
		c.Kind, err = kind.String()
		known := c.Kind == evaluate.KindPolicy || c.Kind == evaluate.KindProvisioners
		if err != nil || !known {
			return &object.Error{
				Stage: object.StageEvaluate, Pos: c.Tree.At(m, kind), Path: "ropewalk.kind",
				Err: fmt.Errorf("kind %s is not known, expected %q, %q or none", diagnose.Given(kind), evaluate.KindPolicy, evaluate.KindProvisioners),
			}
		}
	}

	// The other fields are decoded like the fields of any document.
	b := bundle{module: m, tree: c.Tree}
	var errs object.Errors
	c.Mark, errs = spec.DecodeMark(b.data(ours, c.Tree.At(m, ours)), object.Fields("ropewalk"))
	errs = append(b.errs, errs...)
	if errs.Err() != nil {
		return errs.Sorted()
	}
	return c.refuseMisspelt(m)
}

// refuseUnmarked refuses a module that has the graph of a native module and no mark: its objects
// would be found, and their order would be lost.
func (c *Compiled) refuseUnmarked(m evaluate.Module) error {
	graph := c.Value.LookupPath(cue.MakePath(cue.Str(diagnose.FieldGraph)))
	if !graph.LookupPath(cue.MakePath(cue.Str(diagnose.FieldNodes))).Exists() {
		return nil
	}
	hint := fmt.Sprintf("write ropewalk: apiVersion: %q in it", apiVersion)
	if c.Value.LookupPath(cue.ParsePath("#Input")).Exists() {
		hint += ", and input: #Input in place of reading #Input itself"
	}
	return &object.Error{
		Stage: object.StageEvaluate, Pos: c.Tree.At(m, graph), Hint: hint + "; see ropewalk module init",
		Err: errors.New("the module has graph.nodes and no mark, without which it is plain CUE whose objects have no order"),
	}
}

// contract returns the names of the fields at the root of a native module that mean something.
func contract(kind string) []string {
	switch kind {
	case evaluate.KindPolicy:
		return []string{"ropewalk", diagnose.FieldInput, diagnose.FieldContext, "subject", "violations"}
	case evaluate.KindProvisioners:
		return []string{"ropewalk", "provisioners"}
	}
	return []string{"ropewalk", diagnose.FieldInput, diagnose.FieldContext, diagnose.FieldGraph}
}

// refuseMisspelt refuses fields at the root of a native module whose name is nearly a field of the
// contract: they would mean nothing, and a policy without violations judges nothing.
func (c *Compiled) refuseMisspelt(m evaluate.Module) error {
	const letters = 5 // of a name, for each slip in it
	var errs object.Errors
	known := contract(c.Kind)
	fields, err := c.Value.Fields(cue.Optional(true))
	for err == nil && fields.Next() {
		name := fields.Selector().Unquoted()
		for _, near := range known {
			if d := object.Distance(strings.ToLower(name), near); name != near && d <= max(1, len(near)/letters) {
				errs = append(errs, &object.Error{
					Stage: object.StageEvaluate, Pos: c.Tree.At(m, fields.Value()),
					Err:  fmt.Errorf("unknown field %q, did you mean %q?", name, near),
					Hint: fmt.Sprintf("hide a field of your own: _%s", name),
				})
			}
		}
	}
	return errs.Sorted().Err()
}

// At returns the place in the module where v was written.
func (t *tree) At(m evaluate.Module, v cue.Value) object.Pos { return t.position(m, v.Pos()) }
