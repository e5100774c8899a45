// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func decoded(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	out := map[string]any{}
	require.NoError(t, d.Decode(&out))
	return out
}

func TestPositionsOfAStructuredDocumentAreItsFields(t *testing.T) {
	s := NewStructured("web.yaml", decoded(t, `{"apiVersion": "ropewalk.dev/v1alpha1", "kind": "Transform", "metadata": {"name": "Web"}, "spec": {
		"cueRef": {"type": "inline", "ref": "package m\n\nx: 1\n"}, "adopt": "Nevr", "tags": {"a": [1]}, "input": {"n": 99999999999999999999, "m": 1e2}}}`))
	docs, err := Parse([]File{s.File})
	var got []string
	for _, e := range object.AsErrors(err, object.StageSpec) {
		require.Equal(t, "web.yaml", e.Pos.File)
		got = append(got, s.PathAt(e.Pos)+": "+e.Err.Error())
	}
	require.ElementsMatch(t, []string{
		`metadata.name: "Web" may hold only a-z, 0-9 and -`,
		`spec.adopt: "Nevr" is not known: expected Never, TakeOwnership, Mirror`,
		`spec.tags.a: expected a string, got a list`,
		`spec.input.n: integer 99999999999999999999 does not fit into 64 bits`,
	}, got)
	require.Len(t, docs.Transforms, 1)
	require.JSONEq(t, `{"n": 0, "m": 100.0}`, string(docs.Transforms[0].Input.JSON()))
	at := docs.Transforms[0].CueRef.RefPos
	at.Line += 2
	at.Column = 4
	require.Equal(t, "spec.cueRef.ref:3:4", s.PathAt(at))
}

func TestAStructuredDocumentIsOfBoundedDepth(t *testing.T) {
	deep := decoded(t, `{"a": `+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}`)
	_, err := ParseValue(NewStructured("x", deep).File)
	require.ErrorContains(t, err, "nested more than 128 deep")
}

func TestAStructuredDocumentIsOfBoundedSize(t *testing.T) {
	large := decoded(t, `{"a": [1`+strings.Repeat(",1", maxStructured)+`], "b": {"c": 1}}`)
	_, err := ParseValue(NewStructured("x", large).File)
	require.ErrorContains(t, err, "holds more than 100000 values")
	var errs object.Errors
	require.ErrorAs(t, err, &errs)
	require.Len(t, errs, 1)
	fits := NewStructured("x", decoded(t, `{"a": [1`+strings.Repeat(",1", maxStructured-10)+`]}`))
	v, err := ParseValue(fits.File)
	require.NoError(t, err)
	require.Equal(t, "a[77]", fits.PathAt(v.Members[0].Value.Items[77].Pos))
}

func FuzzAStructuredDocumentIsReadAsText(f *testing.F) {
	f.Add(`{"a": [1, 2.50, 1e3, -0, {"b": "x\ny\n"}], "c": "\tq\n\n r\n\n", "d": {}, "e": [], "f": null, "g h": "|2"}`)
	f.Add(`{"a": [[["x\n y"]], "é\u0000\n\u2028", "-\n- a: b\n#"], "": "\n\n", "true": "no", "x": 12345678901234567890, "y": 1e999}`)
	f.Fuzz(func(t *testing.T, text string) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var doc map[string]any
		if d.Decode(&doc) != nil || len(doc) == 0 {
			t.Skip()
		}
		canonical, err := json.Marshal(doc)
		require.NoError(t, err)
		want, err := ParseValue(File{Name: "x", Data: canonical})
		if err != nil {
			t.Skip() // A number or a key that no document may have.
		}
		got, err := ParseValue(NewStructured("x", doc).File)
		require.NoError(t, err)
		require.Equal(t, string(want.JSON()), string(got.JSON()))
	})
}
