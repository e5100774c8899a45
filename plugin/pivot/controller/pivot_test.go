// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/readings"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// TestAPivotOutlivesTheLookThatBeganIt: what that has read is written over in the meantime.
func TestAPivotOutlivesTheLookThatBeganIt(t *testing.T) {
	w := newWorld(t)
	w.observe()
	slots := w.controller.pivots.slots
	for range cap(slots) {
		slots <- struct{}{}
	}
	w.bootstraps()
	c := w.until(w.controller, "waiting", phase(v1alpha1.PhasePivoting))
	require.NoError(t, w.controller.pivots.stop(t.Context(), c.UID))
	require.NoError(t, w.controller.parts().mover.pivot(t.Context(), c, nil))
	*c = v1alpha1.PivotCluster{}
	for range cap(slots) {
		<-slots
	}
	w.until(w.controller, "in charge of itself", pivoted)
}

// TestAControllerThatIsKilledAfterTheCommit goes forward with the next one, and provisions
// nothing.
func TestAControllerThatIsKilledAfterTheCommit(t *testing.T) {
	w := newWorld(t)
	w.observe()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	w.controller.pivots = newPivots(ctx, func(string) {}, w.shown.CountFailure)
	w.from.After = func(r planetest.Request) error {
		if text, _, _ := unstructured.NestedString(body(r), "data", "receipt.json"); r.Write() && strings.Contains(text, `"step": "Committed"`) {
			kill()
		}
		return nil
	}
	w.bootstraps()
	w.until(w.controller, "killed", func(*v1alpha1.PivotCluster) bool { return ctx.Err() != nil })
	require.Eventually(t, func() bool { return w.step() == state.Committed }, 5*time.Second, 5*time.Millisecond)

	require.NoError(t, w.parent.Delete(t.Context(), &v1alpha1.Transform{ObjectMeta: named("rw-blue", name)}))
	require.NoError(t, w.parent.Delete(t.Context(), &corev1.Secret{ObjectMeta: named("rw-blue", EnrolSecret(name))}))
	next := w.reconciler(w.parent, w.from, "parent-uid", nil)
	next.children, next.Endpoints = w.controller.children, w.controller.Endpoints
	c := w.until(next, "in charge of itself", pivoted)
	require.Equal(t, state.Done, w.step())
	require.Equal(t, "Done", c.Status.Pivot.Step)
	require.WithinDuration(t, w.now(), c.Status.Pivot.StepTime.Time, time.Minute)
	require.False(t, w.there(&v1alpha1.Transform{}, "rw-blue", name))
	require.False(t, w.there(&corev1.Secret{}, "rw-blue", EnrolSecret(name)))

	// An edit on the parent changes nothing.
	w.controller = next
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.ControlPlane.Replicas = 3 })
	w.settle()
	require.False(t, w.there(&v1alpha1.Transform{}, "rw-blue", name))
}

// failures requires that so many pivots have failed, and all of them for that reason.
func (w *world) failures(of readings.Failure, n int) {
	w.Helper()
	text := "# HELP ropewalk_pivotcluster_pivot_failures_total Pivots that ended without success: refused, aborted or stopped. The events of the PivotClusters say which.\n" +
		"# TYPE ropewalk_pivotcluster_pivot_failures_total counter\n"
	for _, reason := range []readings.Failure{readings.Aborted, readings.Refused, readings.Stopped} {
		count := 0
		if reason == of {
			count = n
		}
		text += fmt.Sprintf("ropewalk_pivotcluster_pivot_failures_total{reason=%q} %d\n", reason, count)
	}
	require.NoError(w, testutil.CollectAndCompare(w.shown, strings.NewReader(text), "ropewalk_pivotcluster_pivot_failures_total"))
}

// TestAPivotThatIsRefused: there is a finding, and no pivot begins until a minute has passed.
func TestAPivotThatIsRefused(t *testing.T) {
	w := newWorld(t)
	w.observe()
	w.bootstraps()
	machine := plane.Ref{Group: planetest.Core, Kind: "Machine", Namespace: "rw-blue", Name: "blue-cp-0"}
	w.from.Edit(machine, "user", func(o *unstructured.Unstructured) { delete(o.Object["status"].(map[string]any), "nodeRef") })
	c := w.until(w.controller, "failed", phase(v1alpha1.PhaseFailed))
	require.Contains(t, ready(c), "the pivot is refused: ")
	require.Contains(t, ready(c), "rw-blue/blue-cp-0: is not at rest on the parent plane: has no node yet")
	require.Empty(t, w.step())

	w.from.Edit(machine, "user", func(o *unstructured.Unstructured) {
		o.Object["status"].(map[string]any)["nodeRef"] = map[string]any{"name": "blue-cp-0"}
	})
	w.pass(50 * time.Second)
	for range 5 {
		require.Equal(t, v1alpha1.PhaseFailed, w.settle().Status.Phase)
	}
	require.Empty(t, w.controller.pivots.all)
	require.Empty(t, w.step())
	w.failures(readings.Refused, 1)
	w.pass(11 * time.Second)
	w.until(w.controller, "in charge of itself", pivoted)
}

