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
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// fleet are Transforms that deliver into one world: the layers of a Transform begin with
// its name.
type fleet struct {
	*world
	t      *testing.T
	claims *Claims
	now    time.Time
	all    map[string]*participant
	log    []string
}

// participant is a Transform of a fleet.
type participant struct {
	transform *v1alpha1.Transform
	// applied is what a user applied last, and desired what is rendered of it.
	applied, desired []desired
	deleted          bool
}

// restart loses what a process knows.
func (f *fleet) restart() {
	f.claims = NewClaims(ClaimOptions{Settle: DefaultSettle, Now: func() time.Time { return f.now }})
	for _, name := range f.names() {
		m := f.all[name]
		m.transform.Status.Layers = nil
		for layer := range f.layers {
			if strings.HasPrefix(layer, name+"-") && f.layers[layer].exists {
				m.transform.Status.Layers = []v1alpha1.LayerStatus{{}}
			}
		}
		f.claims.Changed(m.transform)
	}
}

func (f *fleet) names() []string { return slices.Sorted(maps.Keys(f.all)) }

// reconcile is one reconciliation of a Transform, which ends after some writes.
func (f *fleet) reconcile(name string, most int) {
	m := f.all[name]
	changes := f.claims.Begin(types.NamespacedName{Name: name})
	m.desired = m.applied
	d := (&Flux{Claims: f.claims}).begin(m.transform)
	d.states = map[string]*state{}
	for layer, s := range f.states(nil) {
		if strings.HasPrefix(layer, name+"-") {
			d.states[layer] = s
		}
	}
	want := Desired{Digest: "deleted"}
	if m.deleted {
		d.rivals.ends = true
	} else {
		d.desired = m.desired
		want = asDesired(m.desired)
		for i := range want.Layers {
			d.layers[want.Layers[i].Name] = &want.Layers[i]
		}
	}
	d.look(want)
	f.claims.recordUses(m.transform, uses(d.desired, d.states))
	goals := plan(d.desired, d.states, d.rivals)
	if no := d.refuseContested(goals); no.Reason == "" {
		w := &walk{world: f.world, desired: d.desired, t: f.t, log: f.log}
		for _, g := range goals {
			s := d.states[g.layer]
			if s != nil && s.deleting || (s == nil || s.absent) && g.waits != "" {
				continue
			}
			digest := ""
			switch {
			case g.keep:
				digest = s.digest
			case !g.remove:
				digest = f.publish(g.content)
			}
			w.write(g, d.states, digest, &most)
			if most <= 0 {
				break
			}
		}
		f.log = w.log
	} else {
		f.log = append(f.log, name+": "+no.Message)
	}
	f.claims.Settle(types.NamespacedName{Name: name}, changes)
}

func asDesired(all []desired) Desired {
	var out Desired
	var sum strings.Builder
	for _, w := range all {
		layer := Layer{Name: w.name, Digest: w.digest}
		for _, k := range slices.Sorted(maps.Keys(w.content)) {
			parts := strings.Split(string(k), "/")
			layer.Objects = append(layer.Objects, ObjectRef{Kind: parts[1], Name: parts[3]})
		}
		sum.WriteString(w.digest)
		out.Layers = append(out.Layers, layer)
	}
	out.Digest = sum.String()
	return out
}

// apply is what one kubectl apply does: objects get Transforms, or none. It returns the
// order in which the Transforms are written.
func (f *fleet) apply(version int, owners map[key]string) []string {
	names := f.names()
	f.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		layers := []desired{{name: name + "-00", content: content{}}, {name: name + "-01", content: content{}, after: []string{name + "-00"}}}
		layers[0].content[key("/ConfigMap//"+name)] = manifest{sum: name}
		for _, k := range slices.Sorted(maps.Keys(owners)) {
			if owners[k] == name {
				m := manifest{sum: fmt.Sprintf("%s@%d", k, f.random.IntN(version+1)), once: f.once[k]}
				layers[f.random.IntN(2)].content[k] = m
			}
		}
		if len(layers[1].content) == 0 {
			layers = layers[:1]
		}
		for i := range layers {
			layers[i].digest = f.publish(layers[i].content)
		}
		f.all[name].applied = layers
	}
	return names
}

// TestAnObjectThatMovesBetweenTransformsIsNeverDeleted: in whatever order they are written
// and rendered, and wherever the controller is killed.
func TestAnObjectThatMovesBetweenTransformsIsNeverDeleted(t *testing.T) {
	walks := 500
	if testing.Short() {
		walks = 150
	}
	for seed := range walks {
		random := rand.New(rand.NewPCG(uint64(seed), 2)) //nolint:gosec // a seed for a walk
		f := &fleet{world: newWorld(random), t: t, now: time.Unix(1e9, 0), all: map[string]*participant{}}
		f.log = append(f.log, fmt.Sprintf("seed %d", seed))
		for i := range 2 + random.IntN(2) {
			name := string(rune('a' + i))
			f.all[name] = &participant{transform: &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Name: name}}}
		}
		f.walk()
		if t.Failed() {
			return
		}
	}
}

