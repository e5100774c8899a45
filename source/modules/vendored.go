// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/mod/module"

	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/tarball"
)

// Where vendored modules are. The name of their list has no dot: trees leave out files whose names
// begin with a dot, and the path of a module has a dot in its first part.
const (
	vendorFolder = modFolder + "/vendor"
	listName     = "ropewalk-vendor"
	vendorList   = vendorFolder + "/" + listName
)

const vendorHeader = "# Written by \"ropewalk vendor\": the modules here, and their files. Do not edit.\n"

// vendored is the list of vendored modules and their files. As text it has a
// line "module path@version digest" for each module, with the digest of its zip,
// and "file digest path" for each file, below cue.mod/vendor.
type vendored struct {
	modules, files []vendoredEntry // sorted by name
	// fsys holds the folder of the list, dir.
	fsys fs.FS
	dir  string
}

// vendoredEntry is a module, path@version, or a file.
type vendoredEntry struct{ name, digest string }

func byName(a, b vendoredEntry) int { return cmp.Compare(a.name, b.name) }

// readVendored reads the list of the module at root; nil if it has no list. Without a list Ropewalk
// did not write the folder, whatever it holds.
func readVendored(fsys fs.FS, root string) (*vendored, error) {
	name := path.Join(root, vendorList)
	data, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := parseVendored(name, data)
	if err != nil {
		return nil, err
	}
	v.fsys, v.dir = fsys, path.Dir(name)
	return v, nil
}

// parseVendored reads the text of a list, which must be as encode writes it.
func parseVendored(name string, data []byte) (*vendored, error) {
	var out vendored
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		first, second, _ := strings.Cut(rest, " ")
		ok := false
		switch {
		case strings.HasPrefix(kind, "#") || lines.Text() == "":
			ok = true
		case kind == "module":
			out.modules, ok = appendEntry(out.modules, first, second)
		case kind == "file":
			out.files, ok = appendEntry(out.files, second, first)
		}
		if !ok {
			return nil, source.Refuse(source.ErrDigest, fmt.Sprintf(
				"%s:%d: not a line that vendoring writes: delete %q and run %q", name, n, path.Dir(name), "ropewalk vendor"))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, source.Refuse(source.ErrDigest, fmt.Sprintf("%s: %v", name, err))
	}
	return &out, nil
}

// appendEntry appends an entry; false if it is malformed or out of order.
func appendEntry(entries []vendoredEntry, name, digest string) ([]vendoredEntry, bool) {
	if source.CheckPath(name) != nil || !digests.Is(digest) {
		return nil, false
	}
	if n := len(entries); n > 0 && entries[n-1].name >= name {
		return nil, false
	}
	return append(entries, vendoredEntry{name, digest}), true
}

// listVendored returns the list of got.
func listVendored(got []*archive) *vendored {
	var out vendored
	for _, a := range got {
		name := a.version.String()
		out.modules = append(out.modules, vendoredEntry{name, a.digest})
		out.files = append(out.files, vendoredEntry{modFileOf(name), digests.Of(a.text)})
		for _, f := range a.files {
			out.files = append(out.files, vendoredEntry{path.Join(name, f.name), digests.Of(f.data)})
		}
	}
	slices.SortFunc(out.modules, byName)
	slices.SortFunc(out.files, byName)
	return &out
}

// modFileOf returns the path of the module file of a vendored module. It lies beside the
// folder: a cue.mod inside would make the folder a module of its own, and trees leave other
// modules out.
func modFileOf(module string) string { return module + ".mod" }

// encode returns the list as a file.
func (v *vendored) encode() []byte {
	var b bytes.Buffer
	b.WriteString(vendorHeader)
	for _, m := range v.modules {
		fmt.Fprintf(&b, "module %s %s\n", m.name, m.digest)
	}
	for _, f := range v.files {
		fmt.Fprintf(&b, "file %s %s\n", f.digest, f.name)
	}
	return b.Bytes()
}

// equal reports whether both lists have the same entries.
func (v *vendored) equal(w *vendored) bool {
	return slices.Equal(v.modules, w.modules) && slices.Equal(v.files, w.files)
}

// checkWhole refuses a folder that is not as it was written. Hidden files in it do not count:
// whether a tree has them depends on where the tree comes from.
func (v *vendored) checkWhole() error {
	if v == nil {
		return nil
	}
	missing, err := v.verify(tarball.Visible)
	if err == nil && missing != "" {
		err = source.Refuse(source.ErrDigest, fmt.Sprintf("%q was vendored and is missing: run %q", missing, "ropewalk vendor"))
	}
	return err
}

// verify compares what lies in the folder with the list, for the files that counts accepts.
// Missing is the first file that is not there, "" where all are there.
func (v *vendored) verify(counts func(name string) bool) (missing string, err error) {
	seen := make([]bool, len(v.files))
	for _, name := range filesOf(v.fsys, v.dir) {
		if name == listName || !counts(name) {
			continue
		}
		fullName := path.Join(v.dir, name)
		i, ok := slices.BinarySearchFunc(v.files, vendoredEntry{name: name}, byName)
		if !ok {
			return "", source.Refuse(source.ErrDigest, fmt.Sprintf(
				"%q lies among vendored modules, and vendoring did not write it: move it away", fullName))
		}
		data, err := fs.ReadFile(v.fsys, fullName)
		if err != nil {
			return "", err
		}
		if digests.Of(data) != v.files[i].digest {
			return "", source.Refuse(source.ErrDigest, fmt.Sprintf(
				"%q was vendored and changed since: take the change to the module itself, then delete the file and run %q",
				fullName, "ropewalk vendor"))
		}
		seen[i] = true
	}
	if i := slices.Index(seen, false); i >= 0 {
		return path.Join(v.dir, v.files[i].name), nil
	}
	return "", nil
}

// readArchive returns a vendored module; nil where it is not in the list, or there is no
// list. The files must be verified.
func (v *vendored) readArchive(mv module.Version) (*archive, error) {
	if v == nil {
		return nil, nil
	}
	i, ok := slices.BinarySearchFunc(v.modules, vendoredEntry{name: mv.String()}, byName)
	if !ok {
		return nil, nil
	}
	a := &archive{version: mv, digest: v.modules[i].digest}
	for _, f := range v.files {
		inside, ok := strings.CutPrefix(f.name, mv.String()+"/")
		if !ok && f.name != modFileOf(mv.String()) {
			continue
		}
		data, err := fs.ReadFile(v.fsys, path.Join(v.dir, f.name))
		if err != nil {
			return nil, err
		}
		if ok {
			a.files = append(a.files, file{name: inside, data: data})
		} else {
			a.text = data
		}
	}
	return a, a.readModFile()
}
