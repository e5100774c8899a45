// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/inputs"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/evaluate/provision"
	"github.com/ropewalk/ropewalk/render/evaluate/trace"
	"github.com/ropewalk/ropewalk/render/object"
)

// Options configure an evaluator. The zero value works.
type Options struct {
	// Schemas maps an import path, such as ropewalk.dev/schema, to the files of
	// that package. They are laid over modules that have not vendored them.
	Schemas map[string]fs.FS
	// CacheModules limits the compiled modules that are kept; 64 where zero.
	CacheModules int
	// Helm renders charts, and Kustomize builds kustomizations; nil refuses them.
	Helm, Kustomize component.Engine
}

// Evaluator evaluates in the process of its caller. It is for modules that
// the caller trusts: an evaluation that exceeds a limit ends with an error, but
// it cannot be killed and goes on in the background until it comes to an end
// by itself. [Pool] is for the modules of others. It is safe for concurrent
// use.
type Evaluator struct {
	schemas map[string]fs.FS
	modules *moduleCache
	// helm and kustomize build components, which are refused where they are nil.
	helm, kustomize component.Engine
	// slowly loads every module through CUE's loader: tests compare the two ways.
	slowly bool
}

var _ evaluate.Evaluator = (*Evaluator)(nil)

// New returns an evaluator that has compiled no module yet.
func New(opts Options) *Evaluator {
	return &Evaluator{schemas: opts.Schemas, modules: newModuleCache(opts.CacheModules), helm: opts.Helm, kustomize: opts.Kustomize}
}

// Evaluate implements [Evaluator].
func (p *Evaluator) Evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	if err := CheckSize(req); err != nil {
		return evaluate.Result{}, err
	}
	return runGuarded(ctx, req, func(ctx context.Context) (evaluate.Result, error) {
		result, err := p.evaluate(ctx, req)
		return result, diagnose.Fail(req, err)
	})
}

// Trace implements [Evaluator].
func (p *Evaluator) Trace(ctx context.Context, req evaluate.Request, queries []evaluate.Query) ([]evaluate.Origin, error) {
	if err := CheckSize(req); err != nil {
		return nil, err
	}
	return runGuarded(ctx, req, func(ctx context.Context) ([]evaluate.Origin, error) {
		if req.Operation == evaluate.OpBuild {
			origins, err := p.traceComponent(ctx, req, queries)
			return origins, diagnose.Fail(req, err)
		}
		s, err := p.open(req, req.Module)
		if err != nil {
			return nil, diagnose.Fail(req, err)
		}
		var origins []evaluate.Origin
		if s.provisioners != nil {
			origins, err = s.provisioners.Trace(s.Session, queries)
		} else {
			origins, err = trace.Trace(s.Session, queries)
		}
		return origins, diagnose.Fail(req, err)
	})
}

// evaluate does what a request asks.
func (p *Evaluator) evaluate(ctx context.Context, req evaluate.Request) (result evaluate.Result, err error) {
	// Some operations read files without a module around them.
	if req.Operation == evaluate.OpBuild {
		return p.buildComponent(ctx, req)
	}
	if req.Operation == evaluate.OpValues {
		result.Values, err = module.Values(req.Module)
		return result, err
	}
	if req.Operation == evaluate.OpBundle {
		result.Bundle, err = module.ReadBundle(req.Module, *req.Bundle)
		return result, err
	}

	// All others ask a compiled module.
	s, err := p.open(req, req.Module)
	if err != nil {
		return result, err
	}
	result.Flavour = s.Compiled.Flavour
	switch req.Operation {
	case evaluate.OpRender:
		return p.render(req, s)
	case evaluate.OpCatalog:
		return catalog(req, s)
	case evaluate.OpInspect:
		result.Inspection, err = inspect(req, s)
	case evaluate.OpDescribe:
		result.Inputs, err = inputs.Describe(s.Session)
	case evaluate.OpCompare:
		result.Comparison, err = p.compare(req, s)
	default:
		err = fmt.Errorf("the operation %q is not known", req.Operation)
	}
	return result, err
}

