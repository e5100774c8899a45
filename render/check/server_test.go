// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/ropewalk/ropewalk/render/check/internal/rule"
)

// server judges values with the code of the API server itself.
type server struct {
	schema    *structural.Structural
	validator validation.SchemaValidator
	rules     *serverRules
}

// serverFor is a server and this package's own judge for one schema.
func serverFor(t testing.TB, schema []byte) (*server, *compiled) {
	typed := &apiextensionsv1.JSONSchemaProps{}
	require.NoError(t, json.Unmarshal(schema, typed), "%s", schema)
	internal := &apiextensions.JSONSchemaProps{}
	require.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(typed, internal, nil))
	s, err := structural.NewStructural(internal)
	require.NoError(t, err, "%s", schema)
	require.Empty(t, structural.ValidateStructural(nil, s), "%s", schema)
	validator, _, err := validation.NewSchemaValidator(internal)
	require.NoError(t, err)
	v := &definitionVersion{}
	v.Schema.OpenAPIV3Schema = schema
	own, err := compileVersion(v, &rule.Compiler{})
	require.NoError(t, err)
	return &server{schema: s, validator: validator, rules: serverRulesOf(s, true)}, own
}

// serverRules is the rules of the server by the parts of a schema, compiled when
// a value meets them: to compile them all takes minutes.
type serverRules struct {
	own        *structural.Structural
	root       bool
	properties map[string]*serverRules
	items      *serverRules
	values     *serverRules
	once       sync.Once
	validator  *cel.Validator
}

func serverRulesOf(s *structural.Structural, root bool) *serverRules {
	if s == nil {
		return nil
	}
	n := &serverRules{root: root, properties: map[string]*serverRules{}}
	if len(s.XValidations) > 0 {
		n.own = withoutRules(s)
		n.own.XValidations = s.XValidations
	}
	n.items = serverRulesOf(s.Items, s.Items != nil && s.Items.XEmbeddedResource)
	if s.AdditionalProperties != nil {
		values := s.AdditionalProperties.Structural
		n.values = serverRulesOf(values, values != nil && values.XEmbeddedResource)
	}
	for name, p := range s.Properties {
		if model.SchemaDeclType(&p, p.XEmbeddedResource) != nil {
			n.properties[name] = serverRulesOf(&p, p.XEmbeddedResource)
		}
	}
	return n
}

// withoutRules is a copy of s in which no part has CEL rules.
func withoutRules(s *structural.Structural) *structural.Structural {
	out := s.DeepCopy()
	(&structural.Visitor{Structural: func(s *structural.Structural) bool {
		s.XValidations = nil
		return true
	}}).Visit(out)
	return out
}

func (n *serverRules) judge(t testing.TB, path *field.Path, v any, budget int64) (out field.ErrorList, left int64) {
	if n == nil || v == nil || budget < 0 {
		return nil, budget
	}
	if n.own != nil {
		n.once.Do(func() { n.validator = cel.NewValidator(n.own, n.root, celconfig.PerCallLimit) })
		out, budget = n.validator.Validate(t.Context(), path, n.own, v, nil, budget)
	}
	descend := func(sub *serverRules, p *field.Path, part any) {
		errs, rest := sub.judge(t, p, part, budget)
		out, budget = append(out, errs...), rest
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedNames(v) {
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

func sortedNames(m map[string]any) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// mistakes writes errors so that both sides can be compared: the server repeats
// paths in some details, and has them nowhere else for alternatives and ranges.
func mistakes(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		place, detail := strings.TrimPrefix(e.Field, "<nil>"), e.Detail
		if _, rest, ok := strings.Cut(detail, " in body "); ok {
			detail = rest
		}
		within := ""
		if quoted, rest, ok := strings.Cut(strings.TrimPrefix(detail, `"`), `" must `); ok && strings.HasPrefix(detail, `"`) {
			within, detail = quoted, "must "+rest
		}
		if _, rest, ok := strings.Cut(detail, " value must be of type "); ok && strings.Contains(rest, " in ") {
			detail, within, _ = strings.Cut(detail, " in ")
		}
		if before, rest, ok := strings.Cut(detail, " declared for "); ok {
			_, rest, _ = strings.Cut(rest, " must")
			detail = before + " declared must" + rest
		}
		if within = strings.TrimPrefix(within, "."); within != "" {
			place += "." + within
		}
		// The server names the type of self anew each time, and this package words
		// errors of versions in its own way.
		detail = regexp.MustCompile(`selfType\d+`).ReplaceAllString(detail, "@self")
		if before, rest, ok := strings.Cut(detail, " evaluating rule: "); ok && strings.Contains(rest, "semver(") && !strings.HasPrefix(before, "no such") {
			detail = rest
		}
		place = strings.ReplaceAll(strings.TrimPrefix(place, "."), ".[", "[")
		out = append(out, place+": "+string(e.Type)+": "+detail)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// requireSame judges v with both.
func requireSame(t testing.TB, theirs *server, own *compiled, v map[string]any) {
	requireSameWithin(t, theirs, own, v, celconfig.RuntimeCELCostBudget)
}

// requireSameWithin judges v with both, within a budget for its rules. What rules
// cost is compared where the schema finds nothing wrong: the server runs them only
// then, and they end in panics of its own before where types are wrong.
func requireSameWithin(t testing.TB, theirs *server, own *compiled, v map[string]any, budget int64) {
	v = runtime.DeepCopyJSON(v)
	valid := len(validation.ValidateCustomResource(nil, v, theirs.validator)) == 0
	wantBroken, wantLeft := theirs.rules.judge(t, nil, v, budget)
	gotBroken, gotLeft := own.rules.judge(t.Context(), nil, v, budget)
	want, got := mistakes(wantBroken), mistakes(gotBroken)
	if !slices.Equal(want, got) || valid && wantLeft != gotLeft {
		require.Equal(t, want, got, "%s", text(v))
		require.Equal(t, wantLeft, gotLeft, "%s", text(v))
	}
}

// requireSameDefinition judges the rules of a schema with both.
func requireSameDefinition(t testing.TB, schema []byte) (problems []string) {
	theirs, own := serverFor(t, schema)
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	results, err := cel.Compile(theirs.schema, model.SchemaDeclType(theirs.schema, true), celconfig.PerCallLimit, base, cel.NewExpressionsEnvLoader())
	require.NoError(t, err)
	wrong := 0
	for _, r := range results {
		if r.Error != nil || r.MessageExpressionError != nil {
			wrong++
		}
	}
	var broken compileErrors
	errors.As(own.compileRules(), &broken)
	require.Len(t, broken, wrong, "%s", schema)
	return mistakes(field.ErrorList(broken))
}

// thin is all, or every fourth of them where time is short.
func thin[T any](all []T) (out []T) {
	for i, v := range all {
		if !testing.Short() || i%4 == 0 {
			out = append(out, v)
		}
	}
	return out
}

func text(v any) string {
	content, err := json.MarshalIndent(v, "", " ")
	return cmp.Or(string(content), "") + errText(err)
}

func errText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}
