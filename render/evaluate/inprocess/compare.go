// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/inputs"
)

// Compare is what changed for users between the modules of two requests, the gravest
// first: an input that the old one took and the new one does not is major, one of which
// that cannot be told is undecided. It runs within the limits of newer.
func (p *Evaluator) Compare(ctx context.Context, older, newer evaluate.Request) ([]evaluate.Change, error) {
	for _, req := range []evaluate.Request{older, newer} {
		if err := CheckSize(req); err != nil {
			return nil, err
		}
	}
	return guarded(ctx, newer, func() ([]evaluate.Change, error) {
		a, err := p.open(older, older.Module)
		if err != nil {
			return nil, diagnose.Fail(older, err)
		}
		b, err := p.open(newer, newer.Module)
		if err != nil {
			return nil, diagnose.Fail(newer, err)
		}
		changes, err := inputs.Compare(a.Session, b.Session)
		return changes, diagnose.Fail(newer, err)
	})
}
