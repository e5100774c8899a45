// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// key identifies an object in a cluster: group/kind/namespace/name.
type key string

// key returns the key of an object. The version is left out, because two versions show the same
// object.
func (r ObjectRef) key() key { return key(r.Group + "/" + r.Kind + "/" + r.Namespace + "/" + r.Name) }

// mark says whether a hand-over has changed the manifest of an object in an artifact.
type mark uint8

const (
	// plain: the manifest is as it was rendered.
	plain mark = iota
	// marked: Flux prunes it neither here nor elsewhere.
	marked
)

// manifest is the manifest of an object in an artifact. Its sum is taken of the text without the
// mark.
type manifest struct {
	sum  string
	mark mark
	// once: Flux leaves the object alone where it exists.
	once bool
}

// content holds the manifests of an artifact.
type content map[key]manifest

// suspension of a Kustomization.
type suspension uint8

const (
	_ suspension = iota
	// ours: its artifact and its health checks are about to change together.
	ours
	// theirs: a user has suspended it.
	theirs
)

// state is a layer as the cluster has it.
type state struct {
	name string
	// absent: there is a source, and no Kustomization.
	absent bool
	// digest is the digest in its source, "" where the source is missing.
	digest string
	// elsewhere: the digest belongs to an output that the Transform had before.
	elsewhere bool
	// content is read from the artifact of the digest; known is false if it could not be read.
	content content
	known   bool
	// stained are objects that an earlier artifact had marked and the present artifact has plain:
	// they are marked in the cluster until it is applied.
	stained map[key]bool
	// health identifies the health checks of its Kustomization.
	health string
	// fetched: the source has the artifact of its digest.
	fetched bool
	// applied: the artifact is the last that Flux applied, and no other artifact can be applied
	// now; healthy: and the layer is Ready.
	applied, healthy bool
	// failed: Flux could not apply it, and will try again or not.
	failed bool
	// refused are objects that Flux names as the reason.
	refused map[key]bool
	// idle: Flux has seen that it is suspended, so that nothing is under way.
	idle      bool
	suspended suspension
	deleting  bool
	// inventory has the objects that Flux reports as applied.
	inventory map[key]bool
}

// dirty reports whether an object may be marked in the cluster because of s.
func (s *state) dirty(k key) bool {
	return s.content[k].mark == marked || !s.applied && s.stained[k]
}

// stains returns the objects that will be stained when c replaces the content of s.
func (s *state) stains(c content) map[key]bool {
	out := map[key]bool{}
	if s == nil {
		return out
	}
	for k, m := range c {
		if m.mark == plain && s.dirty(k) {
			out[k] = true
		}
	}
	return out
}

// desired is a layer that is to be delivered.
type desired struct {
	name    string
	digest  string
	after   []string
	content content
	health  string
	// lacks names the object outside of the render that it has to wait for, "" if nothing is missing.
	lacks string
}

// goal is the state that a layer should reach now.
type goal struct {
	layer string
	// remove: its Kustomization is to be deleted.
	remove bool
	// orphan: the objects that it applied are to stay.
	orphan bool
	// keep: its source is as it should be.
	keep bool
	// content is for its artifact, and health identifies the health checks of its Kustomization.
	content content
	health  string
	// quiesce: nothing may be under way when the source is changed.
	quiesce bool
	// released: it has, or gets now, all that is wanted of it.
	released bool
	// waits is the reason why it is neither released nor to be removed.
	waits string
	// others names an object that it keeps for another Transform, or has to get from it.
	others string
}

// ordered returns the names of layers in the order in which they are released: numbers count as
// such, and a layer comes before its shards.
func ordered[V any](layers map[string]V) []string {
	return slices.SortedFunc(maps.Keys(layers), natural)
}

// natural compares names by their parts between hyphens.
func natural(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "-"), strings.Split(b, "-"), func(x, y string) int {
		m, errX := strconv.Atoi(x)
		n, errY := strconv.Atoi(y)
		if errX == nil && errY == nil {
			return cmp.Compare(m, n)
		}
		return cmp.Compare(x, y)
	})
}
