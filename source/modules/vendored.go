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
	"os"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// vendorList is the list of what vendoring wrote. Its name begins with a dot,
// which CUE's loader passes over.
const vendorList = pkgFolder + "/.ropewalk-vendor"

const vendorHeader = "# Written by ropewalk: what it vendored here. Do not edit.\n"

// vendored is what a vendoring wrote. As text it has a line "module
// path@version digest" for each module, and "file digest path" for each file,
// below cue.mod/pkg.
type vendored struct {
	modules []string
	files   []vendoredFile // sorted by name, then digest
}

// vendoredFile is a file that was written. A name is in the list twice, with two
// digests, while it is being replaced.
type vendoredFile struct{ name, digest string }

// wrote reports whether the list has a file of that name.
func (v vendored) wrote(name string) bool {
	_, ok := v.find(name)
	return ok
}

// holds reports whether the file was written with that digest.
func (v vendored) holds(name, digest string) bool {
	i, _ := v.find(name)
	for ; i < len(v.files) && v.files[i].name == name; i++ {
		if v.files[i].digest == digest {
			return true
		}
	}
	return false
}

func (v vendored) find(name string) (int, bool) {
	return slices.BinarySearchFunc(v.files, name, func(f vendoredFile, name string) int { return cmp.Compare(f.name, name) })
}

// equal reports whether both lists say the same.
func (v vendored) equal(w vendored) bool {
	return slices.Equal(v.modules, w.modules) && slices.Equal(v.files, w.files)
}

// names is the names of the files, each once.
func (v vendored) names() []string {
	out := make([]string, 0, len(v.files))
	for _, f := range v.files {
		out = append(out, f.name)
	}
	return slices.Compact(out)
}

// merge is both lists in one.
func merge(a, b vendored) vendored {
	out := vendored{modules: slices.Concat(a.modules, b.modules), files: slices.Concat(a.files, b.files)}
	slices.Sort(out.modules)
	out.modules = slices.Compact(out.modules)
	slices.SortFunc(out.files, func(a, b vendoredFile) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.digest, b.digest))
	})
	out.files = slices.Compact(out.files)
	return out
}

// readVendored reads the list; it is empty where there is none.
func readVendored(root *os.Root) (vendored, error) {
	data, err := root.ReadFile(vendorList)
	if errors.Is(err, fs.ErrNotExist) {
		return vendored{}, nil
	}
	if err != nil {
		return vendored{}, err
	}
	return parseVendored(data)
}

// parseVendored reads the text of a list. Names in it are removed later, so they
// must be paths below cue.mod/pkg.
func parseVendored(data []byte) (vendored, error) {
	var out vendored
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<16)
	for n := 1; lines.Scan(); n++ {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		digest, name, _ := strings.Cut(rest, " ")
		switch {
		case strings.HasPrefix(kind, "#") || lines.Text() == "":
		case kind == "module":
			out.modules = append(out.modules, rest)
		case kind == "file" && source.CheckPath(name) == nil:
			out.files = append(out.files, vendoredFile{name: name, digest: digest})
		default:
			return vendored{}, fmt.Errorf("%s:%d: not a line that vendoring writes: delete the list and the folders that it names", vendorList, n)
		}
	}
	if err := lines.Err(); err != nil {
		return vendored{}, fmt.Errorf("%s: %w", vendorList, err)
	}
	return merge(out, vendored{}), nil
}

// text is the list as a file.
func (v vendored) text() []byte {
	var b bytes.Buffer
	b.WriteString(vendorHeader)
	for _, m := range v.modules {
		fmt.Fprintf(&b, "module %s\n", m)
	}
	for _, f := range v.files {
		fmt.Fprintf(&b, "file %s %s\n", f.digest, f.name)
	}
	return b.Bytes()
}

// writeVendored puts the list in its place as a whole, and takes an empty one
// away.
func writeVendored(root *os.Root, v vendored) error {
	if len(v.modules) == 0 {
		err := root.Remove(vendorList)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	const temp = vendorList + "-new"
	if err := root.WriteFile(temp, v.text(), 0o644); err != nil {
		return err
	}
	return root.Rename(temp, vendorList)
}
