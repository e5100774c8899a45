// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
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

// beforeCommit and forward are the steps of a source that has not ended.
func beforeCommit() []Step {
	return []Step{Freezing, Frozen, Snapshotted, Staged, Imported, Verified}
}

func forward() []Step { return []Step{Committed, Activated, Confirmed} }

func (w *world) receiptRef() plane.Ref {
	return plane.Ref{Kind: "ConfigMap", Namespace: "apps", Name: ReceiptName(w.cluster.Name)}
}

// delete deletes as kubectl does.
func (w *world) delete(s *planetest.Server, r plane.Ref) {
	w.t.Helper()
	if s.Object(r) != nil {
		require.NoError(w.t, w.plane("user", s).Delete(w.t.Context(), plane.ConfigMapKind, s.Object(r)))
	}
}

func TestAReceiptThatIsDeletedStaysUntilThePivotHasEnded(t *testing.T) {
	for _, step := range append(beforeCommit(), forward()...) {
		for _, end := range []string{"source", "target", "both"} {
			w := newWorld(t, 1)
			w.until(step)
			if end != "target" {
				w.delete(w.source, w.receiptRef())
			}
			if end != "source" {
				w.delete(w.target, w.receiptRef())
			}
			require.NoError(t, w.resume(), "%s after %s", end, step)
			w.moved()
		}
	}
	for _, step := range beforeCommit() {
		w := newWorld(t, 1)
		w.until(step)
		w.delete(w.source, w.receiptRef())
		w.delete(w.target, w.receiptRef())
		_, err := w.coordinator().Abort(t.Context(), false)
		require.NoError(t, err)
		w.back()
		require.Nil(t, w.receipt(w.source))
	}
}

func TestATargetThatHasLostItsReceipt(t *testing.T) {
	for _, step := range append(beforeCommit(), forward()...) {
		w := newWorld(t, 1)
		w.until(step)
		w.target.Remove(w.receiptRef())
		require.NoError(t, w.resume(), step)
		w.moved()
	}
	for _, step := range beforeCommit() {
		w := newWorld(t, 1)
		w.until(step)
		w.target.Remove(w.receiptRef())
		_, err := w.coordinator().Abort(t.Context(), false)
		require.NoError(t, err, step)
		w.back()
		require.NoError(t, w.resume())
		w.moved()
	}
}

func TestATargetThatHasLostEverythingAfterTheCommit(t *testing.T) {
	w := newWorld(t, 1)
	w.until(Committed)
	for _, o := range w.target.Objects() {
		w.target.Remove(plane.RefOf(o))
	}
	require.NoError(t, w.resume())
	w.moved()
}

func TestATargetWithEmptyAnswers(t *testing.T) {
	for _, step := range append(beforeCommit(), forward()...) {
		w := newWorld(t, 1)
		w.until(step)
		w.link = func(Link) Link {
			return LinkFunc(func(context.Context, Request) (Response, error) { return Response{}, nil })
		}
		require.ErrorContains(t, w.resume(), "does not say which plane it is", step)
		w.invariants()
		w.link = nil
		require.NoError(t, w.resume(), step)
		w.moved()
	}
}

// pause sets spec.paused of the Cluster as a user does.
func (w *world) pause(s *planetest.Server, paused bool) {
	s.Edit(w.cluster, "user", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, paused, "spec", "paused")
	})
	s.Observe()
}

func TestASourceThatIsUnpausedByAnotherClientIsNotActivatedTwice(t *testing.T) {
	for _, step := range beforeCommit() {
		w := newWorld(t, 1)
		w.until(step)
		w.pause(w.source, false)
		require.NoError(t, w.resume(), step)
		w.moved()
	}
	w := newWorld(t, 1)
	w.until(Committed)
	w.pause(w.source, false)
	require.ErrorContains(t, w.resume(), "is not paused any more")
	w.invariants()
	w.pause(w.source, true)
	require.NoError(t, w.resume())
	w.moved()
}

func TestLongNames(t *testing.T) {
	for _, length := range []int{63, 64, 200, 201, 253} {
		w := newWorldOf(t, strings.Repeat("b", length), 0)
		w.source.Before = fits(t)
		w.target.Before = fits(t)
		_, err := w.coordinator().Run(t.Context())
		require.NoError(t, err)
		w.moved()
	}
	require.NotEqual(t, ReceiptName(strings.Repeat("b", 250)), ReceiptName(strings.Repeat("b", 251)))
}

