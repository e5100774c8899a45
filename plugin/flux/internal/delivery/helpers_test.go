// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// world behaves as a cluster with Flux does, as far as a hand-over can tell: sources
// that are fetched some time after they were changed, Kustomizations that are
// reconciled at any time and in several steps, labels, inventories, garbage
// collection and finalizers as in kustomize-controller v1.9.5 and
// fluxcd/pkg/ssa v0.76.
type world struct {
	random    *rand.Rand
	artifacts map[string]content
	layers    map[string]*layerInWorld
	objects   map[key]*objectInWorld
	// protected objects have an annotation of their author that forbids pruning.
	protected map[key]bool
	// once objects are those that Flux leaves alone where they exist.
	once map[key]bool
	// broken manifests are refused by the API server.
	broken map[string]bool
	// calm: nothing fails by chance.
	calm bool
	// tracked objects were in the inventory of the layer that they are labelled for:
	// Flux itself loses the others when an apply ends in the middle.
	tracked map[key]bool
	deleted []key
	serial  int
}

type objectInWorld struct {
	uid   int
	label string
	mark  bool
	sum   string
}

type layerInWorld struct {
	digest, fetched string // of its source
	exists          bool   // its Kustomization
	deleting        bool
	suspended, idle bool
	health          string
	stained         map[key]bool

	attempted                string
	applied, healthy, failed bool
	refused                  map[key]bool
	inventory                map[key]bool
	// under is the artifact that is being applied.
	under string
}

func newWorld(random *rand.Rand) *world {
	return &world{
		random: random, artifacts: map[string]content{}, layers: map[string]*layerInWorld{}, objects: map[key]*objectInWorld{},
		protected: map[key]bool{}, once: map[key]bool{}, broken: map[string]bool{}, tracked: map[key]bool{},
	}
}

// publish stores a content under a digest that identifies it.
func (w *world) publish(c content) string {
	var b strings.Builder
	b.WriteString("artifact: ")
	for _, k := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%s=%s/%d ", k, c[k].sum, c[k].mark)
	}
	w.artifacts[b.String()] = maps.Clone(c)
	return b.String()
}

// step lets Flux do something.
func (w *world) step() {
	if len(w.layers) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(w.layers))
	w.move(names[w.random.IntN(len(names))], w.random.IntN(4))
}

func (w *world) move(name string, what int) {
	u := w.layers[name]
	switch what {
	case 0:
		u.fetched = u.digest
	case 1:
		w.begin(u)
	default:
		w.end(name, u)
	}
}

// begin starts a reconciliation with what is there now.
func (w *world) begin(u *layerInWorld) {
	if u.under != "" || !u.exists || u.deleting || u.fetched == "" {
		return
	}
	if u.suspended {
		u.idle = true
		return
	}
	u.under, u.attempted = u.fetched, u.fetched
	u.applied, u.healthy, u.failed, u.refused = false, false, false, nil
}

// end ends a reconciliation that has begun, or lets the finalizer work.
func (w *world) end(name string, u *layerInWorld) {
	switch {
	case u.under != "":
		w.apply(name, u)
		u.under = ""
	case u.deleting:
		if !u.suspended {
			w.prune(name, slices.Sorted(maps.Keys(u.inventory)))
		}
		*u = layerInWorld{digest: u.digest, fetched: u.fetched}
	}
}

func (w *world) apply(name string, u *layerInWorld) {
	c := w.artifacts[u.under]
	all := slices.Sorted(maps.Keys(c))
	stop := len(all)
	if !w.calm && w.random.IntN(5) == 0 {
		stop = w.random.IntN(len(all) + 1)
		u.failed = true
	}
	for _, k := range all {
		if w.broken[c[k].sum] {
			u.failed, stop = true, 0 // the dry run of all comes first
			u.refused = map[key]bool{k: true}
		}
	}
	for _, k := range all[:stop] {
		w.put(name, k, c[k])
	}
	if u.failed {
		return
	}
	var stale []key
	for _, k := range slices.Sorted(maps.Keys(u.inventory)) {
		if _, still := c[k]; !still {
			stale = append(stale, k)
		}
	}
	u.inventory = map[key]bool{}
	for k := range c {
		u.inventory[k] = true
		if o := w.objects[k]; o != nil && o.label == name {
			w.tracked[k] = true
		}
	}
	w.prune(name, stale)
	u.applied = true
	u.healthy = w.calm || w.random.IntN(4) > 0
}

func (w *world) put(name string, k key, m manifest) {
	o := w.objects[k]
	if o == nil {
		w.serial++
		o = &objectInWorld{uid: w.serial}
		w.objects[k] = o
		delete(w.tracked, k)
	} else if w.once[k] && m.once {
		return
	}
	o.label, o.sum, o.mark = name, m.sum, m.mark == marked || w.protected[k]
}

// prune is the garbage collection of Flux.
func (w *world) prune(name string, stale []key) {
	for _, k := range stale {
		if o := w.objects[k]; o != nil && o.label == name && !o.mark {
			delete(w.objects, k)
			w.deleted = append(w.deleted, k)
		}
	}
}

// states is what the engine reads.
func (w *world) states(gone map[string]bool) map[string]*state {
	live := map[string]*state{}
	for name, u := range w.layers {
		if u.digest == "" {
			continue
		}
		s := &state{
			name: name, absent: !u.exists, digest: u.digest, fetched: u.fetched == u.digest, health: u.health, deleting: u.deleting, idle: u.idle,
			inventory: maps.Clone(u.inventory), stained: maps.Clone(u.stained),
		}
		if !gone[u.digest] {
			s.content, s.known = maps.Clone(w.artifacts[u.digest]), true
		}
		if u.suspended {
			s.suspended = ours
		}
		if u.attempted == u.digest && u.fetched == u.digest {
			s.applied, s.failed, s.refused = u.applied, u.failed, u.refused
			s.healthy = u.healthy && !u.suspended
		}
		live[name] = s
	}
	return live
}
