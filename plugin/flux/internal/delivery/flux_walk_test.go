// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// walk is an engine that delivers one graph after the other into a world, and is
// killed now and then.
type walk struct {
	*world
	desired []desired
	gone    map[string]bool
	strict  bool // the order is to be kept
	lossy   bool // what is marked and not wanted may stay behind
	t       *testing.T
	log     []string
}

// deliver does what one call of Deliver does, but ends after some writes.
func (k *walk) deliver(most int) {
	live := k.states(k.gone)
	for _, g := range plan(k.desired, live, rivals{}) {
		s := live[g.layer]
		if s != nil && s.deleting || (s == nil || s.absent) && g.waits != "" {
			continue
		}
		digest := ""
		switch {
		case g.keep:
			digest = s.digest
		case !g.remove:
			require.NotEmpty(k.t, g.content, "%s", g.layer)
			digest = k.publish(g.content)
			delete(k.gone, digest)
		}
		k.write(g, live, digest, &most)
		if most <= 0 {
			return
		}
	}
}

func (k *walk) write(g goal, live map[string]*state, digest string, most *int) {
	w := next(live[g.layer], g, digest, true)
	u := k.layers[g.layer]
	if u == nil {
		u = &layerInWorld{}
		k.layers[g.layer] = u
	}
	for _, step := range []struct {
		do bool
		f  func()
	}{
		{w.suspend, func() { u.suspended, u.health = true, g.health }},
		{w.source, func() {
			k.checkOrder(g, live, digest)
			u.digest, u.stained = digest, live[g.layer].stains(k.artifacts[digest])
		}},
		{w.resume, func() {
			u.exists, u.suspended, u.idle = true, false, false
			if !g.remove {
				u.health = g.health
			}
		}},
		{w.remove, func() {
			if u.deleting = true; g.orphan {
				u.inventory = nil
			}
		}},
	} {
		if step.do && *most > 0 {
			step.f()
			*most--
			k.log = append(k.log, fmt.Sprintf("%s: %+v -> %s", g.layer, w, digest))
		}
	}
}

// checkOrder fails where a layer gets what is wanted of it too early, by what the
// world says and not the plan.
func (k *walk) checkOrder(g goal, live map[string]*state, digest string) {
	i := slices.IndexFunc(k.desired, func(w desired) bool { return w.name == g.layer })
	if !k.strict || i < 0 || !leads(k.artifacts[digest], k.desired[i].content) || g.health != k.desired[i].health {
		return
	}
	if s := live[g.layer]; s != nil && !s.absent && leads(k.artifacts[s.digest], k.desired[i].content) {
		return // It has all that is new.
	}
	for _, name := range k.desired[i].after {
		j := slices.IndexFunc(k.desired, func(w desired) bool { return w.name == name })
		before := live[name]
		require.True(k.t, before != nil && before.healthy, "%s is released before %s is Ready", g.layer, name)
		require.True(k.t, leads(k.artifacts[before.digest], k.desired[j].content), "%s is released before %s is up to date", g.layer, name)
	}
}

// leads reports whether c has the manifests of want.
func leads(c, want content) bool {
	for k, m := range want {
		if c[k].sum != m.sum {
			return false
		}
	}
	return true
}

// converge lets everything work without a fault until nothing is left to do.
func (k *walk) converge() {
	k.calm = true
	quiet := 0
	for range 200 {
		before := len(k.log)
		k.deliver(1000)
		for _, name := range slices.Sorted(maps.Keys(k.layers)) {
			k.move(name, 0)
			k.move(name, 2) // what is under way
			k.move(name, 1)
			k.move(name, 2)
		}
		if len(k.log) > before {
			quiet = 0
		} else if quiet++; quiet > 3 {
			return
		}
	}
	require.Fail(k.t, "it does not converge", "%v", k.log[max(0, len(k.log)-30):])
}

