// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package custom

import (
	"context"
	"regexp"
	"sync"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// ruleNode is a part of a schema that holds CEL rules, or leads to such a part.
// The rules of a part are compiled when an object first has it: to compile all
// rules of a large kind takes a tenth of a second, and one object meets a few.
type ruleNode struct {
	schema     *structural.Structural // nil where the part has no rules of its own
	root       bool                   // whether schema describes a resource
	properties map[string]*ruleNode
	items      *ruleNode
	values     *ruleNode

	once      sync.Once
	validator *cel.Validator
}

// rulesOf returns the tree of rules of s, or nil if s has no rules. The argument root says that s
// describes a resource.
func rulesOf(s *structural.Structural, root bool) *ruleNode {
	if s == nil {
		return nil
	}
	n := &ruleNode{root: root, properties: map[string]*ruleNode{}}
	if len(s.XValidations) > 0 {
		n.schema = s
	}
	n.items = rulesOf(s.Items, s.Items != nil && s.Items.XEmbeddedResource)
	if s.AdditionalProperties != nil {
		values := s.AdditionalProperties.Structural
		n.values = rulesOf(values, values != nil && values.XEmbeddedResource)
	}
	for name, p := range s.Properties {
		sub := rulesOf(&p, p.XEmbeddedResource)
		// The server passes over what rules cannot see.
		if sub != nil && model.SchemaDeclType(&p, p.XEmbeddedResource) != nil {
			n.properties[name] = sub
		}
	}
	hasParts := n.items != nil || n.values != nil || len(n.properties) > 0
	if n.schema == nil && !hasParts {
		return nil
	}
	return n
}

// validate runs the rules that v meets and returns what is left of the budget.
func (n *ruleNode) validate(ctx context.Context, path *field.Path, v any, budget int64) (errs field.ErrorList, remaining int64) {
	if n == nil || v == nil || budget < 0 {
		return nil, budget
	}
	if n.schema != nil {
		n.once.Do(func() { n.validator = cel.NewValidator(withOwnRules(n.schema), n.root, celconfig.PerCallLimit) })
		errs, budget = n.validator.Validate(ctx, path, nil, v, nil, budget)
	}
	descend := func(sub *ruleNode, p *field.Path, part any) {
		found, rest := sub.validate(ctx, p, part, budget)
		errs = append(errs, found...)
		budget = rest
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
	return errs, budget
}

// withOwnRules returns a copy of s in which no part below s has rules.
func withOwnRules(s *structural.Structural) *structural.Structural {
	copied := s.DeepCopy()
	(&structural.Visitor{
		Structural: func(part *structural.Structural) bool {
			part.XValidations = nil
			return true
		},
		NestedValueValidation: func(part *structural.NestedValueValidation) bool {
			part.XValidations = nil
			return true
		},
	}).Visit(copied)
	copied.XValidations, copied.ValueValidation = s.XValidations, s.ValueValidation
	return copied
}

// problems compiles all rules and returns those that are not valid.
func (n *ruleNode) problems(path *field.Path) (errs field.ErrorList) {
	if n == nil {
		return nil
	}
	if n.schema != nil {
		errs = n.ownProblems(path.Child("x-kubernetes-validations"))
	}
	errs = append(errs, n.items.problems(path.Child("items"))...)
	errs = append(errs, n.values.problems(path.Child("additionalProperties"))...)
	for name, sub := range n.properties {
		errs = append(errs, sub.problems(path.Child("properties").Key(name))...)
	}
	return errs
}

func (n *ruleNode) ownProblems(path *field.Path) (errs field.ErrorList) {
	env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	results, err := cel.Compile(n.schema, model.SchemaDeclType(n.schema, n.root), celconfig.PerCallLimit, env, cel.NewExpressionsEnvLoader())
	if err != nil {
		return field.ErrorList{field.Invalid(path, "", "cannot be compiled: "+printable.OneLine(err.Error()))}
	}
	// The parser lists every token that could follow.
	expecting := regexp.MustCompile(` expecting \{[^\n]*\}`)
	for i, r := range results {
		for name, problem := range map[string]*apiservercel.Error{"rule": r.Error, "messageExpression": r.MessageExpressionError} {
			if problem != nil {
				detail := printable.OneLine(expecting.ReplaceAllString(problem.Detail, ""))
				errs = append(errs, field.Invalid(path.Index(i).Child(name), "", "is not a valid CEL expression: "+detail))
			}
		}
	}
	return errs
}