// fails is the next error of the controller.
func (w *world) fails() (err error) {
	w.Helper()
	require.Eventually(w, func() bool {
		_, err = w.reconcile()
		return err != nil
	}, 20*time.Second, 5*time.Millisecond)
	return err
}

// TestAPivotThatIsAborted begins again after a minute, and says why it was aborted.
func TestAPivotThatIsAborted(t *testing.T) {
	w := newWorld(t)
	w.observe()
	w.to.Before = func(r planetest.Request) error {
		if r.Verb == "create" && !r.DryRun && r.Ref.Kind == "MachineDeployment" && w.ahead.Load() == 0 {
			return errors.New("the disk of etcd is full")
		}
		return nil
	}
	w.bootstraps()
	require.ErrorContains(t, w.fails(), "the disk of etcd is full")
	require.Equal(t, state.Aborted, w.step())
	c := w.settle()
	require.Equal(t, v1alpha1.PhasePivoting, c.Status.Phase)
	require.Contains(t, ready(c), "the pivot was aborted, and begins again: ")
	require.Contains(t, ready(c), "the disk of etcd is full")
	require.Empty(t, w.controller.pivots.all)
	w.failures(readings.Aborted, 1)

	// The next controller has the note of the receipt.
	next := w.reconciler(w.parent, w.from, "parent-uid", nil)
	next.children, next.Endpoints = w.controller.children, w.controller.Endpoints
	w.controller = next
	require.Contains(t, ready(w.settle()), "the pivot was aborted, and begins again: failed after step Staged")
	require.Empty(t, w.controller.pivots.all)
	w.pass(time.Minute)
	w.until(w.controller, "in charge of itself", pivoted)
}

// TestAPivotThatFailsAfterTheCommit goes on after a pause, and not again and again at once.
func TestAPivotThatFailsAfterTheCommit(t *testing.T) {
	w := newWorld(t)
	w.observe()
	var full atomic.Bool
	full.Store(true)
	w.to.Before = func(r planetest.Request) error {
		if text, _, _ := unstructured.NestedString(body(r), "data", "receipt.json"); full.Load() && r.Write() && strings.Contains(text, `"step": "Active"`) {
			return errors.New("the disk of etcd is full")
		}
		return nil
	}
	w.bootstraps()
	require.ErrorContains(t, w.fails(), "the disk of etcd is full")
	require.Equal(t, state.Committed, w.step())
	w.failures(readings.Stopped, 1)
	for range 5 {
		require.Contains(t, ready(w.settle()), "the pivot stopped after step Committed, and goes on in 5s: ")
	}
	require.Empty(t, w.controller.pivots.all)
	full.Store(false)
	w.pass(retryAfter)
	w.until(w.controller, "in charge of itself", pivoted)
}

// TestAPivotThatIsSuspendedStaysAtItsStep: nothing sees that the cluster is paused, so that it
// waits there.
func TestAPivotThatIsSuspendedStaysAtItsStep(t *testing.T) {
	w := newWorld(t)
	w.bootstraps()
	w.until(w.controller, "freezing", func(*v1alpha1.PivotCluster) bool { return w.step() == state.Freezing })
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Suspend = true })
	w.settle()
	require.Empty(t, w.controller.pivots.all)
	w.observe()
	require.Never(t, func() bool { return w.step() != state.Freezing }, 500*time.Millisecond, 50*time.Millisecond)
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Suspend = false })
	w.until(w.controller, "in charge of itself", pivoted)
}

