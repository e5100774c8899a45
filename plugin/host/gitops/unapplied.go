// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"path"
	"slices"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/object"
)

// unapplied returns the files with objects that no unit applies, and warns of specs of Ropewalk that
// no project has. Where a unit cannot be rendered, or a project is, nothing is known to be left over.
func (x *expanding) unapplied() ([]string, error) {
	if len(x.units) == 0 {
		return nil, nil
	}
	folders, err := project.Projects(x.repo.FS, path.Clean(x.repo.Dir))
	if err != nil {
		return nil, err
	}
	for _, u := range x.units {
		if u.Problem != nil {
			folders = append(folders, x.folders(Written{Value: u.Object})...)
		}
	}
	left := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return x.read[name] || x.used[name] || slices.ContainsFunc(folders, func(folder string) bool { return folder == "." || subpath.Within(name, folder) })
		})
	}
	if specs := left(x.written.specs); len(specs) > 0 {
		x.warn(object.Pos{File: specs[0], Line: 1, Column: 1}, "add a ropewalk.yaml to their folder, or render it by itself",
			"the specs of %s are in no project, and no unit applies them: %s", printable.Count(len(specs), "file"), printable.List(specs, mostNamed))
	}
	return left(x.written.plain), nil
}
