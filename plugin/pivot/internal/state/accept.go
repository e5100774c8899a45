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
	if h.accepts == nil {
		return nil
	}
	if err := h.accepts(h.request.Cluster); err != nil {
		return refuse(Blocked, "%s plane: %w", h.plane.Name(), err)
	}
	if h.request.Op == Abort {
		return nil // Its samples are deleted, and only if this pivot imported them.
	}
	return accept(h.accepts, h.request.Samples, func(snapshot.Entry) error { return nil })
}

// accept returns findings for the entries that Target.Accept refuses, or that do not pass a check.
func accept(accepts func(plane.Ref) error, entries []snapshot.Entry, check func(snapshot.Entry) error) error {
	if accepts == nil {
		return nil
	}
	var findings inventory.Findings
	for _, e := range entries {
		err := accepts(e.Ref)
		if err == nil {
			err = check(e)
		}
		if err != nil {
			problem := "the target does not take it: " + err.Error()
			findings = append(findings, inventory.Finding{Ref: e.Ref, Problem: problem, Advice: "take it out of what moves"})
		}
	}
	if len(findings) > 0 {
		return findings.Sorted()
	}
	return nil
}

// checkObject returns an error if an entry names another object than it has.
func checkObject(e snapshot.Entry) error {
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal(e.Object, &o); err != nil {
		return fmt.Errorf("the object is not JSON: %w", err)
	}
	gvk := o.GroupVersionKind()
	ref := plane.Ref{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.Namespace, Name: o.Name}
	if ref != e.Ref || o.APIVersion != e.APIVersion {
		return fmt.Errorf("its object is %s of %s", ref, o.APIVersion)
	}
	return nil
}
