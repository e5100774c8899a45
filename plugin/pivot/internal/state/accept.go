// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// checkAcceptable refuses a request about objects that the target does not accept.
func (h *handling) checkAcceptable() error {
	if h.takes == nil {
		return nil
	}
	if err := h.takes(h.request.Cluster); err != nil {
		return refuse(Blocked, "%s plane: %w", h.plane.Name(), err)
	}
	if h.request.Op == Abort {
		return nil // The samples are what to delete, and only what this pivot imported is.
	}
	return accept(h.takes, h.request.Samples, func(snapshot.Entry) error { return nil })
}

// accept returns findings for the entries that are not accepted, or that do not pass a check. Takes
// is Target.Accept.
func accept(takes func(plane.Ref) error, entries []snapshot.Entry, check func(snapshot.Entry) error) error {
	if takes == nil {
		return nil
	}
	var wrong inventory.Findings
	for _, e := range entries {
		err := takes(e.Ref)
		if err == nil {
			err = check(e)
		}
		if err != nil {
			wrong = append(wrong, inventory.Finding{Ref: e.Ref, Problem: "the target does not take it: " + err.Error(), Advice: "take it out of what moves"})
		}
	}
	if len(wrong) > 0 {
		return wrong.Sorted()
	}
	return nil
}

// checkObject returns an error if the object of an entry is not the one that the entry names.
func checkObject(e snapshot.Entry) error {
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal(e.Object, &o); err != nil {
		return fmt.Errorf("the object is not JSON: %w", err)
	}
	gvk := o.GroupVersionKind()
	is := plane.Ref{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.Namespace, Name: o.Name}
	if is != e.Ref || o.APIVersion != e.APIVersion {
		return fmt.Errorf("its object is %s of %s", is, o.APIVersion)
	}
	return nil
}
