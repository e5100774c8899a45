// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bytes"
	"fmt"
	"path"
	"slices"
)

// check compares the versions that the module file lists with those that the fetched modules
// need. An import of a module that it does not list is reported by the evaluation, with its
// position.
func (m *mainModule) check(got []*archive) error {
	if err := m.checkOverlap(got); err != nil {
		return err
	}
	for _, a := range got {
		for _, need := range a.deps {
			for _, have := range m.deps {
				if have.Path() == need.Path() && have.Compare(need) < 0 {
					return fmt.Errorf("%s is not tidy: module %q needs %q, and it says %s: run %q",
						m.file(), a.version.String(), need.String(), have.Version(), "cue mod tidy")
				}
			}
			for _, other := range got {
				if have := other.version; have.BasePath() == need.BasePath() && have.Path() != need.Path() && a.imports(need.BasePath()) {
					return fmt.Errorf("%s: module %q imports %q of %q, and it lists %q: "+
						"cue.mod/pkg has one folder for both, so raise %q to a version that uses the newer one",
						m.file(), a.version.String(), need.BasePath(), need.Path(), have.String(), a.version.BasePath())
				}
			}
		}
	}
	return nil
}

// checkOverlap refuses two modules that hold the same folder, because an import could mean
// either.
func (m *mainModule) checkOverlap(got []*archive) error {
	for _, a := range got {
		for _, f := range a.files {
			name := path.Join(a.version.BasePath(), f.name)
			if owner := m.owner(name); owner != a.version.BasePath() {
				return fmt.Errorf("%s: modules %q and %q both hold the folder %q: an import of it could mean either",
					m.file(), a.version.String(), owner, owner)
			}
		}
	}
	return nil
}

// imports reports whether a file of the module may import a package of the module modulePath.
func (a *archive) imports(modulePath string) bool {
	return slices.ContainsFunc(a.files, func(f file) bool {
		return path.Ext(f.name) == ".cue" && bytes.Contains(f.data, []byte(`"`+modulePath))
	})
}
