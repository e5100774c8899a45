// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package custom

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	openapi "k8s.io/kube-openapi/pkg/validation/errors"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/object"
)

// schemaErrors is the part of a check of one custom resource that words what
// the libraries of Kubernetes report as this package would.
type schemaErrors struct {
	resource *finding.Value
	schema   *structural.Structural
	content  object.Object // with its defaults
}

// add adds a finding at a path as the libraries write it.
func (e schemaErrors) add(path object.Path, rule, message string) *finding.Finding {
	f := e.resource.Fail(rule, "%s", message)
	f.Path = path
	return f
}

// report adds an error of the validator of kube-openapi in the words of the other findings.
func (e schemaErrors) report(err error) {
	var v *openapi.Validation
	if !errors.As(err, &v) {
		e.reportUntyped(err.Error())
		return
	}

	// The value and its schema say more than the text of the error.
	path, value := locate(map[string]any(e.content), v.Name)
	s, _ := schemaAt(e.schema, path)
	detail := printable.OneLine(strings.TrimPrefix(v.Error(), v.Name+" in "+v.In+" "))

	// Each code of the validator has a rule and words of its own.
	switch v.Code() {
	case openapi.RequiredFailCode:
		if !e.isChoice(path) {
			e.add(path, finding.RuleRequired, "is required")
		}
	case openapi.InvalidTypeCode:
		e.reportMistyped(path, s, value, detail)
	case openapi.EnumFailCode:
		e.reportEnum(path, value, v.Values)
	case openapi.TooLongFailCode:
		text, _ := value.(string)
		e.add(path, finding.RuleSize, fmt.Sprintf("expected at most %d characters, found %d", v.Valid, len([]rune(text))))
	case openapi.TooShortFailCode:
		e.add(path, finding.RuleSize, fmt.Sprintf("expected at least %s, found %s", printable.Count(v.Valid, "character"), e.show(value)))
	case openapi.MaxItemsFailCode:
		e.add(path, finding.RuleSize, fmt.Sprintf("expected at most %s, found %d", printable.Count(v.Valid, "item"), size(value)))
	case openapi.MinItemsFailCode:
		e.add(path, finding.RuleSize, fmt.Sprintf("expected at least %s, found %d", printable.Count(v.Valid, "item"), size(value)))
	case openapi.TooManyPropertiesCode:
		e.add(path, finding.RuleSize, fmt.Sprintf("expected at most %s, found %d", printable.Count(v.Valid, "field"), size(value)))
	case openapi.TooFewPropertiesCode:
		e.add(path, finding.RuleSize, fmt.Sprintf("expected at least %s, found %d", printable.Count(v.Valid, "field"), size(value)))
	case openapi.UniqueFailCode:
		e.add(path, finding.RuleUnique, "has the same item more than once")
	case openapi.UnallowedPropertyCode:
		name, _ := v.Value.(string)
		e.add(path.Append(object.Field(name)), finding.RuleUnknownField, "is not an allowed field")
	case openapi.PatternFailCode:
		pattern := strings.TrimSuffix(strings.TrimPrefix(detail, "should match '"), "'")
		e.add(path, finding.RuleFormat, "expected a text that matches "+pattern+", found "+e.show(value))
	case openapi.MaxFailCode, openapi.MinFailCode:
		e.add(path, finding.RuleRange, "expected "+bound(detail)+", found "+e.show(value))
	default:
		e.add(path, finding.RuleRange, detail+", found "+e.show(value))
	}
}

// reportMistyped reports a value of another type, or a text of another format.
func (e schemaErrors) reportMistyped(path object.Path, s *structural.Structural, value any, detail string) {
	kind, _, _ := strings.Cut(strings.TrimPrefix(detail, "must be of type "), ":")
	if _, isText := value.(string); isText && finding.TypeName(kind) == "" && !strings.Contains(kind, ",") {
		e.add(path, finding.RuleFormat, "expected a text of the form "+kind+", found "+e.show(value))
		return
	}
	f := e.add(path, finding.RuleSchema, "expected "+expectedType(s, kind)+", found "+finding.Typed(value, e.resource.Secret()))
	if s != nil {
		f.Hint = finding.TypeHint(s.Type, value)
	}
}

// reportEnum reports a value that is not among the known values.
func (e schemaErrors) reportEnum(path object.Path, value any, values []any) {
	texts, shown := []string{}, []string{}
	for _, v := range values {
		content, _ := json.Marshal(v)
		if text, ok := v.(string); ok {
			texts = append(texts, text)
			content = []byte(strconv.Quote(text))
		}
		shown = append(shown, string(content))
	}
	f := e.add(path, finding.RuleEnum, "expected "+finding.Join(shown)+", found "+e.show(value))
	if t, ok := value.(string); ok && !e.resource.Secret() {
		f.Hint = object.DidYouMean(t, texts)
	}
}

