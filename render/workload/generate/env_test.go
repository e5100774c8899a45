// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

func TestWhatKubernetesExpandsIsFoundInEveryForm(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []Piece
		want   string
	}{
		{"across two pieces", []Piece{lit("$"), lit("(B)")}, "x"},
		{"escaped", []Piece{lit("$$(B) $$")}, "$(B) $"},
		{"unknown, so that all stays", []Piece{lit("$(NOBODY) $$")}, "$(NOBODY) $$"},
		{"beside one that nobody knows", []Piece{lit("$(NOBODY) $(B)")}, "$(NOBODY) x"},
		{"left open", []Piece{lit("$(B")}, "$(B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plain()
			withVariables(&r, named("A", c.pieces...), named("B", lit("x")))
			input, errs := Input(r)
			require.NoError(t, errs.Err())
			require.Equal(t, c.want, cluster{}.run(t, input)["web"].env["A"])
		})
	}
}

func TestNoTextOfAnAuthorMeetsTheNameOfAHelper(t *testing.T) {
	const helper = "ROPEWALK_SECRET_DB__USERNAME"
	for name, change := range map[string]func(r *Resolved){
		"a variable":  func(r *Resolved) { withVariables(r, named("A B", ref(dbUser())), named(helper, lit("x"))) },
		"a text":      func(r *Resolved) { withVariables(r, named("A B", ref(dbUser()), lit("$(C)$("+helper+")")), named("C")) },
		"a command":   func(r *Resolved) { r.Containers[0].Spec.Command = []score.Text{says("$("+helper+")", 7)} },
		"an argument": func(r *Resolved) { r.Containers[0].Spec.Args = []score.Text{says("x$("+helper+")", 7)} },
	} {
		t.Run(name, func(t *testing.T) {
			r := plain()
			withVariables(&r, named("A B", ref(dbUser())))
			change(&r)
			input, errs := Input(r)
			require.NoError(t, errs.Err())
			made, _ := input.Lookup(object.Fields("secrets", "secrets", "template"))
			require.Len(t, made.Members, 1)
			require.Equal(t, helper+"_", made.Members[0].Name)
		})
	}
}

func FuzzALiteralComesOutOfATemplateAsItIs(f *testing.F) {
	for _, s := range []string{"{", "{{", "{{{ .a }}", "{{- /* */ -}}", "}}", "`\"'$\\", "\r\n", "{{\"{{\"}}", "é\x00\xff"} {
		f.Add(s, s, true)
	}
	f.Fuzz(func(t *testing.T, before, after string, escape bool) {
		var x externalSecret
		s := Secret{Name: "1a"}
		pieces := Join([]Piece{lit(before), {Secret: &s, Escape: escape}, lit(after)})
		x.addTemplate("KEY", object.Pos{}, pieces, object.Pos{})
		got := executeTemplate(t, x.templates[0].Value.Text, map[string]string{"1a": "v"})
		require.True(t, bytes.Equal([]byte(before+"v"+after), []byte(got)), "%q", got)
	})
}

func FuzzALiteralComesOutOfAComposedTextAsItIs(f *testing.F) {
	for _, s := range []string{"$", "$$", "$(", "$(A", "$(A)", "$$(A)", ")", "$($(A))", "$$$(A)$"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		e := &environment{c: &Container{}}
		s := ref(&Secret{Name: "s", Reference: resource.Reference{Kubernetes: true}})
		known := func(name string) (string, bool) {
			v, ok := map[string]string{"A": "$(a)", e.addHelper(s): "$(secret)"}[name]
			return v, ok
		}
		literal, _ := compose([]Piece{lit(before), s, lit(after)}, false, e.addHelper)
		require.Equal(t, before+"$(secret)"+after, kubernetesExpand(literal, known))
		if strings.Contains(before+after, "ROPEWALK_SECRET_") {
			return
		}
		expanded, _ := compose([]Piece{lit(before), s, lit(after)}, true, e.addHelper)
		require.Equal(t, kubernetesExpand(before, known)+"$(secret)"+kubernetesExpand(after, known), kubernetesExpand(expanded, known))
	})
}
