// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/render/check/internal/crd"
	"github.com/ropewalk/ropewalk/render/check/internal/rule"
	"github.com/ropewalk/ropewalk/render/check/internal/shape"
	"github.com/ropewalk/ropewalk/render/check/internal/structural"
	"github.com/ropewalk/ropewalk/render/object"
)

// compiled is the schema of one version of a kind, ready to judge objects.
// It is safe for concurrent use.
type compiled struct {
	schema   *structural.Structural
	shape    *shape.Schema
	rules    *ruleNode // nil where the schema has no CEL rules
	compiler *rule.Compiler
	embeds   bool // whether an object of the kind can hold others
}

// compileErrors is what is wrong with a schema.
type compileErrors field.ErrorList

// Error joins the mistakes.
func (e compileErrors) Error() string { return field.ErrorList(e).ToAggregate().Error() }

// compileVersion compiles the schema of a version. The CEL rules are compiled
// when the first object comes that has what they judge.
func compileVersion(v *definitionVersion, compiler *rule.Compiler) (*compiled, error) {
	s, err := structuralSchema(v)
	if err != nil {
		return nil, err
	}
	return &compiled{schema: s, shape: shape.New(s), rules: rulesOf(compiler, s, true), compiler: compiler, embeds: embeds(s)}, nil
}

// structuralSchema reads the schema of a version. Those of the built-in set are
// known to be structural.
func structuralSchema(v *definitionVersion) (*structural.Structural, error) {
	if v.builtIn != "" {
		return crd.Schema(v.builtIn)
	}
	if len(v.Schema.OpenAPIV3Schema) == 0 {
		return nil, fmt.Errorf("version %s has no schema", v.Name)
	}
	s, err := structural.Read(v.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	problems := append(structural.Faults(nil, s), unknownTypes(nil, s)...)
	if len(problems) > 0 {
		return nil, compileErrors(problems)
	}
	return s, nil
}

// unknownTypes is the types of a schema that JSON does not have.
func unknownTypes(path *field.Path, s *structural.Structural) (out field.ErrorList) {
	if s == nil {
		return nil
	}
	if known := []string{"array", "boolean", "integer", "number", "object", "string"}; s.Type != "" && !slices.Contains(known, s.Type) {
		out = append(out, field.NotSupported(path.Child("type"), s.Type, known))
	}
	out = append(out, unknownTypes(path.Child("items"), s.Items)...)
	if s.AdditionalProperties != nil {
		out = append(out, unknownTypes(path.Child("additionalProperties"), s.AdditionalProperties.Structural)...)
	}
	for _, name := range object.SortedKeys(s.Properties) {
		p := s.Properties[name]
		out = append(out, unknownTypes(path.Child("properties").Key(name), &p)...)
	}
	return out
}

// ruleNode is a part of a schema that holds CEL rules, or leads to such a part.
type ruleNode struct {
	own        *rule.Rules // nil without
	properties map[string]*ruleNode
	items      *ruleNode
	values     *ruleNode
}

// rulesOf is the tree of rules of s, nil where there are none. root says that s
// describes a resource.
func rulesOf(compiler *rule.Compiler, s *structural.Structural, root bool) *ruleNode {
	if s == nil {
		return nil
	}
	n := &ruleNode{}
	if len(s.XValidations) > 0 {
		n.own = compiler.Rules(s, root)
	}
	n.items = rulesOf(compiler, s.Items, s.Items != nil && s.Items.XEmbeddedResource)
	if s.AdditionalProperties != nil {
		values := s.AdditionalProperties.Structural
		n.values = rulesOf(compiler, values, values != nil && values.XEmbeddedResource)
	}
	for _, name := range object.SortedKeys(s.Properties) {
		p := s.Properties[name]
		sub := rulesOf(compiler, &p, p.XEmbeddedResource)
		if sub == nil || !rule.Exposed(&p) {
			// The server passes over what rules cannot see.
			continue
		}
		if n.properties == nil {
			n.properties = map[string]*ruleNode{}
		}
		n.properties[name] = sub
	}
	if n.own == nil && n.items == nil && n.values == nil && n.properties == nil {
		return nil
	}
	return n
}

// judge runs the rules that v meets and returns what is left of the budget.
func (n *ruleNode) judge(ctx context.Context, path *field.Path, v any, budget int64) (out field.ErrorList, left int64) {
	if n == nil || v == nil || budget < 0 {
		return nil, budget
	}
	if n.own != nil {
		out, budget = n.own.Judge(ctx, path, v, budget)
	}
	descend := func(sub *ruleNode, p *field.Path, part any) {
		errs, rest := sub.judge(ctx, p, part, budget)
		out, budget = append(out, errs...), rest
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range object.SortedKeys(v) {
			if sub := n.properties[name]; sub != nil {
				descend(sub, path.Child(name), v[name])
			} else if n.values != nil {
				descend(n.values, path.Key(name), v[name])
			}
		}
	case []any:
		for i, item := range v {
			descend(n.items, path.Index(i), item)
		}
	}
	return out, budget
}

// compileRules compiles every rule of the schema and returns those that are
// no CEL.
func (c *compiled) compileRules() error {
	problems := c.rules.problems(nil)
	if len(problems) == 0 {
		return nil
	}
	return compileErrors(problems)
}

// checkDefaults judges the defaults of the schema by the schema.
func (c *compiled) checkDefaults() error {
	problems := shape.JudgeDefaults(c.schema, func(path *field.Path, s *structural.Structural, root bool, v any) field.ErrorList {
		broken, _ := rulesOf(c.compiler, s, root).judge(context.Background(), path, v, rule.Budget)
		return broken
	})
	if len(problems) == 0 {
		return nil
	}
	return compileErrors(problems)
}

func (n *ruleNode) problems(path *field.Path) (out field.ErrorList) {
	if n == nil {
		return nil
	}
	if n.own != nil {
		for _, p := range n.own.Problems(path) {
			p.Detail = "is no good CEL: " + oneLine(p.Detail)
			out = append(out, p)
		}
	}
	out = append(out, n.items.problems(path.Child("items"))...)
	out = append(out, n.values.problems(path.Child("additionalProperties"))...)
	for _, name := range object.SortedKeys(n.properties) {
		out = append(out, n.properties[name].problems(path.Child("properties").Key(name))...)
	}
	return out
}