func (f *fleet) walk() {
	defer func() {
		if f.t.Failed() {
			f.t.Log(strings.Join(f.log, "\n"))
		}
	}()
	var keys []key
	for i := range 1 + f.random.IntN(6) {
		k := key(fmt.Sprintf("/ConfigMap//o%d", i))
		keys = append(keys, k)
		f.once[k] = f.random.IntN(8) == 0
	}
	f.restart()
	owners := map[key]string{}
	deal := func() {
		for _, k := range keys {
			owners[k] = f.names()[f.random.IntN(len(f.all))]
		}
	}
	deal()
	f.apply(0, owners)
	f.converge()
	f.settled(owners, nil)
	uids := map[key]int{}
	for _, k := range keys {
		uids[k] = f.objects[k].uid
	}
	for version := range 1 + f.random.IntN(3) {
		f.calm = false
		deal()
		before := map[string][]desired{}
		for name, m := range f.all {
			before[name] = m.applied
		}
		order := f.apply(version+1, owners)
		after := map[string][]desired{}
		for name, m := range f.all {
			after[name], m.applied = m.applied, before[name]
		}
		for i, name := range order {
			// It is written, a moment after the one before it.
			f.log = append(f.log, fmt.Sprintf("applied %s: %+v", name, after[name]))
			f.all[name].applied = after[name]
			f.claims.Changed(f.all[name].transform)
			steps := 40
			if i < len(order)-1 {
				steps = f.random.IntN(15)
			}
			for range steps {
				f.now = f.now.Add(time.Duration(f.random.IntN(100)) * time.Millisecond)
				switch f.random.IntN(8) {
				case 0:
					f.reconcile(order[f.random.IntN(len(order))], 1+f.random.IntN(3))
				case 1, 2:
					f.reconcile(order[f.random.IntN(len(order))], 1000)
				case 3:
					if f.random.IntN(5) == 0 {
						f.log = append(f.log, "killed")
						f.restart()
					}
				default:
					f.step()
				}
			}
		}
	}
	f.converge()
	f.settled(owners, uids)

	// One of them goes, and what it had is wanted by another one.
	gone, heir := f.names()[0], f.names()[1]
	for _, k := range keys {
		if owners[k] == gone {
			owners[k] = heir
		}
	}
	f.all[gone].deleted = true
	f.apply(9, owners)
	f.all[gone].applied = nil
	for _, name := range f.names() {
		f.claims.Changed(f.all[name].transform)
	}
	f.converge()
	delete(f.all, gone)
	f.converge()
	f.settled(owners, uids)
	for name, u := range f.layers {
		require.False(f.t, strings.HasPrefix(name, gone+"-") && u.exists, "%s is gone", name)
	}
}

// converge lets everything work without a fault until nothing is left to do.
func (f *fleet) converge() {
	f.calm = true
	quiet := 0
	for range 300 {
		before := len(f.log)
		for _, name := range f.names() {
			f.reconcile(name, 1000)
		}
		for _, name := range slices.Sorted(maps.Keys(f.layers)) {
			f.move(name, 0)
			f.move(name, 2)
			f.move(name, 1)
			f.move(name, 2)
		}
		f.now = f.now.Add(time.Second)
		if len(f.log) > before {
			quiet = 0
		} else if quiet++; quiet > 15 {
			return
		}
	}
	require.Fail(f.t, "it does not converge", "%v", f.log[max(0, len(f.log)-40):])
}

// settled checks a world in which all is delivered.
func (f *fleet) settled(owners map[key]string, uids map[key]int) {
	for k, name := range owners {
		o := f.objects[k]
		require.NotNil(f.t, o, "%s is there", k)
		if uids != nil {
			require.Equal(f.t, uids[k], o.uid, "%s is the same object", k)
		}
		if f.once[k] {
			continue
		}
		require.True(f.t, strings.HasPrefix(o.label, name+"-"), "%s is owned by %s, not %s", k, name, o.label)
		require.False(f.t, o.mark, "%s is not marked any more", k)
		for layer, u := range f.layers {
			require.True(f.t, strings.HasPrefix(layer, name+"-") || !u.inventory[k], "%s has let go of %s", layer, k)
		}
	}
	for name := range f.all {
		require.Zero(f.t, f.claims.Waiting(types.NamespacedName{Name: name}), "%s waits for nothing", name)
	}
}
