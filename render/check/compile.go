// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/ropewalk/ropewalk/render/object"
)

// compiled is the schema of one version of a kind, ready to judge objects.
// It is safe for concurrent use.
type compiled struct {
	schema    *structural.Structural
	validator validation.SchemaValidator
	rules     *ruleNode // nil where the schema has no CEL rules
}

// compileErrors is what is wrong with a schema.
type compileErrors field.ErrorList

// Error joins the mistakes.
func (e compileErrors) Error() string { return field.ErrorList(e).ToAggregate().Error() }

// compileVersion compiles the schema of a version. The CEL rules are compiled
// when the first object comes that has what they judge.
func compileVersion(v *definitionVersion) (*compiled, error) {
	if len(v.Schema.OpenAPIV3Schema) == 0 {
		return nil, fmt.Errorf("version %s has no schema", v.Name)
	}
	typed, err := typedSchema(v.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(typed, internal, nil); err != nil {
		return nil, err
	}
	s, err := structural.NewStructural(internal)
	if err != nil {
		return nil, err
	}
	if problems := structural.ValidateStructural(nil, s); len(problems) > 0 {
		return nil, compileErrors(problems)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, err
	}
	return &compiled{schema: s, validator: validator, rules: rulesOf(s, true)}, nil
}

// ruleNode is a part of a schema that holds CEL rules, or leads to such a part.
// The rules of each part are compiled apart: large kinds hold hundreds of rules,
// of which one object meets a few, and to compile them is the dearest of all
// that this package does.
type ruleNode struct {
	own        *structural.Structural // with its own rules alone; nil without
	root       bool
	properties map[string]*ruleNode
	items      *ruleNode
	values     *ruleNode

	once      sync.Once
	validator *cel.Validator
}

// rulesOf is the tree of rules of s, nil where there are none.
func rulesOf(s *structural.Structural, root bool) *ruleNode {
	if s == nil {
		return nil
	}
	n := &ruleNode{root: root}
	if len(s.XValidations) > 0 {
		n.own = withoutRules(s)
		n.own.XValidations = s.XValidations
	}
	n.items = rulesOf(s.Items, s.Items != nil && s.Items.XEmbeddedResource)
	if s.AdditionalProperties != nil {
		n.values = rulesOf(s.AdditionalProperties.Structural, false)
	}
	for _, name := range object.SortedKeys(s.Properties) {
		p := s.Properties[name]
		if sub := rulesOf(&p, p.XEmbeddedResource); sub != nil {
			if n.properties == nil {
				n.properties = map[string]*ruleNode{}
			}
			n.properties[name] = sub
		}
	}
	if n.own == nil && n.items == nil && n.values == nil && n.properties == nil {
		return nil
	}
	return n
}

// withoutRules is a copy of s in which no part has CEL rules.
func withoutRules(s *structural.Structural) *structural.Structural {
	if s == nil {
		return nil
	}
	out := *s
	out.XValidations = nil
	out.Items = withoutRules(s.Items)
	if s.AdditionalProperties != nil {
		values := *s.AdditionalProperties
		values.Structural = withoutRules(values.Structural)
		out.AdditionalProperties = &values
	}
	if s.Properties != nil {
		out.Properties = make(map[string]structural.Structural, len(s.Properties))
		for name, p := range s.Properties {
			out.Properties[name] = *withoutRules(&p)
		}
	}
	return &out
}

// judge runs the rules that v meets and returns what is left of the budget.
func (n *ruleNode) judge(ctx context.Context, path *field.Path, v any, budget int64) (out field.ErrorList, left int64) {
	if n == nil || v == nil || budget < 0 {
		return nil, budget
	}
	if n.own != nil {
		n.once.Do(func() { n.validator = cel.NewValidator(n.own, n.root, celconfig.PerCallLimit) })
		out, budget = n.validator.Validate(ctx, path, n.own, v, nil, budget)
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
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	problems := c.rules.problems(nil, base)
	if len(problems) == 0 {
		return nil
	}
	return compileErrors(problems)
}

// checkDefaults judges the defaults of the schema by the schema.
func (c *compiled) checkDefaults() error {
	problems, err := defaulting.ValidateDefaults(context.Background(), nil, c.schema, true, true)
	if err != nil {
		return err
	}
	if len(problems) == 0 {
		return nil
	}
	return compileErrors(problems)
}

func (n *ruleNode) problems(path *field.Path, base *environment.EnvSet) (out field.ErrorList) {
	if n == nil {
		return nil
	}
	if n.own != nil {
		out = append(out, n.ownProblems(path, base)...)
	}
	out = append(out, n.items.problems(path.Child("items"), base)...)
	out = append(out, n.values.problems(path.Child("additionalProperties"), base)...)
	for _, name := range object.SortedKeys(n.properties) {
		out = append(out, n.properties[name].problems(path.Child("properties").Key(name), base)...)
	}
	return out
}

func (n *ruleNode) ownProblems(path *field.Path, base *environment.EnvSet) (out field.ErrorList) {
	results, err := cel.Compile(n.own, model.SchemaDeclType(n.own, n.root), celconfig.PerCallLimit, base, cel.NewExpressionsEnvLoader())
	if err != nil {
		return field.ErrorList{field.Invalid(path.Child("x-kubernetes-validations"), "", err.Error())}
	}
	for i, r := range results {
		rule := path.Child("x-kubernetes-validations").Index(i)
		for _, e := range [...]struct {
			name string
			err  *apiservercel.Error
		}{{"rule", r.Error}, {"messageExpression", r.MessageExpressionError}} {
			if e.err != nil {
				out = append(out, field.Invalid(rule.Child(e.name), "", "is no good CEL: "+oneLine(e.err.Detail)))
			}
		}
	}
	return slices.Clip(out)
}
