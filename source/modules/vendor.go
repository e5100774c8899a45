// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
)

// Vendor writes the dependencies of the module in the folder dir of the disk to its
// cue.mod/vendor/<path>@<version>. [Registry.Complete] finds them there, so that rendering
// the module needs no registry. The cue command does not look there: it takes them from its
// own cache or registry, and publishes the module without them.
//
// The folder is replaced completely, or not touched; changed reports which. What cue.mod/pkg,
// gen or usr hold is not vendored. Files below cue.mod/vendor that no earlier Vendor wrote,
// or that were changed since, are an error (source.ErrDigest) before anything is fetched;
// missing files are written again. cue.mod/vendor/ropewalk-vendor lists what was written,
// with the digest of each zip.
//
// A crash leaves the former folder, the new folder, or no folder, and temporary folders that the
// next Vendor removes. Two concurrent calls for one folder are not supported. Locked and the other
// errors mean the same as for Complete; fs.ErrNotExist means that dir has no module file.
func (r *Registry) Vendor(ctx context.Context, dir string, locked map[string]string) (deps []Dependency, changed bool, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Stat(modFile); err != nil {
		return nil, false, err
	}

	// Changes of others in the folder are found before anything is fetched.
	fsys := root.FS()
	former, whole, err := readFormer(fsys)
	if err != nil {
		return nil, false, err
	}

	// Only what the project does not hold elsewhere is vendored.
	m, err := readModule(fsys, ".", r.Provided)
	if err != nil {
		return nil, false, err
	}
	missing, err := m.listMissing(filesOf(fsys, "."))
	if err != nil {
		return nil, false, err
	}
	// What is vendored already is fetched again: only so is it compared with what
	// was published.
	got, err := r.fetchAll(ctx, missing, locked, nil)
	if err != nil {
		return nil, false, err
	}
	if err := m.check(got); err != nil {
		return nil, false, err
	}

	// A folder that would stay the same is not touched.
	if whole && former.equal(listVendored(got)) {
		return dependencies(got), false, nil
	}
	if err := replaceVendored(root, got); err != nil {
		return nil, false, err
	}
	return dependencies(got), true, nil
}

// readFormer returns what an earlier Vendor left, and whether all of it is there.
func readFormer(fsys fs.FS) (former *vendored, whole bool, err error) {
	former, err = readVendored(fsys, ".")
	if err != nil {
		return nil, false, err
	}
	if former == nil {
		former = &vendored{fsys: fsys, dir: vendorFolder}
	}
	missing, err := former.verify(func(string) bool { return true }) // what is hidden would be lost too
	return former, missing == "", err
}

// Folders of a vendoring that is under way. Trees leave hidden ones out.
const (
	vendorNew = modFolder + "/.ropewalk-vendor-new"
	vendorOld = modFolder + "/.ropewalk-vendor-old"
)

// replaceVendored puts got in the place of what was vendored. Between its two renames nothing
// is vendored, which is a valid state.
func replaceVendored(root *os.Root, got []*archive) error {
	if err := errors.Join(root.RemoveAll(vendorNew), root.RemoveAll(vendorOld)); err != nil {
		return err
	}
	if err := stage(root, got); err != nil {
		return errors.Join(err, root.RemoveAll(vendorNew))
	}
	if err := root.Rename(vendorFolder, vendorOld); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, root.RemoveAll(vendorNew))
	}
	if len(got) > 0 {
		if err := root.Rename(vendorNew, vendorFolder); err != nil {
			_ = root.Rename(vendorOld, vendorFolder)
			return err
		}
	}
	return root.RemoveAll(vendorOld)
}

// stage writes the folder beside its final place; it writes nothing for no modules.
func stage(root *os.Root, got []*archive) error {
	write := func(name string, data []byte) error {
		name = path.Join(vendorNew, name)
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		return root.WriteFile(name, data, 0o644)
	}
	for _, a := range got {
		if err := write(modFileOf(a.version.String()), a.text); err != nil {
			return err
		}
		for _, f := range a.files {
			if err := write(path.Join(a.version.String(), f.name), f.data); err != nil {
				return err
			}
		}
	}
	if len(got) == 0 {
		return nil
	}
	return write(listName, listVendored(got).encode())
}
