// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
)

// checkWorkloads returns layers that are Ready when their workloads have rolled out. Without that
// a layer waits only for what a later one needs, and pods that never start are no failure.
//
// A kind with an expression of its own is left as it is: the expression names the objects that it
// is about, and would call any other object not ready for ever.
func checkWorkloads(layers []Layer) []Layer {
	out := slices.Clone(layers)
	for i := range out {
		checks := slices.Clone(out[i].HealthChecks)
		for _, r := range out[i].Objects {
			check := meta.NamespacedObjectKindReference{APIVersion: r.Group + "/" + r.Version, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
			isChecked := out[i].judges(check) || slices.Contains(checks, check)
			if isWorkload(r) && !isChecked {
				checks = append(checks, check)
			}
		}
		out[i].HealthChecks = checks
	}
	return out
}

// isWorkload reports whether an object rolls pods out, and stays.
func isWorkload(r ObjectRef) bool {
	return r.Group == "apps" && slices.Contains([]string{"DaemonSet", "Deployment", "StatefulSet"}, r.Kind)
}

// judges reports whether a layer has an expression for the kind of an object.
func (u *Layer) judges(check meta.NamespacedObjectKindReference) bool {
	for _, e := range u.HealthCheckExprs {
		if e.APIVersion == check.APIVersion && e.Kind == check.Kind {
			return true
		}
	}
	return false
}
