// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"errors"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"

	"github.com/ropewalk/ropewalk/render/check/internal/shape"
)

// Compiler compiles rules. The zero value is ready; what it needs is set up
// when the first rule comes. It is safe for concurrent use.
type Compiler struct {
	once     sync.Once
	env      *cel.Env     // functions and macros, without self
	checker  *checker.Env // the declarations of env, to be copied
	settings settings     // of the validators of env
	err      error

	formats shape.Formats
}

// setUp makes the environment of Kubernetes.
func (c *Compiler) setUp() error {
	c.once.Do(func() {
		options := append([]cel.EnvOption{
			cel.DefaultUTCTimeZone(true),
			cel.CrossTypeNumericComparisons(true),
			cel.OptionalTypes(),
			cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(),
				cel.ValidateRegexLiterals(), cel.ValidateHomogeneousAggregateLiterals()),
			ext.Strings(ext.StringsVersion(2)),
			ext.Sets(),
			ext.TwoVarComprehensions(),
			ext.Lists(ext.ListsVersion(3)),
		}, c.library()...)
		if c.env, c.err = cel.NewEnv(options...); c.err == nil {
			c.checker, c.err = c.declared(c.env.CELTypeProvider())
			c.settings = settingsOf(c.env.Validators())
		}
	})
	return c.err
}

// declared is a type checker that knows the functions of the environment.
func (c *Compiler) declared(provider types.Provider) (*checker.Env, error) {
	env, err := checker.NewEnv(c.env.Container, provider, checker.CrossTypeNumericComparisons(true))
	if err != nil {
		return nil, err
	}
	if err := env.AddIdents(c.env.Variables()...); err != nil {
		return nil, err
	}
	for _, f := range c.env.Functions() {
		if f.IsDeclarationDisabled() {
			continue
		}
		if err := env.AddFunctions(f); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// scope is a type checker that knows self and oldSelf besides.
func (c *Compiler) scope(d *declarations, self, old *cel.Type) (*checker.Env, error) {
	env, err := checker.NewEnv(c.env.Container, d, checker.ValidatedDeclarations(c.checker), checker.CrossTypeNumericComparisons(true))
	if err != nil {
		return nil, err
	}
	return env, env.AddIdents(decls.NewVariable("self", self), decls.NewVariable("oldSelf", old))
}

// parse parses an expression.
func (c *Compiler) parse(text string) (*cel.Ast, error) {
	parsed, issues := c.env.Parse(text)
	if issues.Err() != nil {
		return nil, errors.New("compilation failed: " + issues.String())
	}
	return parsed, nil
}

// check finds the types of an expression and applies the validators of the
// environment.
func (c *Compiler) check(parsed *cel.Ast, scope *checker.Env) (*ast.AST, error) {
	checked, failed := checker.Check(parsed.NativeRep(), parsed.Source(), scope)
	if len(failed.GetErrors()) > 0 {
		return nil, errors.New("compilation failed: " + failed.ToDisplayString())
	}
	issues := cel.NewIssuesWithSourceInfo(common.NewErrors(parsed.Source()), checked.SourceInfo())
	for _, v := range c.env.Validators() {
		v.Validate(c.env, c.settings, checked, issues)
	}
	if issues.Err() != nil {
		return nil, errors.New("compilation failed: " + issues.String())
	}
	return checked, nil
}

// settings is what the validators of CEL tell one another: that of formats lets
// the arguments of format be of several types.
type settings map[string]any

func settingsOf(validators []cel.ASTValidator) settings {
	known := settings{}
	for _, v := range validators {
		if configurer, ok := v.(cel.ASTValidatorConfigurer); ok {
			// Those of CEL never fail.
			_ = configurer.Configure(known)
		}
	}
	return known
}

// GetOrDefault is a setting.
func (s settings) GetOrDefault(name string, value any) any {
	if v, ok := s[name]; ok {
		return v
	}
	return value
}

// Set sets a setting.
func (s settings) Set(name string, value any) error {
	s[name] = value
	return nil
}

// program plans the evaluation of an expression within the limit of one call.
func (c *Compiler) program(checked *ast.AST) (cel.Program, error) {
	return c.env.PlanProgram(checked,
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		cel.CostLimit(callLimit),
		cel.CostTracking(costs{}),
		cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
		compiledPatterns(),
	)
}

// refersToOld reports whether an expression names oldSelf.
func refersToOld(parsed *cel.Ast, text string) bool {
	if !strings.Contains(text, "oldSelf") {
		return false
	}
	found := false
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.IdentKind && e.AsIdent() == "oldSelf"
	}))
	return found
}
