// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// form describes references, for errors.
const form = "write Kind/namespace/name, where Kind is GitRepository, OCIRepository, Bucket or ExternalArtifact"

// reference is a source, and its artifact where that is pinned.
type reference struct {
	kind, namespace, name string
	// digest is algorithm:hex, "" for whatever the source has now.
	digest string
}

// parse reads a reference.
func parse(text string) (reference, error) {
	source, digest, pinned := strings.Cut(text, "@")
	parts := strings.Split(source, "/")
	if len(parts) != 3 || len(text) > 1024 {
		return reference{}, bad("the reference does not have three parts")
	}
	r := reference{kind: parts[0], namespace: parts[1], name: parts[2], digest: digest}
	switch {
	case !slices.Contains([]string{"GitRepository", "OCIRepository", "Bucket", "ExternalArtifact"}, r.kind):
		return reference{}, bad("%q is not a kind of source with files", r.kind)
	case !isName(r.namespace, 63) || strings.Contains(r.namespace, "."):
		return reference{}, bad("%q is not a namespace", r.namespace)
	case !isName(r.name, 253):
		return reference{}, bad("%q is not the name of a source", r.name)
	case !pinned:
		return r, nil
	}
	if _, err := parseDigest(digest); err != nil {
		return reference{}, bad("%q is not a digest (%v)", digest, err)
	}
	return r, nil
}

// isName reports whether s is a name as Kubernetes has them (RFC 1123, 2.1).
func isName(s string, limit int) bool {
	hasOnlyValid := strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
	return s != "" && len(s) <= limit && hasOnlyValid && strings.Trim(s, "-.") == s
}

// String returns the source, without a digest.
func (r reference) String() string { return r.kind + "/" + r.namespace + "/" + r.name }

// pinned returns the reference to an artifact of the source.
func (r reference) pinned(digest string) string { return r.String() + "@" + digest }

func bad(text string, args ...any) error {
	return source.Refuse(source.ErrReference, fmt.Sprintf(text, args...)+": "+form)
}

// fault returns an error about a source that matches is.
func fault(is error, r reference, text string, args ...any) error {
	return source.Refuse(is, r.String()+": "+fmt.Sprintf(text, args...))
}

// about puts the source before an error.
func about(r reference, err error) error { return fmt.Errorf("%s: %w", r, err) }