// fits refuses what the pivot itself names, or labels, longer than a server accepts.
func fits(t *testing.T) func(planetest.Request) error {
	return func(r planetest.Request) error {
		if r.Write() && r.Object != nil && (r.Object.GetLabels()[ReceiptLabel] != "" || r.Object.GetLabels()[ChunkLabel] != "") {
			require.Empty(t, validation.IsDNS1123Subdomain(r.Object.GetName()))
			for _, v := range r.Object.GetLabels() {
				require.Empty(t, validation.IsValidLabelValue(v))
			}
		}
		return nil
	}
}

func TestASourceThatIsDeletedIsNotUndoneWithoutTheUser(t *testing.T) {
	for _, step := range beforeCommit() {
		w := newWorld(t, 1)
		w.until(step)
		w.source.Terminate("apps")
		err := w.resume()
		require.ErrorIs(t, err, errDeleted, step)
		require.NotErrorIs(t, err, ErrAborted)
		if step == Verified || step == Imported {
			require.Len(t, w.refs, w.has(w.target), "the only copy of some objects")
		}
		_, err = w.coordinator().Abort(t.Context(), false)
		require.NoError(t, err, step)
		require.Nil(t, w.receipt(w.source), "nothing keeps the namespace")
		require.Zero(t, w.has(w.target))
	}
	w := newWorld(t, 1)
	w.until(Verified)
	w.source.Remove(w.cluster)
	_, err := w.coordinator().Abort(t.Context(), false)
	require.NoError(t, err, "there is nothing to unpause")
}

func TestATargetNamespaceThatIsDeleted(t *testing.T) {
	for _, step := range beforeCommit() {
		w := newWorld(t, 1)
		w.until(step)
		w.target.Terminate("apps")
		_, err := w.coordinator().Abort(t.Context(), false)
		require.NoError(t, err, step)
		w.back()
		if step != Freezing { // The namespace was not there yet.
			require.Nil(t, w.receipt(w.target), "nothing keeps the namespace")
		}
	}
	w := newWorld(t, 1)
	w.until(Committed)
	w.target.Terminate("apps")
	require.Error(t, w.resume())
	w.invariants()
	_, paused := w.paused(w.target)
	require.True(t, paused, "what is being deleted is not activated")
	for _, o := range w.target.Objects() {
		w.target.Remove(plane.RefOf(o))
	}
	w.target.Remove(plane.Ref{Kind: "Namespace", Name: "apps"})
	require.NoError(t, w.resume())
	w.moved()
}

// TestTwoClustersOfANamespaceMoveAtOnce has a pivot begin, and end, at each step of another.
func TestTwoClustersOfANamespaceMoveAtOnce(t *testing.T) {
	for _, step := range append(beforeCommit(), forward()...) {
		w := newWorld(t, 1)
		green := *w
		green.cluster.Name = "green"
		green.refs = green.put("green", 1)
		first := w.coordinator()
		first.Report = func(e Event) {
			if e.Step == step {
				_, err := green.coordinator().Run(t.Context())
				require.NoError(t, err)
			}
		}
		_, err := first.Run(t.Context())
		require.NoError(t, err, step)
		w.moved()
		green.moved()
	}
	w := newWorld(t, 1)
	green := *w
	green.cluster.Name = "green"
	green.refs = green.put("green", 1)
	w.until(Imported)
	green.until(Imported)
	_, err := w.coordinator().Abort(t.Context(), false)
	require.NoError(t, err)
	w.back()
	require.NoError(t, green.resume())
	green.moved()
}

func TestTheSourceGoesOnAfterTakeovers(t *testing.T) {
	w := newWorld(t, 1)
	w.until(Committed)
	target := &Target{Plane: w.plane("target", w.target), Now: w.clock}
	for range 3 { // Each is killed before it unpauses the Cluster.
		w.target.Kill(1)
		_, err := target.Takeover(t.Context(), w.coordinator().Cluster, "a test", func(context.Context, string) error { return nil })
		require.Error(t, err)
		w.target.Revive()
	}
	require.NoError(t, w.resume())
	w.moved()
}

