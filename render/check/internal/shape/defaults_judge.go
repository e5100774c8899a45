// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/render/check/internal/grammar"
	"github.com/ropewalk/ropewalk/render/check/internal/structural"
	"github.com/ropewalk/ropewalk/render/object"
)

// RuleFunc judges v by the CEL rules of s and of its parts. root says that s
// describes a resource.
type RuleFunc func(path *field.Path, s *structural.Structural, root bool, v any) field.ErrorList

// JudgeDefaults judges the defaults of a schema as the server does when a
// CustomResourceDefinition comes: unknown fields, embedded resources, the schema,
// and rules where the rest is good. Paths lead into the schema.
func JudgeDefaults(s *structural.Structural, rules RuleFunc) field.ErrorList {
	d := defaultsJudge{formats: &Formats{}, rules: rules}
	return d.judge(nil, s, s, false)
}

type defaultsJudge struct {
	formats *Formats
	rules   RuleFunc
}

// judge walks s, which lies in the resource that root describes. inMeta says
// that s is apiVersion, kind or metadata of an embedded resource, where unknown
// fields are not the business of the schema.
func (d *defaultsJudge) judge(path *field.Path, s, root *structural.Structural, inMeta bool) (errs field.ErrorList) {
	if s == nil {
		return nil
	}
	if s.XEmbeddedResource {
		inMeta, root = false, s
	}
	if v := s.Default.Object; v != nil {
		errs = d.one(path.Child("default"), s, s == root, inMeta)
	}
	// The server forbids defaults below additionalProperties.
	errs = append(errs, d.judge(path.Child("items"), s.Items, root, inMeta)...)
	for _, name := range object.SortedKeys(s.Properties) {
		p := s.Properties[name]
		meta := inMeta || s.XEmbeddedResource && (name == "metadata" || name == "apiVersion" || name == "kind")
		errs = append(errs, d.judge(path.Child("properties").Key(name), &p, root, meta)...)
	}
	return errs
}

// one judges the default of s.
func (d *defaultsJudge) one(path *field.Path, s *structural.Structural, isRoot, inMeta bool) (errs field.ErrorList) {
	v := s.Default.Object
	if !inMeta {
		pruned := copied(v)
		structural.Prune(pruned, s, s.XEmbeddedResource)
		if !reflect.DeepEqual(pruned, v) {
			errs = append(errs, field.Invalid(path, v, "must not have unknown fields"))
		}
		if problems := embedded(path, v, s); len(problems) > 0 {
			return append(errs, problems...)
		}
	}
	if problems := judgeAt(&judge{formats: d.formats, raw: true}, path, v, s); len(problems) > 0 {
		return append(errs, problems...)
	}
	return append(errs, d.rules(path, s, isRoot, v)...)
}

// embedded wants the resources that v embeds to say what they are.
func embedded(path *field.Path, v any, s *structural.Structural) (errs field.ErrorList) {
	if s == nil {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		if s.XEmbeddedResource {
			errs = append(errs, identity(path, v)...)
		}
		for _, name := range object.SortedKeys(v) {
			if p, ok := s.Properties[name]; ok {
				errs = append(errs, embedded(path.Child(name), v[name], &p)...)
			} else if s.AdditionalProperties != nil {
				errs = append(errs, embedded(path.Key(name), v[name], s.AdditionalProperties.Structural)...)
			}
		}
	case []any:
		for i, part := range v {
			errs = append(errs, embedded(path.Index(i), part, s.Items)...)
		}
	}
	return errs
}

// identity judges apiVersion, kind and metadata of an embedded resource.
func identity(path *field.Path, v map[string]any) (errs field.ErrorList) {
	for _, name := range [...]string{"apiVersion", "kind"} {
		part, found := v[name]
		text, isText := part.(string)
		switch {
		case !found:
			errs = append(errs, field.Required(path.Child(name), ""))
		case !isText:
			errs = append(errs, field.Invalid(path.Child(name), part, "must be a string"))
		case text == "":
			errs = append(errs, field.Invalid(path.Child(name), part, "must not be empty"))
		case name == "apiVersion":
			if _, err := schema.ParseGroupVersion(text); err != nil {
				errs = append(errs, field.Invalid(path.Child(name), part, err.Error()))
			}
		default:
			if problems := grammar.HostLabel(strings.ToLower(text)); len(problems) > 0 {
				errs = append(errs, field.Invalid(path.Child(name), part, "may have mixed case, but should otherwise match: "+strings.Join(problems, ",")))
			}
		}
	}
	if meta, found := v["metadata"]; found {
		if _, isMap := meta.(map[string]any); !isMap && meta != nil {
			errs = append(errs, field.Invalid(path.Child("metadata"), meta, "must be a map"))
		}
	}
	return errs
}
