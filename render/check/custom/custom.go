// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package custom

import (
	"context"
	"strconv"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/object"
)

// Check judges a custom resource by its definition, in the order of an API server: unknown
// fields, nulls, defaults, schema, lists, and CEL where the rest is good.
func (s *Schemas) Check(ctx context.Context, a *finding.Value, d *Definition) {
	// The version and its schema decide everything else.
	o := a.Root()
	v := d.version(o.Version())
	if v == nil || !v.Served {
		reportNotServed(a, d)
		return
	}
	compiled, err := s.compile(d, v)
	if err != nil {
		// A definition of the render has findings of its own.
		const format = "cannot be checked: the schema of %s in its CustomResourceDefinition is not valid: %s"
		a.Field("kind").Fail(finding.RuleDefinition, format, o.APIVersion(), printable.OneLine(err.Error()))
		return
	}

	// The metadata has the same form in every kind.
	s.Components.ObjectMeta(a.Field("metadata"))
	content := o.Clone()
	track := structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	unknown := pruning.PruneWithOptions(map[string]any(content), compiled.schema, true, track)
	for _, text := range unknown {
		reportUnknownField(a, compiled, text)
	}

	// The server fills defaults in before it judges.
	complete(content, compiled.schema)
	before := len(a.Report.Findings)
	errs := schemaErrors{a, compiled.schema, content}
	for _, err := range compiled.validator.Validate(map[string]any(content)).Errors {
		errs.report(err)
	}
	for _, p := range listtype.ValidateListSetsAndMaps(nil, compiled.schema, content) {
		errs.reportDuplicate(p)
	}
	s.checkEmbedded(a.WithRaw(map[string]any(content)), compiled.schema)
	if len(a.Report.Findings) > before {
		return
	}

	// Rules are evaluated only on content that the schema allows.
	broken, _ := compiled.rules.validate(ctx, nil, map[string]any(content), celconfig.RuntimeCELCostBudget)
	for _, p := range broken {
		path, _ := locate(map[string]any(content), strings.TrimPrefix(p.Field, "<nil>"))
		a.FailAt(path, finding.RuleCEL, ruleMessage(p))
	}
}

// complete fills the defaults in, as the server does before it judges.
func complete(content map[string]any, s *structural.Structural) {
	defaulting.PruneNonNullableNullsWithoutDefaults(content, s)
	defaulting.Default(content, s)
}

// ruleMessage returns the message of a CEL rule.
func ruleMessage(p *field.Error) string {
	detail := printable.OneLine(p.Detail)
	if rule, ok := strings.CutPrefix(detail, "failed rule: "); ok {
		return "violates a rule of its CustomResourceDefinition: " + rule
	}
	return detail
}

// ofCluster ends the hint for a version that a definition does not serve.
const ofCluster = ", or name the CustomResourceDefinition that the cluster has with --crds"

// reportNotServed reports a version that is not served, and names the served versions.
func reportNotServed(a *finding.Value, d *Definition) {
	served := d.served()
	for i, v := range served {
		served[i] = d.Group + "/" + v
	}
	f := a.Field("apiVersion").Fail(finding.RuleAPIVersion, "%s %s is not served", a.Root().APIVersion(), a.Root().Kind())
	switch len(served) {
	case 0:
		f.Hint = "the CustomResourceDefinition serves no version"
	case 1:
		f.Hint = "use " + served[0] + ofCluster
	default:
		f.Hint = "served: " + strings.Join(served, ", ") + ofCluster
	}
}

// reportUnknownField reports a field that does not exist, and which one was probably
// meant.
func reportUnknownField(a *finding.Value, compiled *compiled, text string) {
	path, _ := locate(map[string]any(a.Root()), text)
	f := a.FailAt(path, finding.RuleUnknownField, "is not a known field")
	if len(path) == 0 {
		return
	}
	parent, ok := schemaAt(compiled.schema, path[:len(path)-1])
	if !ok {
		return
	}
	knownFields := object.SortedKeys(parent.Properties)
	f.Hint = object.DidYouMean(path[len(path)-1].Name, knownFields)
	if f.Hint == "" && len(knownFields) > 0 && len(knownFields) <= 8 {
		f.Hint = "known fields: " + strings.Join(knownFields, ", ")
	}
}

// schemaAt follows a path through a schema.
func schemaAt(s *structural.Structural, path object.Path) (*structural.Structural, bool) {
	for _, step := range path {
		switch {
		case step.IsIndex && s.Items != nil:
			s = s.Items
		case step.IsIndex:
			return nil, false
		default:
			p, ok := s.Properties[step.Name]
			if !ok && s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
				p, ok = *s.AdditionalProperties.Structural, true
			}
			if !ok {
				return nil, false
			}
			s = &p
		}
	}
	return s, true
}

// locate reads a path as the libraries write it. They join names by dots, though a name may hold
// dots itself: the fields of the object decide. It returns the value at the path, or nil without a
// value.
func locate(v any, text string) (object.Path, any) {
	var path object.Path
	for text != "" && text != "<nil>" {
		text = strings.TrimPrefix(text, ".")

		// In brackets stands an index, or a name with other characters.
		if rest, ok := strings.CutPrefix(text, "["); ok {
			inside, after, _ := strings.Cut(rest, "]")
			text = after
			if l, isList := v.([]any); isList {
				if i, err := strconv.Atoi(inside); err == nil {
					path = append(path, object.Index(i))
					v = nil
					if i >= 0 && i < len(l) {
						v = l[i]
					}
					continue
				}
			}
			path = append(path, object.Field(inside))
			v = member(v, inside)
			continue
		}

		// A name is the longest member that fits, or what is before the next sign.
		name := longestMember(v, text)
		if name == "" {
			end := strings.IndexAny(text, ".[")
			if end < 0 {
				end = len(text)
			}
			name = text[:end]
		}
		if name == "" {
			break
		}
		path = append(path, object.Field(name))
		v = member(v, name)
		text = text[len(name):]
	}
	return path, v
}

func member(v any, name string) any {
	m, _ := v.(map[string]any)
	return m[name]
}

// longestMember returns the longest member of v whose complete name text begins with.
func longestMember(v any, text string) (best string) {
	m, _ := v.(map[string]any)
	for name := range m {
		if object.Within(text, name) && len(name) > len(best) {
			best = name
		}
	}
	return best
}
