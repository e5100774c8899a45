// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package custom

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// compiled is the schema of one version of a kind, ready to judge objects.
// It is safe for concurrent use.
type compiled struct {
	schema    *structural.Structural
	validator validation.SchemaCreateValidator
	rules     *ruleNode // nil where the schema has no CEL rules

	checked  sync.Mutex
	known    bool  // whether findings is set
	findings error // what is wrong with the rules and the defaults of the schema
}

// compileErrors are the mistakes in a schema.
type compileErrors field.ErrorList

// Error returns the mistakes in one line.
func (e compileErrors) Error() string { return field.ErrorList(e).ToAggregate().Error() }

// errorList returns problems as an error. It sorts them, because the libraries walk maps.
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
func compileVersion(v *definitionVersion) (*compiled, error) {
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
	return &compiled{schema: s, validator: validator, rules: rulesOf(s, true)}, nil
}

// problems returns what is wrong with the rules and the defaults of the schema. The answer is
// kept, unless the context has cut it short.
func (c *compiled) problems(ctx context.Context) error {
	c.checked.Lock()
	defer c.checked.Unlock()
	if c.known {
		return c.findings
	}
	err := c.findProblems(ctx)
	if ctx.Err() == nil {
		c.known, c.findings = true, err
	}
	return err
}

// findProblems compiles every rule of the schema, and judges its defaults by
// the schema where all rules compile.
func (c *compiled) findProblems(ctx context.Context) error {
	if err := errorList(c.rules.problems(nil)); err != nil {
		return err
	}
	problems, err := defaulting.ValidateDefaults(ctx, nil, c.schema, true, true)
	if err != nil {
		return err
	}
	return errorList(problems)
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

// unknownTypes returns the types of a schema that JSON does not have.
func unknownTypes(path *field.Path, s *structural.Structural) (errs field.ErrorList) {
	if s == nil {
		return nil
	}
	if known := []string{"array", "boolean", "integer", "number", "object", "string"}; s.Type != "" && !slices.Contains(known, s.Type) {
		errs = append(errs, field.NotSupported(path.Child("type"), s.Type, known))
	}
	errs = append(errs, unknownTypes(path.Child("items"), s.Items)...)
	if s.AdditionalProperties != nil {
		errs = append(errs, unknownTypes(path.Child("additionalProperties"), s.AdditionalProperties.Structural)...)
	}
	for name, p := range s.Properties {
		errs = append(errs, unknownTypes(path.Child("properties").Key(name), &p)...)
	}
	return errs
}