// reportUntyped reports the errors that are only texts: alternatives, which begin with the quoted
// path, and numbers that do not fit their format, which end with it.
func (e schemaErrors) reportUntyped(text string) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		name, _ := strconv.Unquote(quoted)
		path, _ := locate(map[string]any(e.content), name)
		s, _ := schemaAt(e.schema, path)
		e.add(path, finding.RuleExclusive, alternatives(s, text[len(quoted):]))
		return
	}
	detail, name, _ := strings.Cut(text, " in ")
	_, detail, _ = strings.Cut(detail, " value must be of type ")
	path, value := locate(map[string]any(e.content), name)
	if f, ok := value.(float64); ok && f != math.Trunc(f) {
		return // That it is not an integer is reported already.
	}
	e.add(path, finding.RuleRange, "expected a number of the type "+detail+", found "+e.show(value))
}

// reportDuplicate reports an error of the list types.
func (e schemaErrors) reportDuplicate(p *field.Error) {
	path, _ := locate(map[string]any(e.content), p.Field)
	message := printable.OneLine(p.Detail)
	if p.Type == field.ErrorTypeDuplicate {
		message = "is in the list already"
		if list, ok := schemaAt(e.schema, path[:max(0, len(path)-1)]); ok && len(list.XListMapKeys) > 0 {
			message = "has the same " + strings.Join(list.XListMapKeys, " and ") + " as an earlier item of the list"
		}
	}
	e.add(path, finding.RuleListType, message)
}

func (e schemaErrors) show(v any) string { return finding.Describe(v, e.resource.Secret()) }

func size(v any) int { return (&finding.Value{Raw: v}).Size() }

// bound returns a limit of a number in words.
func bound(detail string) string {
	for _, words := range [...][2]string{
		{"should be greater than or equal to ", "at least "}, {"should be less than or equal to ", "at most "},
		{"should be greater than ", "more than "}, {"should be less than ", "less than "},
	} {
		if limit, ok := strings.CutPrefix(detail, words[0]); ok {
			return words[1] + limit
		}
	}
	return detail
}

// expectedType returns the type that a schema requires, in words.
func expectedType(s *structural.Structural, kind string) string {
	if s != nil && s.XIntOrString {
		return "an integer or a string"
	}
	if s != nil && s.Type != "" {
		kind = s.Type
	}
	return cmp.Or(finding.TypeName(kind), kind)
}

// alternatives returns in words what a schema requires that lets one choose. The argument detail
// has the keyword of the choice.
func alternatives(s *structural.Structural, detail string) string {
	exactly := strings.Contains(detail, "(oneOf)")
	if strings.Contains(detail, "(not)") {
		return "is of a form that its schema excludes"
	}
	if s == nil || s.ValueValidation == nil {
		return "fits none of the alternatives of its schema"
	}
	choices := s.ValueValidation.AnyOf
	if exactly {
		choices = s.ValueValidation.OneOf
	}
	switch names := fieldsOf(choices); {
	case len(names) == 0:
		return "fits none of the alternatives of its schema"
	case exactly:
		return "needs exactly one of " + finding.Join(names)
	default:
		return "needs " + finding.Join(names)
	}
}

// fieldsOf returns the fields that choices require, sorted. It returns nil if a choice requires
// nothing.
func fieldsOf(choices []structural.NestedValueValidation) (names []string) {
	for _, c := range choices {
		if len(c.Required) == 0 {
			return nil
		}
		names = append(names, strings.Join(c.Required, " with "))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isChoice reports whether only an alternative requires the field at a path: the library reports
// the alternative that fits best beside the message that names them all.
func (e schemaErrors) isChoice(path object.Path) bool {
	last := max(0, len(path)-1)
	s, _ := schemaAt(e.schema, path[:last])
	if s == nil || s.ValueValidation == nil || last == len(path) {
		return false
	}
	requires := func(c structural.NestedValueValidation) bool { return slices.Contains(c.Required, path[last].Name) }
	v := s.ValueValidation
	if slices.Contains(v.Required, path[last].Name) || slices.ContainsFunc(v.AllOf, requires) {
		return false
	}
	for _, choices := range [][]structural.NestedValueValidation{v.AnyOf, v.OneOf} {
		if len(fieldsOf(choices)) > 0 && slices.ContainsFunc(choices, requires) {
			return true
		}
	}
	return false
}
