// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/source/version"
)

// versioned is a reference that chooses a version, cut around it.
type versioned struct {
	// before is what stands before the version with its key, and after what stands behind it.
	before, after string
	// key leads to one version, and ranged to a range of them.
	key, ranged string
	// version is the one that is named; "" where the reference has a range, a branch, or a
	// tag that is no version.
	version string
	// digest reports that the reference names a digest beside its tag.
	digest bool
}

// versionedOf divides a reference around its version. The result ok is false if no version can be
// chosen for it, as for a reference to a digest or a commit alone.
func versionedOf(kind, ref string) (v versioned, ok bool) {
	// Each type of source has its own words for versions.
	switch kind {
	case reftype.OCI:
		return versionedOCI(ref)
	case reftype.Git:
		v = versioned{key: "tag=", ranged: "semver="}
	case reftype.Helm:
		v = versioned{key: "version=", ranged: "version="}
	default:
		return v, false
	}

	// Find the option with the version.
	repository, query, _ := strings.Cut(ref, "?")
	options := strings.FieldsFunc(query, func(r rune) bool { return r == '&' })
	at := len(options)
	for i, option := range options {
		name, value, _ := strings.Cut(option, "=")
		switch name + "=" {
		case "commit=", "digest=":
			return v, false
		case v.key, v.ranged, "branch=":
			at = i
			if name+"=" == v.key && isVersion(value) {
				v.version = value
			}
		}
	}

	// Keep all other options around it.
	v.before = repository + "?"
	for _, option := range options[:at] {
		v.before += option + "&"
	}
	for _, option := range options[min(at+1, len(options)):] {
		v.after += "&" + option
	}
	return v, true
}

func versionedOCI(ref string) (versioned, bool) {
	ref, _, _ = strings.Cut(ref, "?")
	ref, digest, pinned := strings.Cut(ref, "@")
	v := versioned{key: ":", ranged: "?semver=", digest: digest != ""}
	slash := strings.LastIndexByte(ref, '/')
	repository, tag, tagged := strings.Cut(ref[slash+1:], ":")
	v.before = ref[:slash+1] + repository
	if isVersion(tag) {
		v.version = tag
	}
	return v, !pinned || tagged && v.version != ""
}

// at returns the reference to one version. The digest is that of the version.
func (v versioned) at(tag, digest string) string {
	out := v.before + v.key + tag + v.after
	if v.digest {
		out += "@" + digest
	}
	return out
}

// within returns the reference to the highest version of a range.
func (v versioned) within(text string) string {
	return v.before + v.ranged + url.PathEscape(text) + v.after
}

// bare returns a version without what a range does not take: the v before it and its build.
func bare(tag string) string {
	out, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimPrefix(tag, "v"), "_", "+"), "+")
	return out
}

// isVersion reports whether a tag is a version with three numbers.
func isVersion(tag string) bool { return tag != "" && inRange(">="+bare(tag), tag) }

// inRange reports whether a tag is a version in a range.
func inRange(text, tag string) bool {
	in, err := version.ParseRange(text)
	if err != nil {
		return false
	}
	highest := in.Highest()
	highest.Add(tag)
	_, ok := highest.Tag()
	return ok
}

// later reports whether a tag is a higher version than another one.
func later(tag, than string) bool { return inRange(">"+bare(than), tag) }

// How far an upgrade goes.
const (
	toPatch = "patch"
	toMinor = "minor"
	toMajor = "major"
)

// upTo returns the range of the versions from one on that break no user, as semver.org says: below
// 1.0.0 a minor version may.
func upTo(tag, bound string) string {
	from := bare(tag)
	core, _, prerelease := strings.Cut(from, "-")
	numbers := strings.Split(core, ".")
	raised := func(i int) string {
		n, _ := strconv.ParseUint(numbers[i], 10, 64) // It has at most 18 digits.
		return strconv.FormatUint(n+1, 10)
	}
	var end string
	switch {
	case bound == toMajor:
		return ">=" + from
	case bound == toPatch || numbers[0] == "0":
		end = numbers[0] + "." + raised(1) + ".0"
	default:
		end = raised(0) + ".0.0"
	}
	if prerelease {
		end += "-0" // Prereleases of the next one are beyond it.
	}
	return fmt.Sprintf(">=%s <%s", from, end)
}
