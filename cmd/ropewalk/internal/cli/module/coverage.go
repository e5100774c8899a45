// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"context"
	"fmt"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/cases"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// coverage counts the inputs and alternatives that cases set, and lists the others, as data.
type coverage struct {
	Points  int     `json:"points"`
	Covered int     `json:"covered"`
	Percent int     `json:"percent"`
	Missing []point `json:"missing"`
}

// point is an input, or an alternative of it, that no case sets.
type point struct {
	Input string `json:"input"`
	What  string `json:"what"`
	// At is the place in the module, as FILE:LINE:COLUMN.
	At string `json:"at,omitempty"`
}

// inspect describes the module without an input, with the points that inputs cover.
func (m underTest) inspect(ctx context.Context, inputs []object.Value) (*evaluate.Inspection, error) {
	return evaluate.Inspect(ctx, m.Subject.Renderer.Evaluator, m.subject(), inputs)
}

// subject returns the module as operations other than a render take it.
func (m underTest) subject() evaluate.Subject {
	return evaluate.Subject{
		Spec:    m.Request.Spec,
		Module:  m.Request.Module,
		Context: m.Request.Context,
		Limits:  m.Request.Limits,
	}
}

// measureCoverage returns the coverage of the cases that render. A case without an input counts too:
// it leaves every input out.
func (m underTest) measureCoverage(ctx context.Context, chosen []cases.Case) (*coverage, error) {
	var inputs []object.Value
	for _, c := range chosen {
		if len(c.Expect.Errors) > 0 {
			continue
		}
		input := c.Input
		if input.Kind == object.KindNone {
			input = object.Value{Kind: object.KindMap, Pos: c.Pos}
		}
		inputs = append(inputs, input)
	}
	inspection, err := m.inspect(ctx, inputs)
	if err != nil {
		return nil, err
	}
	return covered(inspection.Points), nil
}

func covered(points []evaluate.Point) *coverage {
	out := &coverage{Points: len(points), Missing: []point{}}
	for _, p := range points {
		if p.Covered {
			out.Covered++
			continue
		}
		missing := point{Input: p.Path, What: p.What}
		if p.Pos.IsValid() {
			missing.At = p.Pos.String()
		}
		out.Missing = append(out.Missing, missing)
	}
	out.Percent = out.percent()
	return out
}

// percent returns the covered share in percent, rounded down. It returns 100 for a module without
// points.
func (c *coverage) percent() int {
	if c.Points == 0 {
		return 100
	}
	return 100 * c.Covered / c.Points
}

func (c *coverage) text() string {
	if c.Points == 0 {
		return "coverage: there is nothing to set\n"
	}
	head := fmt.Sprintf("coverage: %d %%, %d of %d\n", c.percent(), c.Covered, c.Points)
	if len(c.Missing) == 0 {
		return head
	}
	rows := [][]string{{"NO CASE HAS", "AS", "AT"}}
	for _, p := range c.Missing {
		rows = append(rows, []string{p.Input, p.What, p.At})
	}
	return head + command.Table(rows)
}
