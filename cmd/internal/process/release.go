// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
)

// What the linker sets where sources are built without their .git, as in the
// Dockerfile; "" elsewhere. The toolchain knows no other way into a program.
var linkedVersion, linkedRevision string //nolint:gochecknoglobals // only the linker writes them

// dirty ends a revision of sources that were modified, as git describe has it.
const dirty = "-dirty"

// Release says which build this is. "ropewalk version" prints it as JSON.
type Release struct {
	// Version is the version of the module or the image, and "(devel)" where neither has a version.
	Version string `json:"version"`
	// Revision is the commit of the sources, and Time its time; "" where unknown.
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	// Modified says that the sources differ from Revision.
	Modified bool `json:"modified,omitempty"`
	// Go is the version of the toolchain, Platform os/architecture, and CUE the
	// version of its module.
	Go       string `json:"go"`
	Platform string `json:"platform"`
	CUE      string `json:"cue,omitempty"`
	// module says that Version belongs to a Go module, which never changes.
	module bool
}

// CurrentRelease reads what the Go toolchain and the linker wrote into the program.
func CurrentRelease() Release {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return releaseOf(info, linkedVersion, linkedRevision)
}

// releaseOf returns the release of a program. The revision that the toolchain found in the sources
// has precedence over the one that was given at build time.
func releaseOf(info *debug.BuildInfo, version, revision string) Release {
	const unknown = "(devel)"
	r := Release{Version: cmp.Or(version, info.Main.Version, unknown), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	r.module = version == "" && r.Version != unknown
	r.Revision, r.Modified = strings.CutSuffix(revision, dirty)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			r.Revision = s.Value
		case "vcs.time":
			r.Time = s.Value
		case "vcs.modified":
			r.Modified = r.Modified || s.Value == "true"
		}
	}
	for _, d := range info.Deps {
		if d.Path == "cuelang.org/go" {
			r.CUE = d.Version
		}
	}
	return r
}

// String returns the release in one line: version, revision, and whether it is modified.
func (r Release) String() string {
	text := strings.TrimSpace(r.Version + " " + r.Revision)
	if r.Modified {
		text += " (modified)"
	}
	return text
}

// Identity returns a text that distinguishes this build from every other build, or "" if nothing
// does. Another build may render otherwise, so that its cached results are not valid for this
// build. The version that an image was given is no identity, because it may name a branch.
func (r Release) Identity() string {
	isUnknown := r.Revision == "" && !r.module
	if r.Modified || isUnknown {
		return ""
	}
	return r.Version + " " + r.Revision
}
