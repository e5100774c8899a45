// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"strings"

	"deps.dev/util/semver"
)

// Range is a range of versions.
type Range struct {
	text        string
	constraint  *semver.Constraint
	prereleases bool
}

// maxRange limits the text of a range.
const maxRange = 512

// ParseRange reads a range. The error shows the right form.
func ParseRange(text string) (Range, error) {
	bad := func() (Range, error) {
		return Range{}, fmt.Errorf("%.100q is not a range of versions: write one such as ^1.2 or >=1.0.0 <2.0.0", text)
	}
	if strings.TrimSpace(text) == "" || len(text) > maxRange {
		return bad()
	}
	c, err := semver.NPM.ParseConstraint(strings.ReplaceAll(text, ",", " "))
	if err != nil {
		return bad()
	}
	return Range{text: text, constraint: c, prereleases: c.HasPrerelease()}, nil
}

// String returns the range as it was written.
func (r Range) String() string { return r.text }

// Highest finds the highest version in a range among tags, which are added singly.
type Highest struct {
	in   Range
	best *semver.Version
	tag  string
}

// Highest begins a search for the highest version in the range.
func (r Range) Highest() *Highest { return &Highest{in: r} }

// Add takes a tag into account. Tags come in any order; a tag that is no version is skipped.
func (h *Highest) Add(tag string) {
	// Helm writes the + of a version as _, which a tag of OCI may have.
	text := strings.ReplaceAll(strings.TrimPrefix(tag, "v"), "_", "+")
	if !isComplete(text) {
		return
	}

	// Prereleases count where the range names a prerelease.
	v, err := semver.NPM.Parse(text)
	if err != nil {
		return
	}
	matches := h.in.constraint.MatchVersion(v)
	if h.in.prereleases {
		matches = h.in.constraint.MatchVersionPrerelease(v)
	}
	if !matches {
		return
	}

	// Two tags can be one version: with and without a v, or by their build. The choice must not
	// depend on the order in which a server lists them.
	order := 1
	if h.best != nil {
		order = v.Compare(h.best)
	}
	if order > 0 || (order == 0 && tag < h.tag) {
		h.best, h.tag = v, tag
	}
}

// Tag returns the tag of the highest version; false where no tag is in the range.
func (h *Highest) Tag() (string, bool) { return h.tag, h.best != nil }

// isComplete reports whether a version has three numbers without zeros before them.
func isComplete(text string) bool {
	core, _, _ := strings.Cut(text, "+")
	core, _, _ = strings.Cut(core, "-")
	parts := strings.Split(core, ".")
	for _, p := range parts {
		isNumber := p != "" && strings.Trim(p, "0123456789") == "" && len(p) <= 18
		isPadded := len(p) > 1 && p[0] == '0'
		if !isNumber || isPadded {
			return false
		}
	}
	return len(parts) == 3
}
