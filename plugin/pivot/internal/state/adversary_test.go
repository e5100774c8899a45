// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

// unstage removes what is staged on the target.
func (w *world) unstage() {
	for _, o := range w.target.Objects() {
		if o.GetLabels()[ChunkLabel] != "" {
			w.target.Remove(plane.RefOf(o))
		}
	}
}

func TestASourceThatChangedCannotBeStagedAgainAfterTheCommit(t *testing.T) {
	w := newWorld(t, 1)
	w.until(Committed)
	w.unstage()
	deployment := plane.Ref{Group: planetest.Core, Kind: "MachineDeployment", Namespace: "apps", Name: "blue-md"}
	note := func(value string) {
		w.source.Edit(deployment, "user", func(o *unstructured.Unstructured) {
			if o.SetAnnotations(map[string]string{"note": value}); value == "" {
				o.SetAnnotations(nil)
			}
		})
	}
	note("changed")
	require.ErrorContains(t, w.resume(), "undo the changes of MachineDeployment.cluster.x-k8s.io apps/blue-md")
	w.invariants()
	note("")
	require.NoError(t, w.resume())
	w.moved()
}
