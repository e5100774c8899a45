// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeKeepsIntegersAsIntegers(t *testing.T) {
	o, err := Decode([]byte(`{"a":1,"b":1.5,"c":[9007199254740993,{"d":-3}],"e":18446744073709551616}`))
	require.NoError(t, err)
	require.Equal(t, int64(1), o["a"])
	require.InDelta(t, 1.5, o["b"], 0)
	require.Equal(t, int64(9007199254740993), o.List("c")[0])
	require.InDelta(t, 1.8446744073709552e19, o["e"], 0)
}

func TestDecodeRefusesWhatIsNoObject(t *testing.T) {
	for _, text := range []string{``, `[]`, `{} {}`, `{"a":1e999}`, `{`} {
		_, err := Decode([]byte(text))
		require.Error(t, err, text)
	}
}

func TestObjectNamesItself(t *testing.T) {
	o, err := Decode([]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","labels":{"a":"b","n":1}}}`))
	require.NoError(t, err)
	require.Equal(t, Ref{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, o.Ref())
	require.Equal(t, "Deployment.apps shop/web", o.Ref().String())
	require.Equal(t, "Deployment.apps", o.Ref().GroupKind())
	require.Equal(t, "v1", o.Version())
	require.Equal(t, map[string]string{"a": "b"}, o.Labels())

	core := Object{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
	require.Equal(t, "Namespace shop", core.Ref().String())
	require.Empty(t, core.Group())
	require.Equal(t, "v1", core.Version())
}

func TestCloneSharesNothing(t *testing.T) {
	o := Object{"metadata": map[string]any{"name": "a"}, "list": []any{map[string]any{"x": int64(1)}}}
	c := o.Clone()
	c.Annotate("k", "v")
	c.List("list")[0].(map[string]any)["x"] = int64(2)
	require.Equal(t, Object{"metadata": map[string]any{"name": "a"}, "list": []any{map[string]any{"x": int64(1)}}}, o)
	require.Equal(t, map[string]string{"k": "v"}, c.Annotations())
}

func TestAnnotateMakesMetadata(t *testing.T) {
	o := Object{}
	o.Annotate("a", "b")
	require.Equal(t, map[string]string{"a": "b"}, o.Annotations())
}

func TestPathRoundTrip(t *testing.T) {
	tests := []struct {
		path Path
		text string
	}{
		{nil, ""},
		{Fields("spec", "replicas"), "spec.replicas"},
		{Path{Field("spec"), Field("ports"), Index(2), Field("name")}, "spec.ports[2].name"},
		{Path{Field("metadata"), Field("annotations"), Field("a.b/c")}, `metadata.annotations["a.b/c"]`},
		{Path{Field(""), Index(0)}, `[""][0]`},
		{Path{Field(`q"]`)}, `["q\"]"]`},
	}
	for _, tt := range tests {
		require.Equal(t, tt.text, tt.path.String())
		require.Equal(t, tt.path, ParsePath(tt.text), tt.text)
	}
}

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{"a.b[0]", `a["x.y"]`, "[", "[x]", `["`, "a..b", "[-1]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := ParsePath(text)
		require.Equal(t, p, ParsePath(p.String()), "what is written is read again as it was")
	})
}

func TestPosOrdersNowhereLast(t *testing.T) {
	require.Negative(t, Pos{File: "a", Line: 2}.Compare(Pos{File: "a", Line: 10}))
	require.Negative(t, Pos{File: "z"}.Compare(Pos{}))
	require.Positive(t, Pos{}.Compare(Pos{File: "a"}))
	require.Zero(t, Pos{File: "a", Line: 1, Column: 2}.Compare(Pos{File: "a", Line: 1, Column: 2}))
	require.Equal(t, "a.yaml:3:5", Pos{File: "a.yaml", Line: 3, Column: 5}.String())
	require.Equal(t, "--set a=b", Pos{File: "--set a=b"}.String())
}

func TestAWarningAboutAValueThatIsRefusedIsLeftOut(t *testing.T) {
	at := func(column int, path string, severity Severity) *Error {
		return &Error{Stage: StageSpec, Severity: severity, Pos: Pos{File: "a", Line: 1, Column: column}, Path: path, Err: errors.New("x")}
	}
	for _, c := range []struct {
		name  string
		error *Error
		kept  bool
	}{
		{"of the same path", at(2, "a.b", SeverityError), false},
		{"of the text itself", at(2, "", SeverityError), false},
		{"of another path", at(2, "a", SeverityError), true},
		{"of another place", at(3, "a.b", SeverityError), true},
		{"that is a warning too", at(2, "", SeverityWarning), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			warning := at(2, "a.b", SeverityWarning)
			require.Equal(t, c.kept, slices.Contains(Errors{warning, c.error}.Sorted(), warning))
		})
	}
	file := &Error{Stage: StageSpec, Severity: SeverityWarning, Pos: Pos{File: "a"}, Err: errors.New("y")}
	require.Len(t, Errors{file, {Stage: StageSpec, Pos: Pos{File: "a"}, Err: errors.New("x")}}.Sorted(), 2, "a file is no value")
}

