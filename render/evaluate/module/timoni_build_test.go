// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func TestValuesAreMergedInTheOrderOfTimoni(t *testing.T) {
	tests := map[string]struct{ base, over, want string }{
		"outermost, the module's fields come last": {`{b: 1, a: 2}`, `{z: 1, c: 2}`, `{"z":1,"c":2,"a":2,"b":1}`},
		"and from the first common one by name":    {`{d: 1, a: 2}`, `{z: 1, y: 1, d: 3, c: 2}`, `{"z":1,"y":1,"c":2,"d":3,"a":2}`},
		"below, where their names belong":          {`{m: {k: 1, a: 1}}`, `{m: {z: 1, c: 2}}`, `{"m":{"a":1,"k":1,"z":1,"c":2}}`},
		"below, one alone comes last":              {`{m: {a: 1}}`, `{m: {z: 1, c: 2}}`, `{"m":{"z":1,"c":2,"a":1}}`},
		"without values the module's are sorted":   {`{z: 1, a: {z: 1, a: 1}}`, `{}`, `{"a":{"z":1,"a":1},"z":1}`},
		"lists are merged by place":                {`{l: [{a: 1, n: 1}, 2]}`, `{l: [{n: 3}, 4]}`, `{"l":[{"a":1,"n":3},4]}`},
		"an empty list gives way":                  {`{l: []}`, `{l: [{n: 3}]}`, `{"l":[{"n":3}]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, written(mergeAsTimoni(read(tt.base), read(tt.over), true)))
		})
	}
}

// CUE itself is the measure: Timoni fills the fields of the module's values into those of
// the user, one after the other.
func TestTheOrderOfMergedValuesIsThatOfFillsInCUE(t *testing.T) {
	var fill func(base, over cue.Value) cue.Value
	fill = func(base, over cue.Value) cue.Value {
		if base.IncompleteKind() != cue.StructKind {
			return over
		}
		out := over
		fields, err := base.Fields()
		require.NoError(t, err)
		for fields.Next() {
			at, value := cue.MakePath(fields.Selector()), fields.Value()
			if own := over.LookupPath(at); own.Exists() {
				value = fill(value, own)
			}
			out = out.FillPath(at, value)
		}
		return out
	}
	for seed := range int64(400) {
		r := rand.New(rand.NewSource(seed))
		base, over := random(r, 4, "1"), random(r, 4, "1")
		// One context, and no file names, as Timoni compiles them.
		c := cuecontext.New()
		filled := fill(c.CompileString(base), c.CompileString(over))
		if filled.Validate() != nil {
			continue // A field is a map in one of them and a number in the other.
		}
		// The result is text, which is compiled again.
		again := c.CompileString(fmt.Sprint(filled))
		require.Equal(t, written(readValue(again)), written(mergeAsTimoni(read(base), read(over), true)), "seed %d: %s over %s", seed, over, base)
	}
}

// random is a struct of up to five fields, some of them structs.
func random(r *rand.Rand, depth int, leaf string) string {
	if depth == 0 || depth < 4 && r.Intn(3) == 0 {
		return leaf
	}
	out := "{\n"
	for _, i := range r.Perm(8)[:r.Intn(6)] {
		out += fmt.Sprintf("%c: %s\n", 'a'+i, random(r, depth-1, leaf))
	}
	return out + "}"
}

func read(text string) object.Value { return readValue(cuecontext.New().CompileString(text)) }

// written is v as JSON with its members in their order.
func written(v object.Value) string {
	var parts []string
	if v.Kind == object.KindMap {
		for _, m := range v.Members {
			parts = append(parts, fmt.Sprintf("%q:%s", m.Name, written(m.Value)))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	if v.Kind == object.KindList {
		for _, item := range v.Items {
			parts = append(parts, written(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return v.Text
}
