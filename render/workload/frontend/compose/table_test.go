// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/schema"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

// node is a part of the JSON schema of the Compose Specification.
type node struct {
	Ref                           string `json:"$ref"`
	Properties, PatternProperties map[string]node
	Defs                          map[string]node `json:"$defs"`
	OneOf, AnyOf, AllOf           []node
	Items                         *node
}

// A field of the specification that the table lacks would be refused in a file that is right.
func TestTheTableHasEveryFieldOfTheSpecification(t *testing.T) {
	var root node
	require.NoError(t, json.Unmarshal([]byte(schema.Schema), &root))
	var missing []string
	seen := 0
	compare(root, root, []document.Field{fileTable()}, "", func(at string, ok bool) {
		seen++
		if !ok {
			missing = append(missing, at)
		}
	})
	require.Greater(t, seen, 150)
	require.Empty(t, missing)
}

// compare tells of each field of n whether one of the shapes has it.
func compare(root, n node, shapes []document.Field, at string, tell func(at string, ok bool)) {
	if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		n = root.Defs[name]
	}
	for i := 0; i < len(shapes); i++ {
		shapes = append(shapes, shapes[i].Or...)
	}
	if slices.ContainsFunc(shapes, func(f document.Field) bool { return f.Kind == object.KindNone || f.Free }) {
		return // It may hold anything.
	}
	for _, other := range slices.Concat(n.OneOf, n.AnyOf, n.AllOf) {
		compare(root, other, shapes, at, tell)
	}
	below := func(pick func(document.Field) []document.Field) (out []document.Field) {
		for _, f := range shapes {
			out = append(out, pick(f)...)
		}
		return out
	}
	for name, own := range n.Properties {
		found := below(func(f document.Field) []document.Field {
			if i := slices.IndexFunc(f.Fields, func(o document.Field) bool { return o.Name == name }); i >= 0 {
				return f.Fields[i : i+1]
			}
			return nil
		})
		open := slices.ContainsFunc(shapes, func(f document.Field) bool { return f.Open })
		tell(at+"."+name, open || len(found) > 0)
		if len(found) > 0 {
			compare(root, own, found, at+"."+name, tell)
		}
	}
	each := func(kind object.Kind) []document.Field {
		return below(func(f document.Field) []document.Field {
			if f.Kind != kind || f.Each == nil {
				return nil
			}
			return []document.Field{*f.Each}
		})
	}
	for name, own := range n.PatternProperties {
		if items := each(object.KindMap); len(items) > 0 && name != "^x-" {
			compare(root, own, items, at+".*", tell)
		}
	}
	if items := each(object.KindList); n.Items != nil && len(items) > 0 {
		compare(root, *n.Items, items, at+"[]", tell)
	}
}
