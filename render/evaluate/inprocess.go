// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/object"
)

// Options configure an evaluator. The zero value works.
type Options struct {
	// Schemas maps an import path, such as ropewalk.dev/schema, to the files of
	// that package. They are laid over modules that have not vendored them.
	Schemas map[string]fs.FS
	// CacheModules is how many compiled modules are kept; 64 where zero.
	CacheModules int
}

// InProcess evaluates in the process of its caller. It is for modules that
// the caller trusts: an evaluation that exceeds a limit ends with an error, but
// it cannot be killed and goes on in the background until it comes to an end
// by itself. [Pool] is for the modules of others. It is safe for concurrent
// use.
type InProcess struct {
	schemas map[string]fs.FS
	modules *moduleCache
	// slowly loads every module through CUE's loader: tests compare the two ways.
	slowly bool
}

var _ Evaluator = (*InProcess)(nil)

// NewInProcess is an evaluator that has compiled no module yet.
func NewInProcess(opts Options) *InProcess {
	return &InProcess{schemas: opts.Schemas, modules: newModuleCache(opts.CacheModules)}
}

// Evaluate implements [Evaluator].
func (p *InProcess) Evaluate(ctx context.Context, req Request) (Result, error) {
	if err := req.checkSize(); err != nil {
		return Result{}, err
	}
	return guarded(ctx, req, func() (Result, error) {
		result, err := p.evaluate(req)
		return result, req.fail(err)
	})
}

// Trace implements [Evaluator].
func (p *InProcess) Trace(ctx context.Context, req Request, queries []Query) ([]Origin, error) {
	if err := req.checkSize(); err != nil {
		return nil, err
	}
	return guarded(ctx, req, func() ([]Origin, error) {
		s, err := p.open(req, req.Module)
		if err != nil {
			return nil, req.fail(err)
		}
		origins, err := s.trace(queries)
		return origins, req.fail(err)
	})
}

func (p *InProcess) evaluate(req Request) (Result, error) {
	s, err := p.open(req, req.Module)
	if err != nil {
		return Result{}, err
	}
	if req.Describe {
		result := Result{Flavour: s.module.flavour}
		result.Inputs, err = s.describe()
		return result, err
	}
	if s.module.kind == kindPolicy {
		return Result{}, fmt.Errorf("module %q is a policy: name it under policies, not as the module of a spec", req.Module.name())
	}
	if s.module.kind == kindProvisioners || req.Catalog {
		return p.provision(req, s)
	}
	result := Result{Flavour: s.module.flavour}
	switch result.Flavour {
	case FlavourNative:
		result.Nodes, err = s.native()
	case FlavourTimoni:
		result.Nodes, result.Warnings, err = s.timoni()
	default:
		result.Nodes, err = s.plain()
	}
	if err != nil {
		return Result{}, err
	}
	object.SortNodes(result.Nodes)
	if result.Violations, err = p.judge(req, result.Nodes); err != nil {
		return Result{}, err
	}
	return result, nil
}

// session is one evaluation of one module.
type session struct {
	req    Request
	source Module
	module *compiled
	// input is what the module is given, inputPath and pos where it stands.
	input object.Value
	// written is the part of it that the user wrote.
	written   object.Value
	inputPath object.Path
	pos       object.Pos
	began     time.Time
	// declared is where the text declares the nodes: see compiled.
	declared map[string]token.Pos
	// resource is the key of the resource whose provisioner the session
	// evaluates, and skip how many labels of CUE's paths lead to that one; both
	// are zero where it evaluates a whole module.
	resource string
	skip     int
}

// open compiles a module, or finds it compiled.
func (p *InProcess) open(req Request, m Module) (*session, error) {
	c, err := p.modules.get(m, func() (*compiled, error) { return compile(m, p.schemas, p.slowly) })
	if err != nil {
		return nil, inModule(m, err)
	}
	return &session{req: req, source: m, module: c, input: req.Input, written: req.Input, inputPath: req.InputPath, pos: req.Pos, began: time.Now(), declared: c.declared}, nil
}
