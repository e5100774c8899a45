// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"path"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/internal/digests"
)

// Kind is the kind of a store.
type Kind string

// The kinds.
const (
	Registry   Kind = "oci"
	LayoutDir  Kind = "oci-layout"
	LayoutFile Kind = "oci-archive"
)

// Location is a reference of the command line, in its parts.
type Location struct {
	Kind Kind
	// Name is host/repository for a registry, and a path for a layout.
	Name string
	// Tag and Digest are "" where they are not given; where both are, the digest
	// counts.
	Tag, Digest string
}

const wantLocation = "oci://host/name[:tag][@sha256:…], oci-layout:DIR[:tag][@sha256:…] or oci-archive:FILE.tar[:tag][@sha256:…]"

// ParseLocation reads the location of an artifact: a repository of a registry (with oci:// or
// without), the folder of an image layout, or an archive of a layout. The error is ErrReference and
// shows the right form. Credentials in a reference are refused and not repeated.
func ParseLocation(s string) (Location, error) {
	bad := func(why string) (Location, error) {
		return Location{}, manifest.Refuse(ErrReference, "%.300q is not an artifact reference: %s; expected %s", s, why, wantLocation)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) || len(s) > 4096 {
		return bad("it contains control characters, or is too long")
	}

	// The digest comes last, so it is cut off first.
	out := Location{Kind: Registry}
	remaining := s
	remaining, out.Digest = cutDigest(remaining)
	if out.Digest != "" && !digests.Is(out.Digest) {
		return bad("its digest is not sha256: and 64 lower-case hexadecimal digits")
	}

	// The prefix says what kind of place it is; without one it is a registry, or a mistake.
	switch kind, name, _ := strings.Cut(remaining, ":"); kind {
	case string(LayoutDir), string(LayoutFile):
		out.Kind, remaining = Kind(kind), name
	default:
		var marked bool
		remaining, marked = strings.CutPrefix(remaining, "oci://")
		if !marked && isPath(remaining) {
			return bad("it is a path, not a registry: " + string(LayoutDir) + ":" + s + " is a layout in that folder")
		}
		if strings.Contains(remaining, "@") {
			return Location{}, manifest.Refuse(ErrReference,
				"the reference contains an @: credentials are not allowed in it: log in to the registry; expected %s", wantLocation)
		}
		if strings.Contains(remaining, "://") {
			return bad("only oci:// names a registry")
		}
	}

	// The rest is a name, with a tag or without.
	out.Name, out.Tag = cutTag(remaining)
	switch {
	case out.Name == "":
		return bad("it names nothing")
	case out.Kind != Registry && strings.Contains(path.Base(out.Name), "@sha"):
		return bad("only sha256 digests are read")
	case out.Kind != Registry && strings.HasSuffix(out.Name, ":"):
		return bad("its tag is empty: leave the colon out for latest")
	case out.Tag != "" && !isTag(out.Tag):
		return bad("its tag contains characters that are not allowed in a tag")
	case out.Kind == Registry && !isRepository(out.Name):
		return bad("a host and a lower-case repository name are required")
	}
	return out, nil
}

// Below returns the reference to the artifact called name below a location, with the same tag
// or digest.
func (l Location) Below(name string) string {
	scheme := string(l.Kind) + ":"
	if l.Kind == Registry {
		scheme = "oci://"
	}
	out := scheme + l.Name + "/" + name
	switch {
	case l.Digest != "":
		return out + "@" + l.Digest
	case l.Tag != "":
		return out + ":" + l.Tag
	}
	return out
}

// isPath reports whether a text without a prefix is a path and not a registry: it begins as
// paths do, or with a name that only a host with oci:// may have.
func isPath(s string) bool {
	first, _, nested := strings.Cut(s, "/")
	if !nested {
		return false
	}
	if slices.Contains([]string{"", ".", "..", "~"}, first) {
		return true
	}
	return first != "localhost" && !strings.ContainsAny(first, ".:@")
}

// cutDigest cuts the digest off a reference; "" if it has no digest.
func cutDigest(s string) (name, digest string) {
	if i := strings.LastIndex(s, "@sha256:"); i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// cutTag cuts the tag off a name. The tag comes after the last colon, if that is in the last
// part of the path and does not precede a port.
func cutTag(s string) (name, tag string) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || i == len(s)-1 || strings.ContainsAny(s[i:], `/\`) {
		return s, ""
	}
	return s[:i], s[i+1:]
}

// isRepository reports whether a name can be a repository with its host.
func isRepository(name string) bool {
	host, repository, ok := strings.Cut(name, "/")
	if !ok || repository == "" || len(repository) > 255 {
		return false
	}
	isHostRune := func(r rune) bool {
		isLetter := (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z')
		isDigit := r >= '0' && r <= '9'
		return isLetter || isDigit || strings.ContainsRune(".-:[]_", r)
	}
	if strings.Trim(host, ".") == "" || strings.ContainsFunc(host, func(r rune) bool { return !isHostRune(r) }) {
		return false
	}
	return (registry.Reference{Repository: repository}).ValidateRepository() == nil
}

// Reference returns what the functions of this package take: the digest, or the tag, or
// "latest".
func (l Location) Reference() string {
	switch {
	case l.Digest != "":
		return l.Digest
	case l.Tag != "":
		return l.Tag
	}
	return "latest"
}

// String returns the location as it is written.
func (l Location) String() string {
	out := string(l.Kind) + ":" + l.Name
	if l.Kind == Registry {
		out = "oci://" + l.Name
	}
	if l.Tag != "" {
		out += ":" + l.Tag
	}
	if l.Digest != "" {
		out += "@" + l.Digest
	}
	return out
}
