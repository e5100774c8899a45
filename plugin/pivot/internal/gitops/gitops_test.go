// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

func TestThawRestoresExactlyWhatFreezeHasChanged(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"all at work":                             func(*world) {},
		"the Transform is suspended by a user":    func(w *world) { w.set(transform, true, "spec", "suspend") },
		"a Kustomization is suspended by a user":  func(w *world) { w.set(layer1, true, "spec", "suspend") },
		"a field says that it is not":             func(w *world) { w.set(layer0, false, "spec", "suspend") },
		"the Application does not sync by itself": func(w *world) { w.set(application, nil, "spec", "syncPolicy", "automated") },
		"the automated sync has no settings":      func(w *world) { w.set(application, map[string]any{}, "spec", "syncPolicy", "automated") },
		"the automated sync has a setting of numbers": func(w *world) {
			w.set(application, map[string]any{"retries": int64(3)}, "spec", "syncPolicy", "automated")
		},
		"the cluster is delivered by Flux alone": func(w *world) { w.server.Remove(application) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			change(w)
			before := w.specs()
			require.NoError(t, w.freeze())
			if w.server.Object(application) != nil {
				w.still()
			}
			frozen := w.specs()
			require.NoError(t, w.freeze())
			require.Equal(t, frozen, w.specs(), "a second time changes nothing")
			require.NoError(t, w.thaw())
			require.Equal(t, before, w.specs())
			require.NoError(t, w.thaw())
			require.Equal(t, before, w.specs())
			require.NoError(t, w.freeze())
			require.Equal(t, frozen, w.specs())
		})
	}
}

// set sets a field as a user does; nil takes it away.
func (w *world) set(r plane.Ref, to any, field ...string) {
	w.server.Edit(r, "kubectl", func(o *unstructured.Unstructured) {
		if to == nil {
			unstructured.RemoveNestedField(o.Object, field...)
			return
		}
		require.NoError(w, unstructured.SetNestedField(o.Object, to, field...))
	})
}

func TestFreezeWaitsUntilNothingIsApplied(t *testing.T) {
	w := newWorld(t)
	w.lag = 7
	w.set(application, map[string]any{"phase": "Running"}, "status", "operationState")
	w.server.After = func(r planetest.Request) error {
		if w.count > 100 && w.count < 110 {
			w.set(application, map[string]any{"phase": "Succeeded"}, "status", "operationState")
		}
		return nil
	}
	require.NoError(t, w.freeze())
	w.still()
	require.Greater(t, w.count, 100)
}

func TestWhatIsResumedMeanwhileIsStoppedAgain(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.freeze())
	before := w.server.Object(layer0).GetAnnotations()[Frozen]
	w.set(layer0, nil, "spec", "suspend")
	require.NoError(t, w.freeze())
	w.still()
	require.Equal(t, before, w.server.Object(layer0).GetAnnotations()[Frozen])
}

func TestAnEngineThatDoesNotComeToRestIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		says   string
	}{
		"no controller": {func(w *world) { w.away = true }, "Transform.ropewalk.dev rw-blue/blue: its controller has not seen yet"},
		"a sync": {func(w *world) { w.set(application, map[string]any{"sync": map[string]any{}}, "operation") },
			"Application.argoproj.io argocd/rw-blue.blue: a sync is running"},
		"no controller of Argo CD": {func(w *world) {
			w.server.Before = func(r planetest.Request) error {
				if r.Ref != application {
					w.controllers()
				}
				w.server.Edit(application, "", func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{refresh: "normal"}) })
				return nil
			}
		}, "Argo CD has not seen yet"},
		"a Kustomization that is being deleted": {func(w *world) {
			w.lag = 1 << 30
			now := metav1.Now()
			w.server.Edit(layer1, "", func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(&now) })
			w.server.Before = func(r planetest.Request) error {
				if r.Ref == transform || r.Ref == layer0 {
					w.answer(r.Ref)
				}
				return nil
			}
		}, "Kustomization.kustomize.toolkit.fluxcd.io rw-blue/blue-layer-01 is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.gitops.Within = 200 * time.Millisecond
			c.change(w)
			err := w.freeze()
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "not done after 200ms")
			require.False(t, plane.IsTemporary(err), "the pivot is undone")
			require.NotErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}

func (w *world) answer(r plane.Ref) {
	w.server.Edit(r, "", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, o.GetAnnotations()["reconcile.fluxcd.io/requestedAt"], "status", "lastHandledReconcileAt")
	})
}

func TestNothingIsFrozenThatIsBeingDeleted(t *testing.T) {
	w := newWorld(t)
	w.away = true
	now := metav1.Now()
	w.server.Edit(transform, "", func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(&now) })
	require.ErrorContains(t, w.freeze(), "is being deleted, with what it delivered")
}

func TestAProcessThatWasOvertakenWritesNothing(t *testing.T) {
	w := newWorld(t)
	for step, calls := range map[state.Step][]func(context.Context, plane.Ref) error{
		state.Aborting:  {w.gitops.Freeze, w.gitops.Tombstone},
		state.Aborted:   {w.gitops.Freeze, w.gitops.Thaw, w.gitops.Tombstone},
		state.Committed: {w.gitops.Freeze, w.gitops.Thaw},
		state.Freezing:  {w.gitops.Thaw, w.gitops.Tombstone},
	} {
		w.at(step)
		before := w.server.Objects()
		for i, call := range calls {
			require.ErrorIs(t, call(t.Context(), cluster), state.ErrFenced, "%s %d", step, i)
		}
		require.Equal(t, before, w.server.Objects())
	}
	w.server.Remove(receipt)
	require.ErrorIs(t, w.gitops.Freeze(t.Context(), cluster), state.ErrFenced)
	require.ErrorContains(t, w.gitops.Freeze(t.Context(), plane.Ref{Namespace: "rw-red", Name: "red"}), `is not that of PivotCluster "blue"`)
	w.server.Put(func() *unstructured.Unstructured {
		o := planetest.Object("v1", "ConfigMap", namespace, receipt.Name)
		o.Object["data"] = map[string]any{"receipt.json": "{"}
		return o
	}())
	require.ErrorContains(t, w.gitops.Thaw(t.Context(), cluster), "is not a receipt")
}

