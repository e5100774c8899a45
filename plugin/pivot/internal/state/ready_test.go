// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

// doomed marks an object as Kubernetes does that deletes what is behind it later: a namespace, or a
// definition. All objects are there still, and can be written.
func doomed(s *planetest.Server, r plane.Ref) {
	s.Edit(r, "user", func(o *unstructured.Unstructured) {
		now := metav1.Now()
		o.SetFinalizers([]string{"kubernetes"})
		o.SetDeletionTimestamp(&now)
	})
}

var (
	namespaceOfTarget = plane.Ref{Kind: "Namespace", Name: "apps"}
	definition        = plane.Ref{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "devmachines." + planetest.Infrastructure}
)

// losses are what a pivot relies on and a target can lose.
func losses() map[string]func(w *world) {
	return map[string]func(w *world){
		"Namespace apps: is being deleted from the target plane":                                                                            func(w *world) { doomed(w.target, namespaceOfTarget) },
		"CustomResourceDefinition.apiextensions.k8s.io devmachines.infrastructure.cluster.x-k8s.io: is being deleted from the target plane": func(w *world) { doomed(w.target, definition) },
	}
}

// silent is a source that does not answer.
func silent(context.Context, string) error { return nil }

// TestATargetThatIsAboutToLoseEverythingIsNotActivated: before the commit the move is undone; after
// it the run stops, with the source paused and complete.
func TestATargetThatIsAboutToLoseEverythingIsNotActivated(t *testing.T) {
	for what, lose := range losses() {
		for _, step := range append(beforeCommit(), forward()...) {
			if step == Freezing {
				continue // There is no namespace yet.
			}
			for _, killed := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s after %s, killed %t", what, step, killed), func(t *testing.T) {
					w := newWorld(t, 1)
					s, lost := w.coordinator(), false
					if killed {
						w.until(step)
						lose(w)
						s.Resume = true
					}
					s.Report = func(e Event) {
						if e.Step == step && !killed && !lost {
							lost = true
							lose(w)
						}
					}
					_, err := s.Run(t.Context())
					require.ErrorContains(t, err, what)
					var found inventory.Findings
					require.ErrorAs(t, err, &found, "for a user to decide on")
					if !step.Forward() {
						require.ErrorIs(t, err, ErrAborted)
						w.back()
						return
					}
					require.NotErrorIs(t, err, ErrAborted)
					_, paused := w.paused(w.source)
					require.True(t, paused)
					require.Equal(t, len(w.refs), w.has(w.source), "everything is kept")
					_, paused = w.paused(w.target)
					require.Equal(t, step == Committed, paused, "what is about to be deleted is not activated")
				})
			}
		}
	}
}

func TestATakeoverOfATargetThatIsAboutToLoseEverythingIsRefused(t *testing.T) {
	for what, lose := range losses() {
		for _, step := range []Step{Staged, Imported, Verified, Committed} {
			w := newWorld(t, 1)
			w.until(step)
			lose(w)
			before := w.receipt(w.target)
			target := &Target{Plane: w.plane("target", w.target), Now: w.clock}
			_, err := target.Takeover(t.Context(), w.coordinator().Cluster, "a test", silent)
			require.ErrorContains(t, err, what, step)
			require.Equal(t, before.Step.Forward(), w.receipt(w.target).Step.Forward(), "%s after %s", what, step)
			if there, paused := w.paused(w.target); there {
				require.True(t, paused)
			}
		}
	}
}

// TestANamespaceThatIsDeletedWhileTheSourceIs: nothing more is deleted once the target loses it.
func TestANamespaceThatIsDeletedWhileTheSourceIs(t *testing.T) {
	w := newWorld(t, 1)
	deleted := 0
	w.source.After = func(r planetest.Request) error {
		if r.Verb == "delete" && r.Ref.Kind != "ConfigMap" {
			if deleted++; deleted == 1 {
				doomed(w.target, namespaceOfTarget)
			}
		}
		return nil
	}
	_, err := w.coordinator().Run(t.Context())
	require.ErrorContains(t, err, "Namespace apps: is being deleted from the target plane")
	there, paused := w.paused(w.source)
	require.True(t, there && paused, "the Cluster is deleted last")
	require.Less(t, deleted, len(w.refs)/2)
}

