// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/mover"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

// TestAnAbortOfARunThatIsAlive lets the run write receipts after the abort has read them, and before
// it writes: the abort wins, or says that the commit was before it.
func TestAnAbortOfARunThatIsAlive(t *testing.T) {
	won, late := 0, 0
	for end, most := range map[string]int{"source": 4, "target": 2} {
		for _, step := range beforeCommit() {
			for contests := range most {
				w := newWorld(t, 1)
				run := w.coordinator()
				var ran error
				next, stop := iter.Pull(func(yield func(Step) bool) {
					run.Report = func(e Event) {
						if e.Step != "" {
							yield(e.Step)
						}
					}
					_, ran = run.Run(context.WithoutCancel(t.Context()))
				})
				defer stop()
				for at := Step(""); at != step; at, _ = next() {
				}
				server, left := map[string]*planetest.Server{"source": w.source, "target": w.target}[end], contests
				server.Before = func(r planetest.Request) error {
					if r.Ref == w.receiptRef() && r.Verb == "update" && strings.Contains(content(r.Object), `"step": "Aborting"`) && left > 0 {
						left--
						next()
					}
					return nil
				}
				_, err := w.coordinator().Abort(t.Context(), false)
				server.Before = nil
				for ok := true; ok; {
					_, ok = next()
				}
				if err == nil {
					won++
					require.ErrorIs(t, ran, ErrFenced, "%s after %s", end, step)
					w.back()
					continue
				}
				late++
				require.ErrorContains(t, err, "is committed, at step ", "%s after %s", end, step)
				require.ErrorIs(t, err, ErrStep)
				require.NoError(t, ran)
				w.moved()
			}
		}
	}
	require.Positive(t, won)
	require.Equal(t, 3+2+1, late, "where the run had three, two, or one step to its commit")
}

// TestASourceThatGoesOffersATakeover: the target has the last complete copy, and is not deleted
// without the user.
func TestASourceThatGoesOffersATakeover(t *testing.T) {
	for name, lose := range map[string]func(w *world){
		"its namespace is about to be deleted": func(w *world) { doomed(w.source, namespaceOfTarget) },
		"its namespace is being deleted":       func(w *world) { w.source.Terminate("apps") },
		"the Cluster is gone":                  func(w *world) { w.source.Remove(w.cluster) },
		"a Secret went before the namespace": func(w *world) {
			doomed(w.source, namespaceOfTarget)
			for _, r := range w.refs {
				if r.Kind == "Secret" {
					w.source.Remove(r)
				}
			}
		},
	} {
		for _, step := range []Step{Staged, Imported, Verified} {
			w := newWorld(t, 1)
			w.until(step)
			lose(w)
			err := w.resume()
			require.ErrorIs(t, err, errDeleted, "%s after %s", name, step)
			require.ErrorIs(t, err, ErrStep, "it is for the user to decide on")
			require.NotErrorIs(t, err, ErrAborted)
			require.ErrorContains(t, err, "`ropewalk pivot takeover")
			target := &Target{Plane: w.plane("target", w.target), Now: w.clock}
			_, err = target.Takeover(t.Context(), w.coordinator().Cluster, "a test", silent)
			require.NoError(t, err, "%s after %s", name, step)
			w.invariants()
			require.NoError(t, w.resume(), "%s after %s", name, step)
			w.moved()
		}
	}
}

func TestAnAbortIsRepeatedOnceALostTargetIsBack(t *testing.T) {
	for _, step := range beforeCommit() {
		w := newWorld(t, 1)
		w.until(step)
		s := w.coordinator()
		s.Link = LinkFunc(func(context.Context, Request) (Response, error) { return Response{}, errDead })
		_, err := s.Abort(t.Context(), true)
		require.NoError(t, err)
		w.invariants()
		_, err = w.coordinator().Abort(t.Context(), false)
		require.NoError(t, err, step)
		w.back()
		_, err = w.coordinator().Run(t.Context())
		require.NoError(t, err, step)
		w.moved()
	}
}

// abortedWithLateWrites is a world whose pivot is aborted, and what it had imported, which is on
// the target again.
func abortedWithLateWrites(t *testing.T) (*world, []*unstructured.Unstructured) {
	t.Helper()
	w := newWorld(t, 1)
	w.until(Imported)
	late := w.target.Objects()
	_, err := w.coordinator().Abort(t.Context(), false)
	require.NoError(t, err)
	late = slices.DeleteFunc(late, func(o *unstructured.Unstructured) bool { return o.GetKind() == "ConfigMap" })
	w.target.Put(late...)
	return w, late
}

func TestAnAbortIsRepeatedAfterLateWrites(t *testing.T) {
	w, _ := abortedWithLateWrites(t)
	by := func(manager string) {
		w.source.Edit(w.cluster, manager, func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(o.Object, true, "spec", "paused")
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: manager, Operation: "Update", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:paused":{}}}`)}})
		})
	}
	by("user")
	_, err := w.coordinator().Abort(t.Context(), false)
	require.NoError(t, err)
	require.Zero(t, w.has(w.target))
	_, paused := w.paused(w.source)
	require.True(t, paused, "what another client paused stays so")
	by(mover.Manager)
	_, err = w.coordinator().Abort(t.Context(), false)
	require.NoError(t, err)
	w.back()
	w.source.Remove(w.refs...)
	_, err = w.coordinator().Abort(t.Context(), false)
	require.NoError(t, err)
}

// A request of the run that an abort overtook came late: the next run begins with undoing it.
func TestARunUndoesTheLateWritesOfAnAbortedOne(t *testing.T) {
	w, late := abortedWithLateWrites(t)
	_, err := w.coordinator().Run(t.Context())
	require.NoError(t, err)
	w.moved()

	// What no pivot is known of stands in the way, as before.
	w = newWorld(t, 1)
	for _, o := range late {
		if o.GetKind() == "Cluster" {
			w.target.Put(o)
		}
	}
	_, err = w.coordinator().Run(t.Context())
	require.ErrorContains(t, err, "a pivot has left it there, whose receipt is gone")
}
