// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Presence records whether an object or a kind is in a cluster.
type Presence string

// The presences.
const (
	There   Presence = "there"
	Missing Presence = "missing"
	// NotServed: the cluster does not know the kind, or not in that version.
	NotServed Presence = "not served"
	// NoAccess: the user of the kubeconfig may not read it.
	NoAccess Presence = "no access"
)

// Find looks objects up, one after the other. For a Ref without a name it looks the kind up, in the
// given version if there is a version. The namespace is not used for a kind without namespaces.
// Without a namespace, an object of any namespace counts. It reads only the metadata of objects.
func (c *Cluster) Find(ctx context.Context, wanted []Wanted) ([]Presence, error) {
	served, err := c.readServed(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Presence, len(wanted))
	for i, w := range wanted {
		out[i], err = c.lookUp(ctx, served, w)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Wanted is an object, or a kind if Name is "".
type Wanted struct {
	Ref
	// Version of the kind; "" stands for any version.
	Version string `json:"version,omitempty"`
}

// lookUp returns the presence of an object or a kind.
func (c *Cluster) lookUp(ctx context.Context, all groups, w Wanted) (Presence, error) {
	// The kind must be served.
	served, err := all.kind(w.Kind + "." + w.Group)
	var state *Error
	switch {
	case errors.As(err, &state) && state.Absent:
		return NotServed, nil
	case err != nil:
		return "", err
	case w.Version != "" && !all.hasVersion(served, w.Version):
		return NotServed, nil
	case w.Name == "":
		return There, nil
	case !served.namespaced:
		w.Namespace = ""
	}

	// Without a namespace, an object of that name in any namespace will do.
	objects := c.metadata.Resource(served.GroupVersionResource).Namespace(w.Namespace)
	if served.namespaced && w.Namespace == "" {
		found, failed := objects.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + w.Name, Limit: 1})
		err = failed
		if err == nil && len(found.Items) == 0 {
			return Missing, nil
		}
	} else {
		_, err = objects.Get(ctx, w.Name, metav1.GetOptions{})
	}

	// An object that may not be read may be there all the same.
	switch {
	case apierrors.IsNotFound(err):
		return Missing, nil
	case apierrors.IsForbidden(err):
		return NoAccess, nil
	case err != nil:
		return "", c.refused(ctx, w.Ref, err)
	}
	return There, nil
}

// hasVersion reports whether a kind is served in a version.
func (all groups) hasVersion(k kind, version string) bool {
	for _, g := range all.Items {
		for _, v := range g.Versions {
			if g.Metadata.Name == k.Group && v.Version == version {
				return slices.ContainsFunc(v.Resources, func(r resource) bool { return r.ResponseKind.Kind == k.name })
			}
		}
	}
	return false
}
