// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"
	"cuelang.org/go/mod/modzip"

	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/tarball"
)

// archive is a module that was read.
type archive struct {
	version module.Version
	zip     []byte
	digest  string // of zip
	origin  string
	// text is its module file.
	text []byte
	// files are those that importers see, sorted: all but cue.mod and what is
	// hidden.
	files []file
	// deps are the dependencies that its own module file lists.
	deps []module.Version
}

// file is a file of a module.
type file struct {
	name string
	data []byte
}

// unpack reads the zip of a module, within limits.
func unpack(mv module.Version, data []byte, limits source.Limits) (*archive, error) {
	z, _, _, err := modzip.CheckZip(mv, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, errDamaged(mv, err)
	}
	a := &archive{version: mv, zip: data, digest: digests.Of(data)}
	bounds := source.Builder{Limits: limits}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		content, err := readFile(&bounds, f)
		if err != nil {
			return nil, about(mv, err)
		}
		switch {
		case f.Name == modFile:
			a.text = content
		case !strings.HasPrefix(f.Name, modFolder+"/") && tarball.Visible(f.Name):
			a.files = append(a.files, file{name: f.Name, data: content})
		}
	}
	slices.SortFunc(a.files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return a, a.readModFile()
}

// readFile reads a file of a zip. The size in its header is not trusted.
func readFile(bounds *source.Builder, f *zip.File) ([]byte, error) {
	size := int64(min(f.UncompressedSize64, 1<<62))
	if err := bounds.Room(f.Name, size); err != nil {
		return nil, err
	}
	r, err := f.Open()
	if err != nil {
		return nil, source.Refuse(source.ErrDigest, fmt.Sprintf("file %q of its zip cannot be opened: %v", f.Name, err))
	}
	defer func() { _ = r.Close() }()
	content, err := io.ReadAll(io.LimitReader(r, size+1))
	if err != nil {
		return nil, source.Refuse(source.ErrDigest, fmt.Sprintf("file %q of its zip cannot be read: %v", f.Name, err))
	}
	if int64(len(content)) != size {
		return nil, source.Refuse(source.ErrDigest, fmt.Sprintf("file %q of its zip is not as large as the zip says", f.Name))
	}
	return content, bounds.Add(f.Name, content)
}

// readModFile reads the module file of the archive. The file must name the requested module, in a
// language version that this program knows.
func (a *archive) readModFile() error {
	f, err := parseModFile(a.text, modFile, modfile.Parse)
	if err != nil {
		return about(a.version, fmt.Errorf("its module file: %s", printable.OneLine(err.Error())))
	}
	if f.QualifiedModule() != a.version.Path() {
		return about(a.version, fmt.Errorf("its module file is that of %q: it was published under a wrong name", f.QualifiedModule()))
	}
	a.deps = f.DepVersions()
	return nil
}
