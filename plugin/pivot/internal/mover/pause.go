// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Pause sets spec.paused of a Cluster. The fence is called after it is read, and before it is
// written; its error ends the pause.
func Pause(ctx context.Context, p *plane.Plane, kinds plane.Kinds, cluster plane.Ref, fence func(context.Context) error) error {
	return pause(ctx, p, kinds, cluster, true, fence)
}

// Unpause removes spec.paused of a Cluster. The fence is called as Pause calls it.
func Unpause(ctx context.Context, p *plane.Plane, kinds plane.Kinds, cluster plane.Ref, fence func(context.Context) error) error {
	return pause(ctx, p, kinds, cluster, false, fence)
}

// pause sets or removes spec.paused of a Cluster.
func pause(ctx context.Context, p *plane.Plane, kinds plane.Kinds, cluster plane.Ref, paused bool, fence func(context.Context) error) error {
	k, ok := kinds[cluster.GroupKind()]
	if !ok {
		return fmt.Errorf("%s plane: %s: its kind is not served", p.Name(), cluster)
	}
	doing := map[bool]string{true: "pausing", false: "unpausing"}[paused]
	_, err := p.Update(ctx, k, cluster, metav1.UpdateOptions{FieldManager: Manager}, func(o *unstructured.Unstructured) error {
		if isPaused(o) == paused {
			return plane.ErrUnchanged
		}
		if err := fence(ctx); err != nil {
			return err
		}
		if !paused {
			unstructured.RemoveNestedField(o.Object, "spec", "paused")
			return nil
		}
		return unstructured.SetNestedField(o.Object, true, "spec", "paused")
	})
	if !paused {
		err = plane.IgnoreNotFound(err) // There is nothing to unpause.
	}
	return failed(p, doing, cluster, nil, err)
}

// AwaitPaused waits until all controllers have seen that the Cluster is paused. Objects that had the
// condition Paused have it as True then, at their generation, and no object has an annotation that
// asks not to move it yet. Objects that are not ready within the time are returned as Findings.
func AwaitPaused(ctx context.Context, p *plane.Plane, kinds plane.Kinds, items []inventory.Item, within time.Duration) error {
	entries := make([]snapshot.Entry, len(items))
	for i := range items {
		entries[i] = items[i].Entry
	}
	return await(ctx, p, kinds, entries, metav1.ConditionTrue, within)
}

// AwaitImported waits until all controllers of the target have seen the imported objects, as
// AwaitPaused does on the source: controllers that do not run are found before they are needed.
func AwaitImported(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, within time.Duration) error {
	return await(ctx, p, kinds, entries, metav1.ConditionTrue, within)
}

// AwaitActive waits until all controllers of the target have seen that the Cluster is not paused.
// Objects that had the condition Paused on the source have it as False then, at their generation.
// Objects that are not ready within the time are returned as Findings.
func AwaitActive(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, within time.Duration) error {
	return await(ctx, p, kinds, entries, metav1.ConditionFalse, within)
}

// await waits until no object is unsettled, and looks less and less often.
func await(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, want metav1.ConditionStatus, within time.Duration) error {
	const shortest, longest = 50 * time.Millisecond, time.Second
	positions := index(entries)
	for waited, wait := time.Duration(0), shortest; ; wait = min(2*wait, longest) {
		// Collect the objects that are not settled, or gone.
		var problems findings
		seen := map[plane.Ref]bool{}
		err := survey(ctx, p, kinds, entries, func(o *unstructured.Unstructured) error {
			i, ok := positions[plane.RefOf(o)]
			if !ok {
				return nil
			}
			seen[entries[i].Ref] = true
			if problem := unsettled(&entries[i], o, want); problem != "" {
				advice := fmt.Sprintf("see whether its controller runs on the %s plane, and what it logs", p.Name())
				problems.add(entries[i].Ref, problem, advice)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for r := range positions {
			// An active cluster may delete objects.
			if !seen[r] && (want == metav1.ConditionTrue || isCluster(r)) {
				problems.add(r, fmt.Sprintf("is not on the %s plane any more", p.Name()), "see what deleted it")
			}
		}

		// End with the last findings when the time is over.
		err = problems.err()
		if err == nil || waited >= within {
			return err
		}
		if waited >= plane.Silence {
			p.Wait(fmt.Sprintf("waiting for controllers of the %s plane, up to %s: %s", p.Name(), within, firstOf(problems.list)))
		}
		if err := p.Sleep(ctx, wait); err != nil {
			return err
		}
		waited += wait
	}
}

// firstOf returns the first of several findings, and the number of the others, in a line.
func firstOf(list inventory.Findings) string {
	first := list.Sorted()[0]
	text := first.Ref.String() + " " + first.Problem
	if more := len(list) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// unsettled returns why an object is not as its controllers leave it once they have seen whether
// the Cluster is paused; "" if it is.
func unsettled(e *snapshot.Entry, o *unstructured.Unstructured, want metav1.ConditionStatus) string {
	if _, ok := o.GetAnnotations()[blockAnnotation]; ok && want == metav1.ConditionTrue {
		return fmt.Sprintf("has the annotation %s: its controller is not ready for a move", blockAnnotation)
	}
	if _, own := o.GetAnnotations()[pausedAnnotation]; own || !e.ReportsPaused {
		return "" // It is paused apart from its Cluster, or does not report a pause.
	}
	c := pausedCondition(o)
	status, _ := c["status"].(string)
	observed, dated := c["observedGeneration"].(int64)
	switch {
	case c == nil:
		return "has no condition Paused"
	case status != string(want):
		return fmt.Sprintf("its condition Paused is %q, expected %q", status, want)
	case dated && observed != o.GetGeneration():
		return fmt.Sprintf("its condition Paused is of generation %d, expected %d", observed, o.GetGeneration())
	}
	return ""
}

// pausedAnnotation pauses one object of Cluster API.
const pausedAnnotation = "cluster.x-k8s.io/paused"

// pausedCondition returns the condition Paused, or nil. It is in status.conditions, or, in an
// object of an older contract, in status.v1beta2.conditions.
func pausedCondition(o *unstructured.Unstructured) map[string]any {
	for _, path := range [][]string{{"status", "v1beta2", "conditions"}, {"status", "conditions"}} {
		v, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
		list, _ := v.([]any)
		for _, v := range list {
			if c, ok := v.(map[string]any); ok && c["type"] == "Paused" {
				return c
			}
		}
	}
	return nil
}