func TestAnOutlineThatIsEditedDeletesNothing(t *testing.T) {
	for name, edit := range map[string]func(o *unstructured.Unstructured){
		"missing": func(o *unstructured.Unstructured) { delete(o.Object, "binaryData") },
		"another": func(o *unstructured.Unstructured) {
			packed, err := pack([]snapshot.Entry{{Ref: plane.Ref{Kind: "Secret", Namespace: "apps", Name: "other"}}})
			require.NoError(t, err)
			o.Object["binaryData"] = map[string]any{outlineKey: base64.StdEncoding.EncodeToString(packed)}
		},
	} {
		w := newWorld(t, 1)
		w.until(Confirmed)
		before := w.source.Object(w.receiptRef())
		w.source.Edit(w.receiptRef(), "user", edit)
		require.ErrorContains(t, w.resume(), "outline.gz", name)
		require.Equal(t, len(w.refs), w.has(w.source))
		w.source.Edit(w.receiptRef(), "user", func(o *unstructured.Unstructured) { o.Object["binaryData"] = before.Object["binaryData"] })
		require.NoError(t, w.resume())
		w.moved()
	}
}

func TestASourceThatHasLostItsReceiptCanAbort(t *testing.T) {
	for _, step := range append(beforeCommit(), Committed) {
		w := newWorld(t, 1)
		w.until(step)
		w.source.Remove(w.receiptRef())
		if step == Freezing { // Nothing had been done.
			_, err := w.coordinator().Abort(t.Context(), false)
			require.ErrorContains(t, err, "no pivot")
		} else {
			require.Regexp(t, "is under way|is paused", w.resume())
			_, err := w.coordinator().Abort(t.Context(), false)
			require.NoError(t, err, step)
		}
		w.back()
		require.NoError(t, w.resume())
		w.moved()
	}
	for _, step := range []Step{Activated, Confirmed} {
		w := newWorld(t, 1)
		w.until(step)
		w.source.Remove(w.receiptRef())
		_, err := w.coordinator().Abort(t.Context(), false)
		require.ErrorContains(t, err, "the target is in charge")
		w.invariants()
		_, paused := w.paused(w.source)
		require.True(t, paused)
	}
}

func TestRequestsOfPivotsThatHaveEndedComeTooLate(t *testing.T) {
	w := newWorld(t, 1)
	w.until(Frozen)
	old := w.receipt(w.source)
	_, err := w.coordinator().Abort(t.Context(), false)
	require.NoError(t, err)
	_, err = w.coordinator().Run(t.Context())
	require.NoError(t, err)
	target := &Target{Plane: w.plane("target", w.target), Now: w.clock}
	for _, op := range []Op{Prepare, Held, Stage, Seal, Import, Verify, Activate, Confirm, Finish, Abort} {
		_, err := target.Call(t.Context(), Request{Op: op, Pivot: old.ID, Epoch: old.Epoch, Cluster: w.cluster, Source: &old.Source, Samples: w.receipt(w.source).Outline})
		require.NoError(t, err)
		w.moved()
	}
}

func TestAnAbortWithoutAKindOnTheTarget(t *testing.T) {
	w := newWorld(t, 1)
	w.until(Imported)
	w.target.Remove(plane.Ref{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "devmachines." + planetest.Infrastructure})
	for _, r := range w.refs {
		if r.Kind == "DevMachine" {
			w.target.Remove(r)
		}
	}
	_, err := w.coordinator().Abort(t.Context(), false)
	require.NoError(t, err)
	w.back()
}

// TestATakeoverOfASnapshotThatIsNotTheLast: the source had begun to take another one.
func TestATakeoverOfASnapshotThatIsNotTheLast(t *testing.T) {
	w := newWorld(t, 1)
	deployment := plane.Ref{Group: planetest.Core, Kind: "MachineDeployment", Namespace: "apps", Name: "blue-md"}
	note := func(annotations map[string]string) {
		w.source.Edit(deployment, "user", func(o *unstructured.Unstructured) { o.SetAnnotations(annotations) })
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, snapshots := w.coordinator(), 0
	s.Report = func(e Event) {
		if e.Step == Imported {
			note(map[string]string{"note": "late"})
		}
		if e.Step == Snapshotted {
			if snapshots++; snapshots == 2 {
				cancel()
			}
		}
	}
	_, err := s.Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	target := &Target{Plane: w.plane("target", w.target), Now: w.clock}
	_, err = target.Takeover(t.Context(), w.coordinator().Cluster, "a test", func(context.Context, string) error { return nil })
	require.NoError(t, err)

	require.ErrorContains(t, w.resume(), "undo them on the source")
	_, err = w.coordinator().Abort(t.Context(), false)
	require.ErrorContains(t, err, "undo them on the source")
	w.invariants()
	note(nil)
	require.NoError(t, w.resume())
	w.moved()
}
