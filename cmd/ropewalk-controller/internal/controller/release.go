// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// What the linker sets where sources are built without their .git, as in the
// Dockerfile; "" elsewhere.
var linkedVersion, linkedRevision string //nolint:gochecknoglobals // the linker writes them, and nobody else

// dirty ends a revision of sources that were modified, as git describe has it.
const dirty = "-dirty"

// release says which build this is.
type release struct {
	version, revision string
	modified          bool
	// module says that version is that of a Go module, which never changes.
	module bool
}

// currentRelease reads what the toolchain wrote into the program, and what its linker
// was told.
func currentRelease() release {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return releaseOf(info, linkedVersion, linkedRevision)
}

// releaseOf is the release of a program; what the toolchain saw of the sources goes over
// the revision that somebody told.
func releaseOf(info *debug.BuildInfo, version, revision string) release {
	const unknown = "(devel)"
	r := release{version: cmp.Or(version, info.Main.Version, unknown)}
	r.module = version == "" && r.version != unknown
	r.revision, r.modified = strings.CutSuffix(revision, dirty)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			r.revision = s.Value
		case "vcs.modified":
			r.modified = r.modified || s.Value == "true"
		}
	}
	return r
}

// String is what --version and the first line of the log say.
func (r release) String() string {
	text := strings.TrimSpace(r.version + " " + r.revision)
	if r.modified {
		text += " (modified)"
	}
	return text
}

// identity tells this build from every other one; "" where nothing does. Another build
// may render otherwise, so that what one remembers is nothing for the next.
func (r release) identity() string {
	if r.modified || r.revision == "" && !r.module {
		return ""
	}
	return r.version + " " + r.revision
}