func TestErrorsAreSortedAndSaidOnce(t *testing.T) {
	at := func(file string, line int, text string) *Error {
		return &Error{Stage: StageSpec, Pos: Pos{File: file, Line: line}, Err: errors.New(text)}
	}
	es := Errors{at("b", 1, "x"), at("a", 9, "x"), {Stage: StageSpec, Err: errors.New("lost")}, at("a", 2, "x"), at("b", 1, "x")}
	require.Equal(t, "a:2: spec: x\na:9: spec: x\nb:1: spec: x\nspec: lost", es.Sorted().Error())
}

func TestErrorsFailOnlyWithAFailure(t *testing.T) {
	warning := &Error{Severity: SeverityWarning, Err: errors.New("w")}
	require.NoError(t, Errors{warning}.Err())
	cause := errors.New("e")
	err := Errors{warning, {Err: cause}}.Err()
	require.ErrorIs(t, err, cause)
	require.Len(t, AsErrors(fmt.Errorf("wrapped: %w", err), StageEmit), 2)
	require.Equal(t, StageEmit, AsErrors(cause, StageEmit)[0].Stage)
	require.Empty(t, AsErrors(nil, StageEmit))
}

func TestNamesOfOthersStayInTheirLine(t *testing.T) {
	e := &Error{
		Stage: StageCheck, Pos: Pos{File: "a\nb.yaml", Line: 1}, Node: "web/config\nmap", Path: "data.x\u202ey", Policy: "p\tq",
		Err: errors.New("wrong:\n  twice"),
	}
	require.Equal(t, `a\nb.yaml:1: check: policy p\tq: web/config\nmap: data.x\u202ey: wrong:`+"\n  twice", e.Error())
	require.Equal(t, `ConfigMap a\nb/c\x1b`, Ref{Kind: "ConfigMap", Namespace: "a\nb", Name: "c\x1b"}.String())
}

func TestErrorIsData(t *testing.T) {
	e := &Error{
		Stage: StageCheck, Pos: Pos{File: "a.yaml", Line: 1, Column: 2}, Path: "spec.x", Node: "api/web", Policy: "p",
		Err: errors.New("is wrong"), Hint: "mend it", Notes: []Note{{Pos{File: "m.cue", Line: 7}, "here"}},
	}
	require.Equal(t, "a.yaml:1:2: check: policy p: api/web: spec.x: is wrong (mend it)", e.Error())
	data, err := json.Marshal(e)
	require.NoError(t, err)
	require.JSONEq(t, `{"stage":"check","severity":"error","pos":{"file":"a.yaml","line":1,"column":2},"path":"spec.x",
		"node":"api/web","policy":"p","message":"is wrong","hint":"mend it","notes":[{"pos":{"file":"m.cue","line":7},"text":"here"}]}`, string(data))
}

func TestDataIsKeptByDefault(t *testing.T) {
	claim := Apply{}.WithDefaults(Ref{Kind: "PersistentVolumeClaim"})
	require.Equal(t, DeletionOrphan, claim.Deletion)
	require.False(t, *claim.Prune)

	web := Apply{}.WithDefaults(Ref{Group: "apps", Kind: "Deployment"})
	require.Equal(t, DeletionDelete, web.Deletion)
	require.True(t, *web.Prune)

	yes := true
	asked := Apply{Deletion: DeletionDelete, Prune: &yes}.WithDefaults(Ref{Kind: "Namespace"})
	require.Equal(t, DeletionDelete, asked.Deletion)
	require.True(t, *asked.Prune)
}

func TestIDHasTwoHalves(t *testing.T) {
	id := MakeID("api", "deployment")
	require.Equal(t, "api", id.Spec())
	require.Equal(t, "deployment", id.Node())
}

func ExamplePath_String() {
	fmt.Println(Fields("spec", "ports").Append(Index(0), Field("name")))
	// Output: spec.ports[0].name
}

// An alias leads to the position of its anchor; two fields that one map lacks are two mistakes.
func TestAMistakeOfAnAnchorIsReportedOnce(t *testing.T) {
	t.Parallel()
	of := func(path string, node ID, column int) *Error {
		return &Error{Stage: StageSpec, Pos: Pos{File: "a", Line: 1, Column: column}, Path: path, Node: node, Err: errors.New("missing")}
	}
	require.Len(t, Errors{of("services.a.image", "", 3), of("services.b.image", "", 3), of("services.c.user", "", 3)}.Sorted(), 2)
	require.Len(t, Errors{of(`labels["a.b"]`, "", 3), of(`labels["a.c"]`, "", 3)}.Sorted(), 2)
	require.Len(t, Errors{of("a.image", "", 3), of("b.image", "", 4)}.Sorted(), 2)
	require.Len(t, Errors{of("a.image", "x/a", 3), of("b.image", "x/b", 3)}.Sorted(), 2, "two objects of a module")
	require.Len(t, Errors{of("a.image", "", 0), of("b.image", "", 0)}.Sorted(), 2, "a file is no value")
}