// TestAKillAtAnyWriteIsFollowedByTheSameEnd kills each function after 0, 1, 2 ... writes to
// the API server, and to the registry, until it ends before the kill.
func TestAKillAtAnyWriteIsFollowedByTheSameEnd(t *testing.T) {
	for name, c := range map[string]struct {
		before func(w *world)
		run    func(w *world) error
		kills  int
		check  func(w *world)
	}{
		"freeze": {func(*world) {}, (*world).freeze, 4, (*world).still},
		"thaw": {func(w *world) { require.NoError(w, w.freeze()) }, (*world).thaw, 4,
			func(w *world) { require.Equal(w, newWorld(w.T).specs(), w.specs()) }},
		"tombstone":                          {func(w *world) { require.NoError(w, w.freeze()) }, (*world).tombstone, 9, (*world).ended},
		"tombstone of what was never frozen": {func(*world) {}, (*world).tombstone, 13, (*world).ended},
	} {
		t.Run(name, func(t *testing.T) {
			kills := 0
			for n := 0; ; n++ {
				w := newWorld(t)
				c.before(w)
				w.at(state.Freezing)
				w.server.Kill(n)
				err := c.run(w)
				if !w.server.Revive() {
					require.NoError(t, err)
					c.check(w)
					break
				}
				kills++
				require.ErrorIs(t, err, planetest.ErrKilled, "after %d writes", n)
				require.NoError(t, c.run(w), "after %d writes", n)
				c.check(w)
			}
			require.Equal(t, c.kills, kills)
		})
	}
	for n := range 3 {
		w := newWorld(t)
		w.left = n
		require.Error(t, w.tombstone(), "the registry is cut off after %d writes", n)
		require.Len(t, w.specs(), 5, "the delivery ends only after the tombstone")
		_, found, err := w.gitops.Lookup(t.Context())
		require.NoError(t, err)
		require.False(t, found)
		w.left = -1
		require.NoError(t, w.tombstone())
		w.ended()
	}
}

// TestAThawThatWasKilledCanBeAborted: what was thawed half way is frozen as a whole again.
func TestAThawThatWasKilledCanBeFollowedByAFreeze(t *testing.T) {
	for n := range 4 {
		w := newWorld(t)
		before := w.specs()
		require.NoError(t, w.freeze())
		w.server.Kill(n)
		require.ErrorIs(t, w.thaw(), planetest.ErrKilled)
		w.server.Revive()
		require.NoError(t, w.freeze())
		w.still()
		require.NoError(t, w.thaw())
		require.Equal(t, before, w.specs(), n)
	}
}

func TestTheFinalizersOfAnApplicationGoBeforeIt(t *testing.T) {
	w := newWorld(t)
	w.server.Edit(application, "", func(o *unstructured.Unstructured) {
		o.SetFinalizers([]string{cascade, cascade + "/background", "example.org/other"})
	})
	w.server.After = func(r planetest.Request) error {
		if o := w.server.Object(application); o != nil && o.GetDeletionTimestamp() != nil {
			require.Equal(t, []string{"example.org/other"}, o.GetFinalizers())
			w.server.Remove(application)
		}
		return nil
	}
	require.NoError(t, w.tombstone())
	w.ended()
}

func TestApplicationsOfAllNamespacesAreFoundWhereAllAreAllowed(t *testing.T) {
	w := newWorld(t)
	w.gitops.Applications = []string{"*"}
	require.NoError(t, w.freeze())
	w.still()
	w.gitops.Applications = nil
	require.NoError(t, w.tombstone())
	require.NotNil(t, w.server.Object(application), "without Argo CD nothing is looked for")
}

func TestAnAnnotationThatCannotBeReadIsAnError(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.freeze())
	w.server.Edit(layer0, "kubectl", func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{Frozen: "{"}) })
	require.ErrorContains(t, w.thaw(), "set spec.suspend to what it should be")
	w.set(layer0, "text", "spec")
	require.Error(t, w.freeze())
	require.Error(t, w.tombstone())
}

func TestErrorsOfTheAPIServerAreReturned(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", errors.New("no"))
	for _, verb := range []string{"list", "update", "delete", "get", "create"} {
		for name, run := range map[string]func(w *world) error{"freeze": (*world).freeze, "thaw": (*world).thaw, "tombstone": (*world).tombstone} {
			w := newWorld(t)
			if name == "thaw" {
				require.NoError(t, w.freeze())
			}
			if verb == "delete" && name != "tombstone" || verb == "create" && name != "tombstone" {
				continue
			}
			before := w.server.Before
			w.server.Before = func(r planetest.Request) error {
				if r.Verb == verb && r.Ref.Kind != "ConfigMap" {
					return refused
				}
				return before(r)
			}
			require.True(t, apierrors.IsForbidden(run(w)), "%s %s", name, verb)
			w.server.Before = before
			require.NoError(t, run(w))
		}
	}
}

func TestAContextThatEndsEndsTheWait(t *testing.T) {
	w := newWorld(t)
	w.away = true
	ctx, cancel := context.WithCancel(t.Context())
	w.server.After = func(planetest.Request) error {
		if w.count > 20 {
			cancel()
		}
		return nil
	}
	require.ErrorIs(t, w.gitops.Freeze(ctx, cluster), context.Canceled)
}
