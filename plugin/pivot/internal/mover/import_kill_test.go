// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

// end is what a server holds, apart from versions, times and UIDs.
func end(s *planetest.Server) []map[string]any {
	var out []map[string]any
	for _, o := range s.Objects() {
		for _, k := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
			unstructured.RemoveNestedField(o.Object, "metadata", k)
		}
		owners := o.GetOwnerReferences()
		for i := range owners {
			owners[i].UID = ""
		}
		if len(owners) > 0 {
			o.SetOwnerReferences(owners)
		}
		out = append(out, o.Object)
	}
	return out
}

// TestAKillAtAnyWriteIsFollowedByTheSameEnd kills each function after 0, 1, 2 ... writes,
// until it ends before the kill, and runs it again.
func TestAKillAtAnyWriteIsFollowedByTheSameEnd(t *testing.T) {
	imported := func(w *world) { require.NoError(w, w.doImport()) }
	for name, c := range map[string]struct {
		before func(w *world)
		server func(w *world) *planetest.Server
		run    func(w *world) error
		kills  int
		check  func(w *world)
	}{
		"import": {func(*world) {}, func(w *world) *planetest.Server { return w.target }, (*world).doImport, 21, (*world).imported},
		"import over an earlier one": {func(w *world) {
			w.source.Put(named("blue-old"))
			w.take()
			imported(w)
			w.source.Remove(secret("blue-old"))
			w.source.Edit(set, "manager", func(o *unstructured.Unstructured) { o.Object["spec"] = map[string]any{"replicas": int64(7)} })
			w.take()
			w.target.Remove(machine)
		}, func(w *world) *planetest.Server { return w.target }, (*world).doImport, 26, (*world).imported},
		"activate": {imported, func(w *world) *planetest.Server { return w.target }, (*world).doActivate, 21,
			func(w *world) { require.False(w, isPaused(w.target.Object(cluster))) }},
		"discard": {imported, func(w *world) *planetest.Server { return w.target }, (*world).doDiscard, 42,
			func(w *world) { require.Empty(w, w.target.Objects()) }},
		"delete": {func(*world) {}, func(w *world) *planetest.Server { return w.source }, (*world).doDelete, 42,
			func(w *world) { require.Empty(w, w.source.Objects()) }},
		"pause": {func(w *world) { require.NoError(w, Unpause(w.ctx, w.source.Plane(), w.kinds, cluster, open)) }, func(w *world) *planetest.Server { return w.source },
			func(w *world) error { return Pause(w.ctx, w.source.Plane(), w.kinds, cluster, open) }, 1,
			func(w *world) { require.True(w, isPaused(w.source.Object(cluster))) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.before(w)
			require.NoError(t, c.run(w))
			c.check(w)
			want := end(c.server(w))
			kills := 0
			for n := 0; ; n++ {
				w := newWorld(t)
				c.before(w)
				s := c.server(w)
				s.Kill(n)
				err := c.run(w)
				if !s.Revive() {
					require.NoError(t, err)
					break
				}
				kills++
				require.ErrorIs(t, err, planetest.ErrKilled, "after %d writes", n)
				if name != "activate" {
					require.NotContains(t, deleting(s), true, "no controller sees a deletion time with a finalizer")
				} else {
					require.True(t, isPaused(w.target.Object(cluster)), "the Cluster is last")
				}
				require.NoError(t, c.run(w), "after %d writes", n)
				c.check(w)
				require.Equal(t, want, end(s), "after %d writes", n)
			}
			require.Equal(t, c.kills, kills)
		})
	}
}

// deleting says of each object whether it waits for its finalizers.
func deleting(s *planetest.Server) (out []bool) {
	for _, o := range s.Objects() {
		out = append(out, o.GetDeletionTimestamp() != nil)
	}
	return out
}