// settled checks a world in which a graph was delivered.
func (k *walk) settled(stable map[key]int) {
	owners := map[key]string{}
	for _, w := range k.desired {
		u := k.layers[w.name]
		require.True(k.t, u != nil && u.exists && u.healthy && !u.suspended && !u.deleting, "%s is Ready", w.name)
		require.Equal(k.t, w.health, u.health)
		for key, m := range w.content {
			owners[key] = w.name
			o := k.objects[key]
			require.NotNil(k.t, o, "%s is there", key)
			if k.once[key] {
				continue
			}
			require.Equal(k.t, w.name, o.label, "the owner of %s", key)
			require.Equal(k.t, m.sum, o.sum, "%s is up to date", key)
			require.Equal(k.t, k.protected[key], o.mark, "%s is not marked any more", key)
		}
		for key := range u.inventory {
			_, own := w.content[key]
			require.True(k.t, own || k.once[key], "%s has %s no more", w.name, key)
		}
	}
	for name, u := range k.layers {
		if u.exists && !slices.ContainsFunc(k.desired, func(w desired) bool { return w.name == name }) {
			for key := range u.inventory {
				require.True(k.t, k.once[key] && owners[key] != "", "%s stays only for what cannot move, and has %s", name, key)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(k.objects)) {
		lost := k.lossy && k.objects[key].mark
		if owners[key] == "" && k.tracked[key] && !k.protected[key] && !lost {
			require.Fail(k.t, "an object is orphaned", "%s %+v", key, *k.objects[key])
		}
	}
	for key, uid := range stable {
		require.Equal(k.t, uid, k.objects[key].uid, "%s is the same object", key)
	}
}

// graph is a random one: layers in their order, some of which are shards that come
// after the same one.
func (k *walk) graph(version int, keys []key) []desired {
	r := k.random
	count := 1 + r.IntN(4)
	var out []desired
	for i := range count {
		w := desired{name: fmt.Sprintf("layer-%02d", i), content: content{}, health: fmt.Sprint(r.IntN(2))}
		if i > 0 {
			w.after = []string{out[i-1].name}
			if i > 1 && r.IntN(4) == 0 {
				w.after = []string{out[i-2].name} // a shard beside the one before
			}
		}
		out = append(out, w)
	}
	for i, key := range keys {
		stays := i < len(keys)/2
		if !stays && r.IntN(3) == 0 {
			continue
		}
		w := out[r.IntN(count)]
		sum := fmt.Sprintf("%s@%d", key, r.IntN(version+1))
		if k.broken[sum] {
			sum = fmt.Sprintf("%s@%d.1", key, version)
		}
		w.content[key] = manifest{sum: sum, once: k.once[key]}
	}
	// A layer without an object is left out.
	empty := map[string]bool{}
	for i := range out {
		empty[out[i].name] = len(out[i].content) == 0
		var after []string
		for _, name := range out[i].after {
			for j := 0; j < i; j++ {
				if out[j].name != name {
					continue
				}
				if empty[name] {
					after = append(after, out[j].after...)
				} else {
					after = append(after, name)
				}
			}
		}
		out[i].after, out[i].digest = after, k.publish(out[i].content)
	}
	return slices.DeleteFunc(out, func(w desired) bool { return empty[w.name] })
}

func TestNoObjectThatStaysIsEverDeleted(t *testing.T) {
	walks := 1000
	if testing.Short() {
		walks = 300
	}
	for _, how := range []struct {
		name         string
		broken, gone bool
	}{
		{name: "whatever fails by chance"},
		{name: "manifests that the API server refuses", broken: true},
		{name: "artifacts that are gone", gone: true},
		{name: "both", broken: true, gone: true},
	} {
		t.Run(how.name, func(t *testing.T) {
			for seed := range walks {
				k := &walk{world: newWorld(rand.New(rand.NewPCG(uint64(seed), 1))), t: t, gone: map[string]bool{}} //nolint:gosec // a seed for a walk
				k.strict, k.lossy = !how.gone, how.gone || how.broken
				k.log = append(k.log, fmt.Sprintf("seed %d", seed))
				k.through(how.broken, how.gone)
			}
		})
	}
}

// through walks through some graphs.
func (k *walk) through(broken, gone bool) {
	defer func() {
		if k.t.Failed() {
			k.t.Log(strings.Join(k.log, "\n"))
		}
	}()
	var keys []key
	for i := range 2 + k.random.IntN(8) {
		key := key(fmt.Sprintf("o%d", i))
		keys = append(keys, key)
		k.protected[key] = k.random.IntN(6) == 0
		k.once[key] = k.random.IntN(8) == 0
	}
	k.desired = k.graph(0, keys)
	k.converge()
	k.settled(nil)
	stable := map[key]int{}
	for _, key := range keys[:len(keys)/2] {
		stable[key] = k.objects[key].uid
	}
	versions := 1 + k.random.IntN(3)
	for version := range versions {
		k.calm = false
		if gone {
			for _, digest := range slices.Sorted(maps.Keys(k.artifacts)) {
				k.gone[digest] = k.random.IntN(2) == 0
			}
		}
		k.desired = k.graph(version+1, keys)
		if broken && version+1 < versions {
			for _, w := range k.desired {
				for _, key := range slices.Sorted(maps.Keys(w.content)) {
					if sum := w.content[key].sum; k.random.IntN(4) == 0 && sum == fmt.Sprintf("%s@%d", key, version+1) {
						k.broken[sum] = true
					}
				}
			}
		}
		for _, w := range k.desired {
			delete(k.gone, w.digest)
			k.log = append(k.log, fmt.Sprintf("wanted now: %s after %s (health %s): %s", w.name, w.after, w.health, w.digest))
		}
		for range k.random.IntN(120) {
			if k.random.IntN(3) == 0 {
				k.deliver(1 + k.random.IntN(4))
			} else {
				k.step()
			}
		}
	}
	k.converge()
	k.settled(stable)
	k.desired = nil // deleted
	k.converge()
	for name, u := range k.layers {
		require.False(k.t, u.exists, "%s is gone", name)
	}
	k.settled(nil)
}