// TestControllersThatDoNotRunOnTheTarget are found before the commit, and the move is undone.
func TestControllersThatDoNotRunOnTheTarget(t *testing.T) {
	w := newWorld(t, 1)
	s := w.coordinator()
	var waits []string
	s.Link = w.mortal(&Target{Now: w.clock, Plane: plane.New(w.target.Client(), w.target.Options(plane.Options{
		Name: "target", Server: "https://target.test", Waits: func(what string) { waits = append(waits, what) },
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}))})
	_, err := s.Run(t.Context())
	require.ErrorIs(t, err, ErrAborted)
	require.ErrorContains(t, err, "has no condition Paused")
	w.back()
	require.NotEmpty(t, waits)
	require.Contains(t, waits[0], "waiting for controllers of the target plane, up to 5m0s: ")
}

// TestAWebhookOfTheTargetThatRefusesTheActivation is found before the commit.
func TestAWebhookOfTheTargetThatRefusesTheActivation(t *testing.T) {
	w := newWorld(t, 1)
	w.target.Before = func(r planetest.Request) error {
		if r.Verb == "update" && r.Ref.Kind == "Cluster" && r.DryRun {
			return apierrors.NewInternalError(errors.New(`failed calling webhook "validation.cluster.cluster.x-k8s.io": connection refused`))
		}
		return nil
	}
	_, err := w.coordinator().Run(t.Context())
	require.ErrorIs(t, err, ErrAborted)
	require.ErrorContains(t, err, "Cluster.cluster.x-k8s.io apps/blue: cannot be activated")
	require.ErrorContains(t, err, "failed calling webhook")
	w.back()
	w.target.Before = nil
	_, err = w.coordinator().Run(t.Context())
	require.NoError(t, err)
	w.moved()
}

// activating stops an activation before the Cluster is unpaused: all marks but its own are gone.
func (w *world) activating() {
	w.t.Helper()
	w.until(Committed)
	w.target.Before = func(r planetest.Request) error {
		if r.Verb == "update" && r.Ref == w.cluster && !r.DryRun {
			return apierrors.NewForbidden(schema.GroupResource{Group: planetest.Core, Resource: "clusters"}, r.Ref.Name, errors.New("company policy 42 says no"))
		}
		return nil
	}
	require.ErrorContains(w.t, w.resume(), "company policy 42 says no")
	w.target.Before = nil
	require.Equal(w.t, Activating, w.receipt(w.target).Step)
}

// TestAnObjectThatIsLostWhileTheTargetIsActivatedIsImportedAgain, whichever it is.
func TestAnObjectThatIsLostWhileTheTargetIsActivatedIsImportedAgain(t *testing.T) {
	for i := range newWorld(t, 1).refs {
		w := newWorld(t, 1)
		w.activating()
		w.target.Remove(w.refs[i])
		if i%3 > 0 {
			w.target.Collect() // What it owned is being deleted, or gone, by then.
		}
		require.NoError(t, w.resume(), w.refs[i])
		w.moved()
	}
}

// TestAnObjectThatIsBeingDeletedWhileTheTargetIsActivated is for the user: once it is gone, it is
// imported again.
func TestAnObjectThatIsBeingDeletedWhileTheTargetIsActivated(t *testing.T) {
	for _, at := range []string{"Committed", "Activating"} {
		w := newWorld(t, 1)
		if at == "Committed" {
			w.until(Committed)
		} else {
			w.activating()
		}
		kind := plane.Kind{Group: planetest.Core, Kind: "Cluster", Resource: "clusters", Version: "v1beta2", Namespaced: true}
		require.NoError(t, w.plane("user", w.target).Delete(t.Context(), kind, w.target.Object(w.cluster)))
		err := w.resume()
		require.ErrorContains(t, err, "Cluster.cluster.x-k8s.io apps/blue: is being deleted from the target plane")
		require.ErrorIs(t, err, ErrStep)
		w.invariants()
		w.target.Edit(w.cluster, "user", func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
		w.target.Collect()
		require.NoError(t, w.resume(), at)
		w.moved()
	}
}

// TestWhatAnActiveTargetDeletesStaysDeleted: the process died before it could write that it is active.
func TestWhatAnActiveTargetDeletesStaysDeleted(t *testing.T) {
	w := newWorld(t, 1)
	w.until(Committed)
	w.target.After = func(r planetest.Request) error {
		if r.Verb == "update" && r.Ref == w.cluster && !r.DryRun {
			w.target.Die()
		}
		return nil
	}
	require.Error(t, w.resume())
	w.target.Revive()
	w.target.After = nil
	require.Equal(t, Activating, w.receipt(w.target).Step)
	_, paused := w.paused(w.target)
	require.False(t, paused)
	machine := plane.Ref{Group: planetest.Core, Kind: "Machine", Namespace: "apps", Name: "blue-md-0-0"}
	w.target.Remove(machine)
	require.NoError(t, w.resume())
	require.Nil(t, w.target.Object(machine))
}
