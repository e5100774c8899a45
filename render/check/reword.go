// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/render/check/internal/structural"
	"github.com/ropewalk/ropewalk/render/object"
)

// reword turns what the libraries of Kubernetes say of a custom resource into
// what this package would say.
func reword(a *at, c *compiled, content object.Object, p *field.Error) {
	path, value := locate(map[string]any(content), p.Field)
	add := func(rule, message string) *Finding {
		f := a.fail(rule, "%s", message)
		f.Path = path
		return f
	}
	s, _ := schemaAt(c.schema, path)
	switch p.Type {
	case field.ErrorTypeRequired:
		add(RuleRequired, "is required")
	case field.ErrorTypeTypeInvalid:
		f := add(RuleSchema, "expected "+expectedType(s, p.Detail)+", found "+typed(value, a.w.secret))
		f.Hint = typeHint(s, value)
	case field.ErrorTypeNotSupported:
		known := supported(p.Detail)
		f := add(RuleEnum, "expected "+list(known)+", found "+describe(value, a.w.secret))
		if t, ok := value.(string); ok {
			if best := nearest(t, known); best != "" {
				f.Hint = "did you mean \"" + best + "\"?"
			}
		}
	case field.ErrorTypeDuplicate:
		add(RuleListType, "stands in the list already")
	case field.ErrorTypeTooLong, field.ErrorTypeTooMany:
		add(RuleSize, oneLine(p.Detail))
	default:
		rule, message := invalid(s, p)
		if message == "" {
			return
		}
		if !strings.Contains(message, "found") && !isMap(value) && value != nil {
			message += ", found " + describe(value, a.w.secret)
		}
		add(rule, message)
	}
}

func isMap(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// expectedType is what a schema wants, in words.
func expectedType(s *structural.Structural, detail string) string {
	if s != nil {
		if s.XIntOrString {
			return "an integer or a string"
		}
		if name := typeName(s.Type); name != "" {
			return name
		}
	}
	_, kind, ok := strings.Cut(detail, "must be of type ")
	if ok {
		kind, _, _ = strings.Cut(kind, ":")
		if name := typeName(kind); name != "" {
			return name
		}
		return kind
	}
	return "another type"
}

func typeName(kind string) string {
	switch kind {
	case "object":
		return "a map"
	case "array":
		return "a list"
	case "string":
		return "a string"
	case "integer":
		return "an integer"
	case "number":
		return "a number"
	case "boolean":
		return "true or false"
	}
	return ""
}

// typeHint is what to do about a number in quotes and its like.
func typeHint(s *structural.Structural, value any) string {
	if s == nil {
		return ""
	}
	switch v := value.(type) {
	case int64, float64, bool:
		if s.Type == "string" {
			return "quote it: \"" + describe(v, false) + "\""
		}
	case string:
		number := v != "" && strings.Trim(v, "0123456789") == ""
		if (s.Type == "integer" || s.Type == "number") && number || s.Type == "boolean" && (v == "true" || v == "false") {
			return "write it without quotes"
		}
	}
	return ""
}

// supported reads the values out of: supported values: "a", "b".
func supported(detail string) []string {
	_, text, _ := strings.Cut(detail, "supported values: ")
	var out []string
	for text != "" {
		text = strings.TrimLeft(text, ", ")
		quoted := strings.HasPrefix(text, "\"")
		if !quoted {
			break
		}
		value, rest, ok := strings.Cut(text[1:], "\"")
		if !ok {
			break
		}
		out, text = append(out, value), rest
	}
	return out
}

// invalid words what has no type of its own. An empty message means that
// another mistake says the same.
func invalid(s *structural.Structural, p *field.Error) (rule, message string) {
	detail := oneLine(p.Detail)
	for _, marker := range [...]string{"must validate one and only one schema (oneOf)", "must validate at least one schema (anyOf)", "must validate all the schemas (allOf)", "must not validate the schema (not)"} {
		if strings.Contains(detail, marker) {
			return RuleExclusive, alternatives(s, marker)
		}
	}
	switch {
	case strings.HasPrefix(detail, "should match '"):
		pattern := strings.TrimSuffix(strings.TrimPrefix(detail, "should match '"), "'")
		return RuleFormat, "expected a text that matches " + pattern
	case strings.HasPrefix(detail, "should be greater than or equal to "):
		return RuleRange, "expected at least " + strings.TrimPrefix(detail, "should be greater than or equal to ")
	case strings.HasPrefix(detail, "should be less than or equal to "):
		return RuleRange, "expected at most " + strings.TrimPrefix(detail, "should be less than or equal to ")
	case strings.HasPrefix(detail, "should be greater than "):
		return RuleRange, "expected more than " + strings.TrimPrefix(detail, "should be greater than ")
	case strings.HasPrefix(detail, "should be less than "):
		return RuleRange, "expected less than " + strings.TrimPrefix(detail, "should be less than ")
	case strings.HasPrefix(detail, "should be at least "):
		return RuleSize, "expected at least " + strings.TrimSuffix(strings.TrimPrefix(detail, "should be at least "), " long")
	case strings.HasPrefix(detail, "should have at least "):
		return RuleSize, "expected at least " + strings.TrimPrefix(detail, "should have at least ")
	case strings.HasPrefix(detail, "must be of type "):
		kind, _, _ := strings.Cut(strings.TrimPrefix(detail, "must be of type "), ":")
		return RuleFormat, "expected a text of the form " + kind
	}
	return RuleFormat, detail
}

// alternatives words a schema that lets one choose.
func alternatives(s *structural.Structural, marker string) string {
	exactly := strings.Contains(marker, "(oneOf)")
	if s == nil || s.ValueValidation == nil {
		return "fits none of the alternatives of its schema"
	}
	choices := s.ValueValidation.AnyOf
	if exactly {
		choices = s.ValueValidation.OneOf
	}
	var names []string
	for _, c := range choices {
		if len(c.Required) == 0 {
			names = nil
			break
		}
		names = append(names, strings.Join(c.Required, " with "))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case strings.Contains(marker, "(not)"):
		return "is of a form that its schema excludes"
	case len(names) == 0:
		return "fits none of the alternatives of its schema"
	case exactly:
		return "needs exactly one of " + join(names)
	default:
		return "needs " + join(names)
	}
}

// oneLine is a text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
