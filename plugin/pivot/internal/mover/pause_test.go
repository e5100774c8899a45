// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

func TestPauseAndUnpause(t *testing.T) {
	w := newWorld(t)
	before := len(writes(w.source))
	require.NoError(t, Pause(w.ctx, w.source.Plane(), w.kinds, cluster, func(context.Context) error { return errors.New("not called") }))
	require.Len(t, writes(w.source), before, "it is paused already")

	lost := errors.New("lost the lease")
	err := Unpause(w.ctx, w.source.Plane(), w.kinds, cluster, func(context.Context) error {
		r := w.source.Requests()
		require.Equal(t, "get", r[len(r)-1].Verb)
		return lost
	})
	require.ErrorIs(t, err, lost)
	require.EqualError(t, err, "source plane: unpausing Cluster.cluster.x-k8s.io apps/blue: lost the lease")
	require.True(t, isPaused(w.source.Object(cluster)))

	conflicts := 0
	w.source.Before = func(r planetest.Request) error {
		if r.Verb == "update" && conflicts < 2 {
			conflicts++
			w.source.Edit(cluster, "manager", func(o *unstructured.Unstructured) { planetest.SetPaused(o, "True", int64(10+conflicts)) })
		}
		return nil
	}
	fences := 0
	require.NoError(t, Unpause(w.ctx, w.source.Plane(), w.kinds, cluster, func(context.Context) error { fences++; return nil }))
	require.Equal(t, 3, fences, "the fence is called again after a conflict")
	require.NotContains(t, w.source.Object(cluster).Object["spec"], "paused")

	delete(w.kinds, cluster.GroupKind())
	require.EqualError(t, Pause(w.ctx, w.source.Plane(), w.kinds, cluster, open), "source plane: Cluster.cluster.x-k8s.io apps/blue: its kind is not served")
}

func TestAwaitPausedNamesWhatIsLeft(t *testing.T) {
	await := func(w *world) error {
		return AwaitPaused(w.ctx, w.source.Plane(), w.kinds, w.set.Items, time.Second)
	}
	const advice = ": see whether its controller runs on the source plane, and what it logs"
	for name, c := range map[string]struct {
		ref    plane.Ref
		change func(o *unstructured.Unstructured)
		want   string
	}{
		"False":              {machine, func(o *unstructured.Unstructured) { planetest.SetPaused(o, "False", 1) }, `its condition Paused is "False", expected "True"` + advice},
		"of a generation":    {cluster, func(o *unstructured.Unstructured) { planetest.SetPaused(o, "True", 1) }, "its condition Paused is of generation 1, expected 2" + advice},
		"none where one was": {machine, func(o *unstructured.Unstructured) { delete(o.Object, "status") }, "has no condition Paused" + advice},
		"block-move": {secret("blue-ca"), func(o *unstructured.Unstructured) { v := ""; annotate(o, blockAnnotation, &v) },
			"has the annotation clusterctl.cluster.x-k8s.io/block-move: its controller is not ready for a move" + advice},
		"of an older contract": {machine, func(o *unstructured.Unstructured) {
			o.Object["status"] = map[string]any{"v1beta2": map[string]any{"conditions": []any{"none", map[string]any{"type": "Paused", "status": "False"}}}}
		}, `its condition Paused is "False", expected "True"` + advice},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, await(w))
			w.source.Edit(c.ref, "manager", c.change)
			err := await(w)
			require.Len(t, w.findings(err), 1)
			require.EqualError(t, err, c.ref.String()+": "+c.want)
		})
	}

	w := newWorld(t)
	w.source.Edit(machine, "manager", func(o *unstructured.Unstructured) {
		o.Object["status"] = map[string]any{"v1beta2": map[string]any{"conditions": []any{map[string]any{"type": "Paused", "status": "True"}}}}
	})
	require.NoError(t, await(w), "a condition without a generation")
	w.source.Remove(machine)
	require.EqualError(t, await(w), machine.String()+": is not on the source plane any more: see what deleted it")
}

func TestAwaitPausedWaits(t *testing.T) {
	w := newWorld(t)
	w.source.Edit(machine, "manager", func(o *unstructured.Unstructured) { planetest.SetPaused(o, "False", 1) })
	var slept []time.Duration
	p := plane.New(w.source.Client(), plane.Options{Name: "source", Sleep: func(ctx context.Context, d time.Duration) error {
		if slept = append(slept, d); len(slept) == 7 {
			w.source.Observe()
		}
		return nil
	}})
	require.NoError(t, AwaitPaused(w.ctx, p, w.kinds, w.set.Items, time.Minute))
	require.Equal(t, []time.Duration{50, 100, 200, 400, 800, 1000, 1000}, func() (ms []time.Duration) {
		for _, d := range slept {
			ms = append(ms, d/time.Millisecond)
		}
		return ms
	}())

	w.source.Edit(machine, "manager", func(o *unstructured.Unstructured) { planetest.SetPaused(o, "False", 1) })
	ended := errors.New("ended")
	p = plane.New(w.source.Client(), plane.Options{Sleep: func(context.Context, time.Duration) error { return ended }})
	require.ErrorIs(t, AwaitPaused(w.ctx, p, w.kinds, w.set.Items, time.Minute), ended)
	w.source.Before = func(planetest.Request) error { return ended }
	require.ErrorIs(t, AwaitPaused(w.ctx, p, w.kinds, w.set.Items, time.Minute), ended)
	delete(w.kinds, machine.GroupKind())
	require.ErrorContains(t, AwaitPaused(w.ctx, p, w.kinds, w.set.Items, time.Minute), "the server does not serve kind Machine.cluster.x-k8s.io")
}

func TestAwaitActiveWantsWhatTheSourceReported(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	require.NoError(t, w.doActivate())
	err := AwaitActive(w.ctx, w.target.Plane(), w.kinds, w.entries, time.Second)
	require.Len(t, w.findings(err), 14, "no controller has seen them yet")
	require.ErrorContains(t, err, "has no condition Paused: see whether its controller runs on the target plane")
	w.target.Observe()
	require.NoError(t, AwaitActive(w.ctx, w.target.Plane(), w.kinds, w.entries, time.Second))

	w.target.Remove(machine)
	require.NoError(t, AwaitActive(w.ctx, w.target.Plane(), w.kinds, w.entries, time.Second), "what is active may delete objects")
	w.target.Remove(cluster)
	require.ErrorContains(t, AwaitActive(w.ctx, w.target.Plane(), w.kinds, w.entries, time.Second), "Cluster.cluster.x-k8s.io apps/blue: is not on the target plane any more")
}
