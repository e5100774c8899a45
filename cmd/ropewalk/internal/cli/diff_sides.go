// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/checkout"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
)

// revisionSide renders the project as it was at a revision of the repository
// that the working directory, or the other side, is in.
func (a commands) revisionSide(ctx context.Context, flags *command.ProjectFlags, arg, other string) (side, error) {
	rev, inside, given := strings.Cut(arg, ":")
	repository, at, err := checkout.InRepository(other)
	if err != nil {
		return side{}, fmt.Errorf("%q is not a file, and cannot be a Git revision: %w", rev, err)
	}
	if !given {
		inside = at
	}
	if inside = path.Clean(inside); !filepath.IsLocal(inside) {
		return side{}, command.Usagef("write REVISION:PATH with a path from the root of the repository", "%q leaves the repository", inside)
	}
	files, err := checkout.Open(ctx, repository, rev)
	if err != nil {
		return side{}, err
	}
	defer files.Close()
	if _, err := files.Lstat(inside); err != nil {
		return side{}, &command.EnvironmentError{Err: fmt.Errorf("revision %s has no %q: name it as %s:PATH", rev, inside, rev)}
	}
	return a.projectSide(ctx, files.Flags(flags), rev, files, inside)
}
