// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// The results are those of score-k8s 0.15.0, but for what has no effect there.
func TestOverridesAreThoseOfScore(t *testing.T) {
	const document = `{"a":{"b":["x","y",{"c":"z"}],"d.e":"f","back\\slash":"g"},"n":null}`
	base, err := object.ReadJSON([]byte(document), object.Pos{File: "score.yaml", Line: 1, Column: 1})
	require.NoError(t, err)
	for _, c := range []struct{ name, arg, want, err string }{
		{"a name", "a.new=1", `{"a":{"b":["x","y",{"c":"z"}],"d.e":"f","back\\slash":"g","new":1},"n":null}`, ""},
		{"maps on the way are made", "p.q.r=text", `{"a":{"b":["x","y",{"c":"z"}],"d.e":"f","back\\slash":"g"},"n":null,"p":{"q":{"r":"text"}}}`, ""},
		{"null holds nothing yet", "n.o={x: [1]}", `{"a":{"b":["x","y",{"c":"z"}],"d.e":"f","back\\slash":"g"},"n":{"o":{"x":[1]}}}`, ""},
		{"an item", "a.b.0=--first", `{"a":{"b":["--first","y",{"c":"z"}],"d.e":"f","back\\slash":"g"},"n":null}`, ""},
		{"below an item", "a.b.2.c=w", `{"a":{"b":["x","y",{"c":"w"}],"d.e":"f","back\\slash":"g"},"n":null}`, ""},
		{"behind the last item", "a.b.-1=last", `{"a":{"b":["x","y",{"c":"z"},"last"],"d.e":"f","back\\slash":"g"},"n":null}`, ""},
		{"an escaped dot", `a.d\.e=h=i`, `{"a":{"b":["x","y",{"c":"z"}],"d.e":"h=i","back\\slash":"g"},"n":null}`, ""},
		{"an escaped backslash", `a.back\\slash=h`, `{"a":{"b":["x","y",{"c":"z"}],"d.e":"f","back\\slash":"h"},"n":null}`, ""},
		{"text in quotes", `a.d\.e="8"`, `{"a":{"b":["x","y",{"c":"z"}],"d.e":"8","back\\slash":"g"},"n":null}`, ""},
		{"no value deletes a member", `a.d\.e=`, `{"a":{"b":["x","y",{"c":"z"}],"back\\slash":"g"},"n":null}`, ""},
		{"null deletes an item", "a.b.1=null", `{"a":{"b":["x",{"c":"z"}],"d.e":"f","back\\slash":"g"},"n":null}`, ""},
		{"what is not there cannot be deleted", "a.bb.c=", document, `there is no a.bb to delete (known: b, `},
		{"an index behind the end", "a.b.3=x", document, `a.b has 3 items, so there is no item 3`},
		{"nothing is behind the end", "a.b.-1=", document, `a.b has 3 items, so there is no item -1`},
		{"a list has no names", "a.b.c=x", document, `a.b is a list, and "c" is not an index of it`},
		{"text has no members", `a.d\.e.f=x`, document, `a.d.e is a string, not a map or a list`},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := spec.ParseOverride(c.arg)
			require.NoError(t, err)
			got, err := o.Over(base)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
			require.JSONEq(t, c.want, string(got.JSON()))
			require.JSONEq(t, document, string(base.JSON()), "the input changed")
		})
	}
}

func TestOverridesThatCannotBeRead(t *testing.T) {
	for arg, want := range map[string]string{
		"a.b":     "has no =",
		"=x":      `"" is not a path`,
		"a..b=x":  `"a..b" is not a path`,
		"a.=x":    `"a." is not a path`,
		"a={":     "--override-property a: ",
		"a=\x00b": "--override-property",
	} {
		_, err := spec.ParseOverride(arg)
		require.Error(t, err, arg)
		require.ErrorContains(t, err, want)
	}
	o, err := spec.ParseOverride("api:a.b=c:d")
	require.NoError(t, err)
	require.Equal(t, "api", o.Spec)
	require.Equal(t, []string{"a", "b"}, o.Path)
	require.Equal(t, "c:d", o.Value.Text)
}