// compare compares a module with an older version of it.
func (p *Evaluator) compare(req evaluate.Request, newer *opened) (evaluate.Comparison, error) {
	older, err := p.open(req, *req.Older)
	if err != nil {
		return evaluate.Comparison{}, err
	}
	changes, err := inputs.Compare(older.Session, newer.Session)
	if err == nil && older.provisioners != nil && newer.provisioners != nil {
		changes, err = provision.Compare(older.provisioners, newer.provisioners, older.Session, newer.Session)
	}
	return evaluate.Comparison{Changes: changes, OlderKind: older.Compiled.Kind, NewerKind: newer.Compiled.Kind}, err
}

// catalog lists what a module of provisioners can make.
func catalog(req evaluate.Request, s *opened) (evaluate.Result, error) {
	switch {
	case s.Compiled.Kind == evaluate.KindPolicy:
		return evaluate.Result{}, errPolicy(req.Module)
	case s.provisioners == nil:
		name := diagnose.ModuleName(req.Module)
		return evaluate.Result{}, fmt.Errorf("module %q is not a module of provisioners: it lacks ropewalk.kind %q", name, evaluate.KindProvisioners)
	}
	return evaluate.Result{Flavour: s.Compiled.Flavour, Catalog: s.provisioners.Entries(s.Session)}, nil
}

// errPolicy returns the error for a policy in the place of another module.
func errPolicy(m evaluate.Module) error {
	return fmt.Errorf("module %q is a policy: name it under policies, not as the module of a spec", diagnose.ModuleName(m))
}

// render makes the objects of a spec, or the resources that a module of provisioners is asked for.
func (p *Evaluator) render(req evaluate.Request, s *opened) (evaluate.Result, error) {
	switch {
	case s.Compiled.Kind == evaluate.KindPolicy:
		return evaluate.Result{}, errPolicy(req.Module)
	case s.provisioners != nil:
		return p.provision(req, s)
	case len(req.Expressions) > 0 && s.Compiled.Flavour != evaluate.FlavourPlain:
		name := diagnose.ModuleName(req.Module)
		return evaluate.Result{}, &object.Error{
			Stage: object.StageEvaluate, Pos: module.ExpressionPos(req.Expressions[0]),
			Err:  fmt.Errorf("module %q has a mark, which says what its objects are: an expression is for a plain CUE package", name),
			Hint: "use --spec or -l to print some of the objects",
		}
	}
	nodes, warnings, err := s.Render()
	if err != nil {
		return evaluate.Result{}, err
	}
	object.SortNodes(nodes)
	return p.finish(req, evaluate.Result{Flavour: s.Compiled.Flavour, Nodes: nodes, Warnings: warnings})
}

// provision asks a module of provisioners for resources.
func (p *Evaluator) provision(req evaluate.Request, s *opened) (evaluate.Result, error) {
	result := evaluate.Result{Flavour: s.Compiled.Flavour}
	resources, warnings, err := s.provisioners.Make(s.Session)
	if err != nil {
		return evaluate.Result{}, err
	}
	result.Provisioned, result.Warnings = resources, warnings
	var nodes []*object.Node
	for _, key := range object.SortedKeys(resources) {
		nodes = append(nodes, resources[key].Nodes...)
	}
	result.Violations, result.Undecided, err = p.judge(req, nodes)
	if err != nil {
		return evaluate.Result{}, err
	}
	return result, nil
}

// loaded is the cached part of a module.
type loaded struct {
	module *module.Compiled
	// provisioners is set for modules of provisioners only.
	provisioners *provision.Provisioners
}

// load compiles a module.
func (p *Evaluator) load(m evaluate.Module) (*loaded, error) {
	c, err := module.Compile(m, p.schemas, p.slowly)
	if err != nil || c.Kind != evaluate.KindProvisioners {
		return &loaded{module: c}, err
	}
	list, err := provision.ReadProvisioners(c, m)
	return &loaded{module: c, provisioners: list}, err
}

// opened is a session with the parts that only its kind of module has.
type opened struct {
	*module.Session
	provisioners *provision.Provisioners
}

// open compiles a module, or finds it compiled.
func (p *Evaluator) open(req evaluate.Request, m evaluate.Module) (*opened, error) {
	l, err := p.modules.get(m, func() (*loaded, error) { return p.load(m) })
	if err != nil {
		return nil, module.InModule(m, err)
	}
	return &opened{Session: module.NewSession(req, m, l.module), provisioners: l.provisioners}, nil
}
