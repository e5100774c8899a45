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
	// CacheModules is how many compiled modules are kept; 64 where zero.
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

// New is an evaluator that has compiled no module yet.
func New(opts Options) *Evaluator {
	return &Evaluator{schemas: opts.Schemas, modules: newModuleCache(opts.CacheModules), helm: opts.Helm, kustomize: opts.Kustomize}
}

// Evaluate implements [Evaluator].
func (p *Evaluator) Evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	if err := CheckSize(req); err != nil {
		return evaluate.Result{}, err
	}
	return guarded(ctx, req, func(ctx context.Context) (evaluate.Result, error) {
		result, err := p.evaluate(ctx, req)
		return result, diagnose.Fail(req, err)
	})
}

// Trace implements [Evaluator].
func (p *Evaluator) Trace(ctx context.Context, req evaluate.Request, queries []evaluate.Query) ([]evaluate.Origin, error) {
	if err := CheckSize(req); err != nil {
		return nil, err
	}
	return guarded(ctx, req, func(ctx context.Context) ([]evaluate.Origin, error) {
		if req.Component != nil {
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

func (p *Evaluator) evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	if req.Component != nil {
		return p.component(ctx, req)
	}
	if req.Values {
		values, err := module.Values(req.Module)
		return evaluate.Result{Values: values}, err
	}
	if req.Bundle != nil {
		bundle, err := module.ReadBundle(req.Module, *req.Bundle)
		return evaluate.Result{Bundle: bundle}, err
	}
	s, err := p.open(req, req.Module)
	if err != nil {
		return evaluate.Result{}, err
	}
	if req.Inspect {
		result := evaluate.Result{Flavour: s.Compiled.Flavour}
		result.Inspection, err = inspect(req, s)
		return result, err
	}
	if req.Describe {
		result := evaluate.Result{Flavour: s.Compiled.Flavour}
		result.Inputs, err = inputs.Describe(s.Session)
		return result, err
	}
	if req.Older != nil {
		older, err := p.open(req, *req.Older)
		if err != nil {
			return evaluate.Result{}, err
		}
		changes, err := inputs.Compare(older.Session, s.Session)
		if err == nil && older.provisioners != nil && s.provisioners != nil {
			changes, err = provision.Compare(older.provisioners, s.provisioners, older.Session, s.Session)
		}
		return evaluate.Result{Changes: changes, OlderKind: older.Compiled.Kind, NewerKind: s.Compiled.Kind}, err
	}
	if s.Compiled.Kind == evaluate.KindPolicy {
		return evaluate.Result{}, fmt.Errorf("module %q is a policy: name it under policies, not as the module of a spec", diagnose.ModuleName(req.Module))
	}
	if s.provisioners != nil || req.Catalog {
		return p.provision(req, s)
	}
	if len(req.Expressions) > 0 && s.Compiled.Flavour != evaluate.FlavourPlain {
		return evaluate.Result{}, &object.Error{
			Stage: object.StageEvaluate, Pos: module.ExpressionPos(req.Expressions[0]),
			Err:  fmt.Errorf("module %q has a mark, which says what its objects are: an expression is for a plain CUE package", diagnose.ModuleName(req.Module)),
			Hint: "use --spec or -l to print some of the objects",
		}
	}
	result := evaluate.Result{Flavour: s.Compiled.Flavour}
	if result.Nodes, result.Warnings, err = s.Render(); err != nil {
		return evaluate.Result{}, err
	}
	object.SortNodes(result.Nodes)
	return p.laid(req, result)
}

// provision asks a module of provisioners for its catalog, or for resources.
func (p *Evaluator) provision(req evaluate.Request, s *opened) (evaluate.Result, error) {
	if s.provisioners == nil {
		return evaluate.Result{}, fmt.Errorf("module %q is not a module of provisioners: it lacks ropewalk.kind %q", diagnose.ModuleName(req.Module), evaluate.KindProvisioners)
	}
	result := evaluate.Result{Flavour: s.Compiled.Flavour}
	if req.Catalog {
		result.Catalog = s.provisioners.Entries(s.Session)
		return result, nil
	}
	made, warnings, err := s.provisioners.Make(s.Session)
	if err != nil {
		return evaluate.Result{}, err
	}
	result.Provisioned, result.Warnings = made, warnings
	var nodes []*object.Node
	for _, key := range object.SortedKeys(made) {
		nodes = append(nodes, made[key].Nodes...)
	}
	result.Violations, result.Undecided, err = p.judge(req, nodes)
	if err != nil {
		return evaluate.Result{}, err
	}
	return result, nil
}

// loaded is what is cached of a module.
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

// opened is a session with what only its kind of module has.
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
