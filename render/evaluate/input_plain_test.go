// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A linked module gets its input as plain data where that is possible, and as
// syntax otherwise; both must mean the same, the order of fields included.
func TestAnInputMeansTheSameAsDataAndAsSyntax(t *testing.T) {
	for name, text := range map[string]string{
		"names":    `{any: {_hidden: 1, "#Def": 2, "a b": 3, "": 4, "ä": 5, z: {y: {x: w}}, "\"": "\\(x)"}}`,
		"order":    `{any: {z: 1, a: 2, m: 3, B: 4, "1": 5, "10": 6, "2": 7}}`,
		"scalars":  `{any: {t: true, f: false, n: null, i: -3, zero: 0, s: "", u: "\u2028\t$"}}`,
		"lists":    `{any: {l: [], m: [1, [2, {a: b}], null, x], n: [[]]}}`,
		"empty":    `{any: {}}`,
		"floats":   `{any: {f: 0.1, g: 2.0, h: 1e3, i: 1}}`,
		"large":    `{any: {i: 9223372036854775807, j: 9223372036854775808, k: -9223372036854775808}}`,
		"defaults": `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			req := inline(`package m

ropewalk: apiVersion: "v1alpha1"
#Input: any: {...} | *{given: false}
input: #Input
graph: nodes: a: object: {
	apiVersion: "v1", kind: "ConfigMap", metadata: name: "a"
	any: input.any
	names: [for k, _ in input.any {k}]
	kinds: [for _, v in input.any {[if (v & int) != _|_ {"int"}, if (v & float) != _|_ {"float"}, "other"][0]}]
}
`)
			req.Input = parseYAML(t, "input.yaml", text)
			written := NewInProcess(Options{})
			written.form = formWritten
			got, err := NewInProcess(Options{}).Evaluate(t.Context(), req)
			require.NoError(t, err)
			want, err := written.Evaluate(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}
