// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Vendor writes the dependencies of the module in the folder dir of the disk to
// its cue.mod/pkg, so that rendering it needs no registry. The cue command (as of
// v0.17) reads that folder as well, but calls an import ambiguous that is there
// and in deps of the module file; projects that use both keep a cache instead, or
// vendor in what they publish only.
//
// It replaces what a former Vendor wrote, takes away what is no dependency any more,
// and touches nothing else: a dependency of which cue.mod holds files by other
// hands is left alone, and files of a former Vendor that were changed since are
// an error before anything is written. What was written is listed in
// cue.mod/pkg/.ropewalk-vendor.
//
// Each module appears as a whole. After a crash the next Vendor ends the work.
// Two at the same time in one folder are not meant. Locked and the errors are
// those of [Registry.Complete].
func (r *Registry) Vendor(ctx context.Context, dir string, locked map[string]string) ([]Dependency, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	former, err := readVendored(root)
	if err != nil {
		return nil, err
	}
	m, err := readModule(root.FS(), ".", r.Provided)
	if err != nil {
		return nil, err
	}
	if m == nil {
		m = &mainModule{root: "."}
	}
	v := vendor{root: root, former: former}
	if err := v.mixed(m); err != nil {
		return nil, err
	}
	missing, err := m.missing(v.foreign())
	if err != nil {
		return nil, err
	}
	got, err := r.all(ctx, missing, locked)
	if err != nil {
		return nil, err
	}
	if err := m.check(root.FS(), v.foreign(), got); err != nil {
		return nil, err
	}
	return dependencies(got), v.write(got)
}

// Where vendoring writes.
const (
	pkgFolder  = modFolder + "/pkg"
	vendorTemp = pkgFolder + "/.ropewalk-new"
)

// vendor is one vendoring.
type vendor struct {
	root   *os.Root
	former vendored
}

// foreign is the paths of the files of the module that no former vendoring
// wrote, relative to its root.
func (v *vendor) foreign() []string {
	return slices.DeleteFunc(filesOf(v.root.FS(), "."), func(name string) bool {
		inside, ok := strings.CutPrefix(name, pkgFolder+"/")
		return ok && (v.former.wrote(inside) || strings.HasPrefix(inside, ".ropewalk-"))
	})
}

// write brings cue.mod/pkg to what got holds.
func (v *vendor) write(got []*archive) error {
	next := listing(got)
	if err := v.unchanged(); err != nil {
		return err
	}
	if v.former.equal(next) && v.whole() {
		return nil
	}
	if err := v.root.MkdirAll(pkgFolder, 0o755); err != nil {
		return err
	}
	if err := v.stage(got); err != nil {
		return err
	}
	// Until all is in its place the list holds both, so that what a crash leaves
	// is known to be ours.
	if err := writeVendored(v.root, merge(v.former, next)); err != nil {
		return err
	}
	if err := v.removeFormer(); err != nil {
		return err
	}
	for i, a := range got {
		if err := v.place(a, stagePath(i)); err != nil {
			return err
		}
	}
	if err := v.root.RemoveAll(vendorTemp); err != nil {
		return err
	}
	if err := writeVendored(v.root, next); err != nil {
		return err
	}
	_ = v.root.Remove(pkgFolder) // where nothing is left in it
	return nil
}

// whole reports whether every file of the former vendoring is there.
func (v *vendor) whole() bool {
	for _, name := range v.former.names() {
		if _, err := v.root.Lstat(path.Join(pkgFolder, name)); err != nil {
			return false
		}
	}
	return true
}

// mixed refuses a folder of a dependency in which files of a former vendoring and
// others are side by side: neither may be taken for the module.
func (v *vendor) mixed(m *mainModule) error {
	ours := map[string]bool{}
	for _, name := range v.former.names() {
		if _, err := v.root.Lstat(path.Join(pkgFolder, name)); err == nil {
			ours[m.owner(name)] = true
		}
	}
	for _, name := range v.foreign() {
		inside, ok := strings.CutPrefix(name, pkgFolder+"/")
		if owner := m.owner(inside); ok && owner != "" && ours[owner] {
			return fmt.Errorf("%q lies in the folder of a vendored module, and vendoring did not write it: move it away", name)
		}
	}
	return nil
}

// unchanged refuses to overwrite what someone wrote into a vendored folder.
func (v *vendor) unchanged() error {
	for _, name := range v.former.names() {
		data, err := v.root.ReadFile(path.Join(pkgFolder, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !v.former.holds(name, sum(data)):
			return fmt.Errorf("%q was vendored and changed since: take the change to the module itself, then delete the file", path.Join(pkgFolder, name))
		}
	}
	return nil
}

// stage writes the modules beside where they will be.
func (v *vendor) stage(got []*archive) error {
	if err := v.root.RemoveAll(vendorTemp); err != nil {
		return err
	}
	for i, a := range got {
		for _, f := range a.files {
			name := path.Join(stagePath(i), f.name)
			if err := v.root.MkdirAll(path.Dir(name), 0o755); err != nil {
				return err
			}
			if err := v.root.WriteFile(name, f.data, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func stagePath(i int) string { return fmt.Sprintf("%s/%d", vendorTemp, i) }

// removeFormer takes away the files of the former vendoring, and the folders that
// are empty then.
func (v *vendor) removeFormer() error {
	for _, name := range v.former.names() {
		if err := v.root.Remove(path.Join(pkgFolder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if v.root.Remove(path.Join(pkgFolder, dir)) != nil {
				break // it is not empty
			}
		}
	}
	return nil
}

// place moves a staged module to where it is found: the whole folder at once
// where nothing is there, which is always but for modules inside of others and
// for what the user keeps beside them.
func (v *vendor) place(a *archive, staged string) error {
	target := path.Join(pkgFolder, a.version.BasePath())
	if len(a.files) == 0 {
		return nil
	}
	if err := v.root.MkdirAll(path.Dir(target), 0o755); err != nil {
		return err
	}
	if _, err := v.root.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		return v.root.Rename(staged, target)
	}
	for _, f := range a.files {
		name := path.Join(target, f.name)
		if err := v.root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := v.root.Rename(path.Join(staged, f.name), name); err != nil {
			return err
		}
	}
	return nil
}

// listing is what the list of vendored files says of got.
func listing(got []*archive) vendored {
	var out vendored
	for _, a := range got {
		out.modules = append(out.modules, a.version.String()+" "+a.digest)
		for _, f := range a.files {
			out.files = append(out.files, vendoredFile{name: path.Join(a.version.BasePath(), f.name), digest: sum(f.data)})
		}
	}
	slices.SortFunc(out.files, func(a, b vendoredFile) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.digest, b.digest))
	})
	return out
}
