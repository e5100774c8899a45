// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/artifact"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
)

// artifactSide is an artifact with the graph that is attached to it.
func (a commands) artifactSide(ctx context.Context, flags *command.ProjectFlags, arg string) (side, error) {
	p, err := a.Open(ctx, &flags.Sources.RegistryFlags, arg, false)
	if err != nil {
		return side{}, err
	}
	defer p.Close() //nolint:errcheck // nothing was written
	files, err := artifact.Snapshot(ctx, p, p.Reference)
	if err != nil {
		return side{}, command.LocationError(p, err)
	}
	files.Name = arg
	return side{Snapshot: files, close: func() {}}, nil
}
