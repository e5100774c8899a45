// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/version"
)

// scheme begins every reference.
const scheme = "oci://"

// form describes references, for errors.
const form = "write oci://host/repository:tag, oci://host/repository@sha256:<64 hex digits> " +
	"or oci://host/repository?semver=>=1.0.0 <2.0.0"

// latest is the tag of a reference without a tag.
const latest = "latest"

// maxReference bounds a reference, in bytes.
const maxReference = 2048

// reference is a repository and what is chosen of it.
type reference struct {
	// repository is host/name, or host:port/name.
	repository string
	// tag is "" where there is a range, or a digest alone.
	tag string
	// digest is sha256:<hex>, or "".
	digest string
	// versions is a range of versions, or "".
	versions string
}

// read reads a reference. Its errors name it.
func read(ref string) (reference, error) {
	r, err := parse(ref)
	if err != nil {
		err = fmt.Errorf("oci %q: %w", redactReference(ref), err)
	}
	return r, err
}

// redactReference returns a reference for an error: without what may be credentials, and not
// long. The reference may be malformed.
func redactReference(ref string) string {
	const longest = 240
	at := strings.LastIndexByte(ref, '@')
	if at >= 0 && strings.HasPrefix(ref[at:], "@sha256:") {
		at = strings.LastIndexByte(ref[:at], '@')
	}
	if at >= 0 {
		ref = "***" + ref[at:]
	}
	return printable.Cut(ref, longest, "…")
}

// parse reads a reference.
func parse(ref string) (reference, error) {
	address, ok := strings.CutPrefix(ref, scheme)
	switch {
	case len(ref) > maxReference:
		return reference{}, bad("the reference is longer than %d bytes", maxReference)
	case !ok:
		return reference{}, bad("the reference does not begin with oci://")
	case strings.ContainsFunc(ref, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return reference{}, bad("the reference holds characters that are no text")
	}

	// A digest comes before the query, and a tag before the digest.
	address, query, asked := strings.Cut(address, "?")
	var r reference
	if before, digest, ok := strings.Cut(address, "@sha256:"); ok {
		address, r.digest = before, "sha256:"+digest
	}
	host, name, ok := strings.Cut(address, "/")
	endsInAt := strings.HasSuffix(address, "@") && strings.Count(address, "@") == 1
	switch {
	case endsInAt || strings.Contains(name, "@sha512:"):
		return reference{}, bad("what follows @ is not sha256: and the 64 digits of a digest")
	case strings.Contains(address, "@") || strings.Contains(r.digest, "@"):
		return reference{}, source.Refuse(source.ErrReference,
			"an oci reference must hold no credentials, because it ends up in files and logs: put them into a Secret, or log in with docker login")
	case !ok || host == "":
		return reference{}, bad("the reference has no host, or no repository")
	}

	// What is left is the repository, with a tag or without.
	name, r.tag, ok = strings.Cut(name, ":")
	if ok && r.tag == "" {
		return reference{}, bad("the tag is empty")
	}
	r.repository = host + "/" + name
	if err := r.check(host, name); err != nil {
		return reference{}, err
	}

	// A range of versions takes the place of a tag; without any of them it is latest.
	if asked {
		return r, r.parseQuery(query)
	}
	if r.tag == "" && r.digest == "" {
		r.tag = latest
	}
	return r, nil
}

// check refuses names that registries refuse.
func (r *reference) check(host, name string) error {
	of := registry.Reference{Registry: host, Repository: name}
	switch {
	case of.ValidateRegistry() != nil || strings.ContainsFunc(host, func(r rune) bool { return !isHostRune(r) }):
		return bad("%q is not a host name, which is letters and digits of ASCII and . _ - between them (xn--… for others), "+
			"with a port or without", host)
	case !isPort(host):
		return bad("%q has no port from 1 to 65535", host)
	case of.ValidateRepository() != nil || len(name) > 255:
		return bad("%q is not a repository name, which is lower case letters, digits and . _ - / between them", name)
	}
	of.Reference = r.tag
	if r.tag != "" && of.ValidateReferenceAsTag() != nil {
		return bad("%q is not a tag", r.tag)
	}
	if r.digest != "" && !digests.Is(r.digest) {
		return bad("%q is not a digest", r.digest)
	}
	return nil
}

// isHostRune reports whether a host may hold r. Letters beyond ASCII are refused: an http
// client maps some of them to other names than the one that is written.
func isHostRune(r rune) bool {
	isLetter := (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z')
	isDigit := r >= '0' && r <= '9'
	return isLetter || isDigit || strings.ContainsRune("-._:[]", r)
}

// isPort reports whether a host has a valid port, or no port.
func isPort(host string) bool {
	_, port, ok := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":")
	if !ok {
		return true
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= 1 && n <= 65535
}

// parseQuery reads the query of a reference.
func (r *reference) parseQuery(query string) error {
	key, raw, _ := strings.Cut(query, "=")
	value, err := url.PathUnescape(raw)
	switch {
	case key != "semver":
		return bad("the query has an unknown key %q", key)
	case err != nil || strings.TrimSpace(value) == "":
		return bad("semver in the query has no value that can be read")
	case r.tag != "" || r.digest != "":
		return bad("the reference has a range of versions beside a tag or a digest")
	}
	if _, err := version.ParseRange(value); err != nil {
		return bad("%v", err)
	}
	r.versions = value
	return nil
}

// String returns the reference for messages.
func (r reference) String() string {
	out := scheme + r.repository
	if r.tag != "" {
		out += ":" + r.tag
	}
	if r.digest != "" {
		out += "@" + r.digest
	}
	if r.versions != "" {
		out += "?semver=" + r.versions
	}
	return out
}

// pinned returns the reference that always leads to a digest.
func (r reference) pinned(digest string) string { return scheme + r.repository + "@" + digest }

// revision returns the revision of a tag that led to a digest.
func revision(tag, digest string) string {
	if tag == "" {
		return digest
	}
	return tag + "@" + digest
}

func bad(text string, args ...any) error {
	return source.Refuse(source.ErrReference, fmt.Sprintf(text, args...)+": "+form)
}
