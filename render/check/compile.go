// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/render/check/internal/rule"
	"github.com/ropewalk/ropewalk/render/object"
)

// compiled is the schema of one version of a kind, ready to judge objects.
// It is safe for concurrent use.
type compiled struct {
	schema    *structural.Structural
	validator validation.SchemaCreateValidator
	rules     *ruleNode // nil where the schema has no CEL rules
	embeds    bool      // whether an object of the kind can hold others
}

// compileErrors is what is wrong with a schema.
type compileErrors field.ErrorList

// Error joins the mistakes.
func (e compileErrors) Error() string { return field.ErrorList(e).ToAggregate().Error() }

// errorList is problems as an error, sorted: the libraries walk maps.
func errorList(problems field.ErrorList) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b *field.Error) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Error(), b.Error()))
	})
	return compileErrors(problems)
}

// compileVersion compiles the schema of a version. The CEL rules are compiled
// when the first object comes that has what they judge.
func compileVersion(v *definitionVersion, compiler *rule.Compiler) (*compiled, error) {
	if len(v.Schema.OpenAPIV3Schema) == 0 {
		return nil, fmt.Errorf("version %s has no schema", v.Name)
	}
	props, err := decodeSchema(v.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	s, err := structural.NewStructural(props)
	if err != nil {
		return nil, err
	}
	if err := errorList(append(structural.ValidateStructural(nil, s), unknownTypes(nil, s)...)); err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, err
	}
	return &compiled{schema: s, validator: validator, rules: rulesOf(compiler, s, true), embeds: embeds(s)}, nil
}

// decodeSchema reads the schema of a version from JSON.
func decodeSchema(content []byte) (*apiextensions.JSONSchemaProps, error) {
	var versioned apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(content, &versioned); err != nil {
		var mistyped *json.UnmarshalTypeError
		if errors.As(err, &mistyped) {
			return nil, fmt.Errorf("has a %s where %s should be", mistyped.Value, mistyped.Field)
		}
		return nil, errors.New("cannot be read as a schema")
	}
	props := &apiextensions.JSONSchemaProps{}
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&versioned, props, nil)
	return props, err
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
	for name, p := range s.Properties {
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
func (c *compiled) compileRules() error { return errorList(c.rules.problems(nil)) }

// checkDefaults judges the defaults of the schema by the schema.
func (c *compiled) checkDefaults() error {
	problems, err := defaulting.ValidateDefaults(context.Background(), nil, c.schema, true, true)
	if err != nil {
		return err
	}
	return errorList(problems)
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
