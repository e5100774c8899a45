// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/ropewalk/ropewalk/render/check/kubernetes"
	"github.com/ropewalk/ropewalk/render/object"
)

// Namespaced reports whether objects of the kind of o belong to a namespace;
// known is false where no schema of the kind is known. It knows the kinds of the
// API server, of the built-in set and of [Options].CRDs.
func (c *Checker) Namespaced(o object.Object) (namespaced, known bool) {
	if info, ok := kubernetes.LookupKind(o.APIVersion(), o.Kind()); ok {
		return info.Namespaced, true
	}
	if d := c.lookup(o.Group(), o.Kind(), nil); d != nil {
		return d.Scope != "Cluster", true
	}
	return false, false
}
