// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

// everyPair is how many pairs of scalars there are for one that is compared; 1 takes 15 seconds.
const everyPair = 5

// Scalars are compared with others: where the verdict is that the second takes
// all that the first took, it takes each sample that the first took.
func TestScalarsAreCompared(t *testing.T) {
	e, g := inprocess.New(inprocess.Options{}), newGenerator(0)
	texts := slices.DeleteFunc(slices.Concat(families()[:3]...), func(text string) bool { return strings.Contains(text, "min") })
	compatible, alarms, pairs := 0, 0, 0
	for i, a := range texts {
		for j, b := range texts {
			if (7*i+j)%everyPair != 0 {
				continue
			}
			pairs++
			changes, err := compare(t, e, echo("old", optional(a)), echo("new", optional(b)))
			require.NoError(t, err)
			refused := slices.DeleteFunc(slices.Clone(g.samplesOf(a)), func(s any) bool {
				return slices.ContainsFunc(g.samplesOf(b), func(o any) bool { return fmt.Sprintf("%T%v", o, o) == fmt.Sprintf("%T%v", s, s) })
			})
			switch {
			case len(changes) == 0 || changes[0].Level == evaluate.LevelMinor:
				compatible++
				require.Empty(t, refused, "%s -> %s: %v", a, b, changes)
			case changes[0].Level == evaluate.LevelMajor && len(refused) == 0:
				alarms++
			}
		}
	}
	t.Logf("%d pairs: %d compatible, all rightly; %d major without a sample that is refused", pairs, compatible, alarms)
	require.Greater(t, compatible, pairs/10)
}

// optional is a schema of one optional scalar, with the field that it may depend on.
func optional(text string) *shape {
	return &shape{kind: "struct", fields: []*field{
		{name: "a", mark: "?", shape: &shape{kind: "scalar", text: text}},
		{name: "min", shape: &shape{kind: "scalar", text: "int | *1"}},
	}}
}
