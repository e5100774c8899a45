// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"deps.dev/util/semver"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// release is the version of a module.
type release struct {
	// text is the tag: v1.2.3, or 1.2.3 for a Timoni module.
	text string
	// major, minor and patch are its numbers.
	major, minor, patch string
	prerelease          bool
	order               *semver.Version
}

// parseRelease reads a version with three numbers. The second result is false for every other text.
func parseRelease(text string) (release, bool) {
	bare := strings.TrimPrefix(text, "v")
	core, build, _ := strings.Cut(bare, "+")
	core, _, prerelease := strings.Cut(core, "-")
	parts := strings.Split(core, ".")
	if len(parts) != 3 || build != "" {
		return release{}, false
	}
	order, err := semver.NPM.Parse(bare)
	if err != nil {
		return release{}, false
	}
	return release{text: text, major: parts[0], minor: parts[1], patch: parts[2], prerelease: prerelease, order: order}, true
}

// floating returns the tags that lead to the highest patch of a minor version, the highest version of
// a major version, and the highest version of all, in the order in which they are moved: 1.2, 1 and
// latest. They have no v, because the cue command takes v1 for a version that is not canonical, and
// then finds no latest version. Timoni only knows latest.
func (r release) floating() []string {
	if r.prerelease {
		return nil
	}
	if !strings.HasPrefix(r.text, "v") {
		return []string{"latest"}
	}
	return []string{r.major + "." + r.minor, r.major, "latest"}
}

// step returns the part of the version that differs from older: major, minor, or "" for a patch.
// Below 1.0.0 a minor version may break users, as semver.org says, so it counts as major there, and a
// patch counts as minor.
func (r release) step(older release) evaluate.Level {
	switch {
	case r.major != older.major, r.major == "0" && r.minor != older.minor:
		return evaluate.LevelMajor
	case r.minor != older.minor, r.major == "0":
		return evaluate.LevelMinor
	}
	return ""
}

// next returns the lowest version after r that a change of a level needs.
func (r release) next(level evaluate.Level) string {
	stable := r.major != "0"
	raise := func(n string) string {
		var i int
		_, _ = fmt.Sscan(n, &i) // It is a number.
		return fmt.Sprint(i + 1)
	}
	prefix := strings.TrimSuffix(r.text, strings.TrimPrefix(r.text, "v"))
	switch {
	case level == evaluate.LevelMajor && stable:
		return prefix + raise(r.major) + ".0.0"
	case level == evaluate.LevelMajor, level == evaluate.LevelUndecided, level == evaluate.LevelMinor && stable:
		return prefix + r.major + "." + raise(r.minor) + ".0"
	}
	return prefix + r.major + "." + r.minor + "." + raise(r.patch)
}

// releases returns the versions of a repository, the lowest first. A repository that does not exist
// has no versions.
func releases(ctx context.Context, store artifact.Store) (out []release, err error) {
	err = store.Tags(ctx, "", func(tags []string) error {
		for _, tag := range tags {
			if r, ok := parseRelease(tag); ok {
				out = append(out, r)
			}
		}
		return nil
	})
	if manifest.Missing(err) {
		return nil, nil
	}
	slices.SortFunc(out, func(a, b release) int { return a.order.Compare(b.order) })
	return out, err
}

// versionBefore returns the highest version below r. It skips prereleases, unless r is a prerelease.
func versionBefore(versions []release, r release) (older release, found bool) {
	for _, other := range versions {
		if other.order.Compare(r.order) < 0 && (!other.prerelease || r.prerelease) {
			older, found = other, true
		}
	}
	return older, found
}

// leads reports whether a floating tag must lead to r: no version with that tag is higher.
func (r release) leads(tag string, versions []release) bool {
	return !slices.ContainsFunc(versions, func(other release) bool {
		return slices.Contains(other.floating(), tag) && other.order.Compare(r.order) > 0
	})
}
