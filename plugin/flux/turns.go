// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"

	"github.com/ropewalk/ropewalk/plugin/host/turn"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// Turns has namespaces, and in them Transforms, take turns at an evaluator that does size
// evaluations at once. One that goes on for long while others wait ends and is begun
// again when its turn comes; such evaluations take no more than half of the places from
// then on, so that modules without end, of however many Transforms, hold up no others.
func Turns(e evaluate.Evaluator, size int) evaluate.Evaluator {
	queue := turn.NewYielding(size)
	return turn.Evaluator{Next: e, Run: func(ctx context.Context, work func(ctx context.Context) error) error {
		s, ok := ctx.Value(seatKey{}).(*seat)
		if !ok {
			return queue.Run(ctx, turn.Name{}, &turn.Task{}, work)
		}
		defer s.evaluating()()
		return queue.Run(ctx, s.name, s.task, work)
	}}
}
