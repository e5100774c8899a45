// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Check is the result for an entry that was read back.
type Check struct {
	Ref plane.Ref
	// Digest equals the digest of the entry if nothing differs; "" if the object is not there.
	Digest string
	// Problem and Advice are "" for an object that is in order.
	Problem, Advice string
}

// ReadBack reads all entries from the target after an import, and checks their content, mark and
// owners, and that no object is being deleted. The checks are in the order of entries. Other objects
// with the mark of the pivot are an error of type Findings.
func ReadBack(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, id string) ([]Check, error) {
	t := &target{plane: p, kinds: kinds, id: id, uids: map[plane.Ref]types.UID{}}
	if err := t.check(entries); err != nil {
		return nil, err
	}

	// An entry that is not found keeps this check.
	positions := index(entries)
	checks := make([]Check, len(entries))
	owners := make([][]metav1.OwnerReference, len(entries))
	for i := range entries {
		checks[i] = Check{Ref: entries[i].Ref, Problem: "is not there", Advice: "import again"}
	}

	// Compare the objects that are there, and find the ones that should not be.
	err := survey(ctx, p, kinds, entries, func(o *unstructured.Unstructured) (err error) {
		i, ok := positions[plane.RefOf(o)]
		if !ok {
			if m, of := markOf(o); m != "" && of == id {
				t.add(plane.RefOf(o), "carries the mark of the pivot, and is not in its snapshot", "import again")
			}
			return nil
		}
		t.uids[checks[i].Ref] = o.GetUID()
		owners[i] = o.GetOwnerReferences()
		checks[i], err = t.verify(&entries[i], o)
		return err
	})
	if err := errors.Join(t.err(), err); err != nil {
		return nil, err
	}

	// All UIDs are known now: compare the owners.
	for i, e := range entries {
		for _, r := range owners[i] {
			if owner := t.owner(e.Ref, r); r.UID != t.uids[owner] && checks[i].Problem == "" {
				checks[i].Problem = fmt.Sprintf("its owner %s with UID %q is not there", owner, r.UID)
				checks[i].Advice = "import again"
			}
		}
	}
	return checks, nil
}

// verify compares an object with its entry.
func (t *target) verify(e *snapshot.Entry, o *unstructured.Unstructured) (Check, error) {
	paths, digest, err := differences(e, o)
	c := Check{Ref: e.Ref, Digest: digest}
	m, _ := markOf(o)
	if err != nil {
		return c, err
	}
	switch {
	case o.GetDeletionTimestamp() != nil:
		c.Problem, c.Advice = "is being deleted", "see what deletes it, and stop that"
	case len(paths) > 0:
		c.Problem = fmt.Sprintf("differs at %s; it was last written%s", strings.Join(paths, ", "), LastWriter(o))
		c.Advice = "a controller or webhook that alters objects of a paused Cluster: stop it, or upgrade it, and import again"
	case m != mark(t.id, e) && (m != "" || !e.Stays):
		c.Problem = fmt.Sprintf("does not carry the mark of the pivot; it was last written%s", LastWriter(o))
		c.Advice = "see what removes it, and import again"
	}
	return c, nil
}
