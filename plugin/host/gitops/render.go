// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"io/fs"
	"slices"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// Load loads a unit, with what the caller fetches from.
type Load func(ctx context.Context, u Unit) (host.Loaded, error)

// Renderer returns what renders units to find those among their objects.
func Renderer(load Load, evaluator evaluate.Evaluator) Render {
	return func(ctx context.Context, u Unit, wanted func(fs.FS, []string) bool) (Rendered, error) {
		loaded, err := load(ctx, u)
		if err == nil {
			err = loaded.Request.Mistakes.Err()
		}
		if err != nil {
			return Rendered{}, err
		}

		// The files of the user tell whether an engine finds anything.
		var out Rendered
		needed := false
		for _, s := range loaded.Request.Specs {
			module := s.Evaluate.Module
			names := object.SortedKeys(module.Sources)
			for _, name := range names {
				out.Read = append(out.Read, module.Sources[name].Pos.File)
			}
			needed = needed || wanted(module.FS, names)
		}
		slices.Sort(out.Read)
		if !needed {
			return out, nil
		}

		// Objects are evaluated and not judged: mistakes in them are found when the unit is rendered.
		for _, s := range loaded.Request.Specs {
			made, err := evaluator.Evaluate(ctx, s.Evaluate)
			if err != nil {
				return out, err
			}
			for _, n := range made.Nodes {
				out.Objects = append(out.Objects, Made{Object: n.Object, Pos: n.Pos})
			}
		}
		return out, nil
	}
}
