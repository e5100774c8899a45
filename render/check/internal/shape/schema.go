// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/render/check/internal/structural"
)

// Schema judges values by a structural schema. It is made by [New] and safe
// for concurrent use; the structural schema must not change meanwhile.
type Schema struct {
	root    *structural.Structural
	formats Formats
}

// New makes a Schema of a structural schema that [structural.Faults]
// finds nothing wrong with.
func New(s *structural.Structural) *Schema { return &Schema{root: s} }

// Validate judges v and returns what is wrong with it, sorted, with paths below
// path. Values are of the types that JSON decodes to: nil, bool, int64, float64,
// string, []any and map[string]any.
func (s *Schema) Validate(path *field.Path, v any) field.ErrorList {
	return judgeAt(&judge{formats: &s.formats}, path, v, s.root)
}

// judgeAt runs a judge over one value.
func judgeAt(j *judge, path *field.Path, v any, s *structural.Structural) field.ErrorList {
	r := j.value(v, viewOf(s, j.raw))
	if len(r.errs) == 0 {
		return nil
	}
	if path != nil {
		for _, e := range r.errs {
			e.Field = path.String() + prefixed(e.Field)
		}
	}
	slices.SortFunc(r.errs, func(a, b *field.Error) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(string(a.Type), string(b.Type)), strings.Compare(a.Detail, b.Detail))
	})
	return r.errs
}

// prefixed is a path to come after another one.
func prefixed(path string) string {
	if path == "" || path[0] == '[' {
		return path
	}
	return "." + path
}

// view is a schema of either of the two forms that structural schemas consist
// of: the spine, and the value validations below allOf and its like.
type view struct {
	spine    *structural.Structural // nil for a nested value validation
	nested   *structural.NestedValueValidation
	values   *structural.ValueValidation // nil where there are none
	types    types
	nullable bool
	raw      bool
}

// viewOf is the view of a schema of the spine.
func viewOf(s *structural.Structural, raw bool) view {
	v := view{spine: s, values: s.ValueValidation, types: types{first: s.Type}, nullable: s.Nullable, raw: raw}
	if s.XIntOrString && !raw {
		v.types = types{first: "integer", second: "string"}
	}
	return v
}

// nestedView is the view of a nested value validation.
func nestedView(n *structural.NestedValueValidation, raw bool) view {
	return view{
		nested: n, values: &n.ValueValidation, types: types{first: n.ForbiddenGenerics.Type},
		nullable: n.ForbiddenGenerics.Nullable, raw: raw,
	}
}

// items is the schema of the items of a list.
func (v view) items() (view, bool) {
	switch {
	case v.spine != nil && v.spine.Items != nil:
		return viewOf(v.spine.Items, v.raw), true
	case v.nested != nil && v.nested.Items != nil:
		return nestedView(v.nested.Items, v.raw), true
	}
	return view{}, false
}

// property is the schema of the member called name.
func (v view) property(name string) (view, bool) {
	if v.spine != nil {
		if s, ok := v.spine.Properties[name]; ok {
			return viewOf(&s, v.raw), true
		}
		return view{}, false
	}
	if n, ok := v.nested.Properties[name]; ok {
		return nestedView(&n, v.raw), true
	}
	return view{}, false
}

// additional is the schema of the members that have none of their own. closed
// says that there must be no such members.
func (v view) additional() (sub view, ok, closed bool) {
	switch {
	case v.spine != nil && v.spine.AdditionalProperties != nil:
		if s := v.spine.AdditionalProperties.Structural; s != nil {
			return viewOf(s, v.raw), true, false
		}
		return view{}, false, !v.spine.AdditionalProperties.Bool
	case v.nested != nil && v.nested.AdditionalProperties != nil && !v.raw:
		return nestedView(v.nested.AdditionalProperties, v.raw), true, false
	}
	return view{}, false, false
}

// types is the types that a schema admits: none, one, or for
// x-kubernetes-int-or-string two.
type types struct{ first, second string }

func (t types) none() bool { return t.first == "" }

func (t types) has(kind string) bool { return kind != "" && (t.first == kind || t.second == kind) }

// only is the type where there is just one.
func (t types) only() string {
	if t.second != "" {
		return ""
	}
	return t.first
}

// String writes the types as the server does: integer,string.
func (t types) String() string {
	if t.second != "" {
		return t.first + "," + t.second
	}
	return t.first
}