func TestTwoPivotsAreDrivenAtOnceAndOthersWait(t *testing.T) {
	woken := make(chan string, 10)
	p := newPivots(t.Context(), func(name string) { woken <- name }, func(readings.Failure) {})
	p.slots = make(chan struct{}, 2)
	release, running := make(chan struct{}), make(chan string, 3)
	cluster := func(name string) *v1alpha1.PivotCluster {
		return &v1alpha1.PivotCluster{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	}
	drive := func(name string) driving {
		return p.drive(cluster(name), func(ctx context.Context, report func(state.Event)) error {
			report(state.Event{Step: state.Frozen})
			report(state.Event{Message: "objects", Done: 1, Of: 2})
			running <- name
			select {
			case <-release:
				return errors.New("of " + name)
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}
	for _, name := range []string{"blue", "green"} {
		require.False(t, drive(name).ended)
	}
	require.ElementsMatch(t, []string{"blue", "green"}, []string{<-running, <-running})
	require.Equal(t, "the pivot waits for others", drive("red").message)
	require.Equal(t, "finished step Frozen", drive("blue").message)
	require.Empty(t, running)

	// One that is stopped while it waits does not run.
	require.NoError(t, p.stop(t.Context(), "red"))
	require.False(t, drive("red").ended)
	require.NoError(t, p.stop(t.Context(), "blue"))
	require.Equal(t, "red", <-running)
	close(release)
	require.Eventually(t, func() bool { d := drive("green"); return d.ended && d.err.Error() == "of green" }, 5*time.Second, time.Millisecond)
	require.NoError(t, p.stop(t.Context(), types.UID("unknown")))
	require.Contains(t, []string{<-woken, <-woken, <-woken}, "blue")
}

// body is what a request writes.
func body(r planetest.Request) map[string]any {
	if r.Object == nil {
		return nil
	}
	return r.Object.Object
}

// It is made while the parent still renders the cluster, and nothing is applied there any more.
func TestAnEditWhileAClusterPivotsIsNotLost(t *testing.T) {
	w := newWorld(t)
	w.bootstraps()
	w.until(w.controller, "freezing", func(*v1alpha1.PivotCluster) bool { return w.step() == state.Freezing })
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.KubernetesVersion = "v1.37.0" })
	of := &v1alpha1.PivotCluster{}
	w.until(w.controller, "the child has it", func(*v1alpha1.PivotCluster) bool {
		return w.child.Get(t.Context(), types.NamespacedName{Name: name}, of) == nil && of.Spec.KubernetesVersion == "v1.37.0"
	})
	require.Equal(t, state.Freezing, w.step())
	w.observe()
	w.until(w.controller, "in charge of itself", pivoted)
	require.NoError(t, w.child.Create(t.Context(), available(1)))
	w.until(w.itself, "ready", phase(v1alpha1.PhaseReady))
	transform := &v1alpha1.Transform{}
	require.NoError(t, w.child.Get(t.Context(), types.NamespacedName{Namespace: "rw-blue", Name: name}, transform))
	require.Contains(t, string(transform.Spec.Input.Raw), "v1.37.0")
}

func TestAPivotThatFailedWaitsBeforeItGoesOn(t *testing.T) {
	now := time.Now()
	receipt := &state.Receipt{Step: state.Committed}
	require.Empty(t, delayResume(receipt, failure{}, now))
	last := failure{at: now.Add(-retryAfter + time.Second), err: errors.New("the link is away")}
	require.Equal(t, "the pivot stopped after step Committed, and goes on in 5s: the link is away", delayResume(receipt, last, now))
	require.Empty(t, delayResume(receipt, last, now.Add(time.Second)))
}

func TestAPivotThatWasRefusedOrAbortedWaitsAMinute(t *testing.T) {
	now := time.Now()
	refused := failure{at: now, err: reject("a machine has no node")}
	_, err := delayBegin(nil, refused, now.Add(again-time.Second))
	require.EqualError(t, err, "a machine has no node")
	why, err := delayBegin(nil, refused, now.Add(again))
	require.NoError(t, err)
	require.Empty(t, why)

	// An abort is dated by its receipt, and explained by the best that is known.
	aborted := &state.Receipt{Step: state.Aborted, Marks: []state.Mark{{Step: state.Aborted, At: now}}}
	why, err = delayBegin(aborted, failure{}, now)
	require.NoError(t, err)
	require.Equal(t, "the pivot was aborted, and begins again: see the events", why)
	aborted.Marks[0].Note = "failed after step Staged"
	why, err = delayBegin(aborted, failure{}, now)
	require.NoError(t, err)
	require.Equal(t, "the pivot was aborted, and begins again: failed after step Staged", why)
	why, err = delayBegin(aborted, failure{at: now, err: errors.New("the disk is full")}, now)
	require.NoError(t, err)
	require.Equal(t, "the pivot was aborted, and begins again: the disk is full", why)
	why, err = delayBegin(aborted, failure{}, now.Add(again))
	require.NoError(t, err)
	require.Empty(t, why)
}
