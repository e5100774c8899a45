// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/apply"
)

// Claims records which objects each Transform wants and holds, so that an object that
// moves between two of them is handed over, and one that two of them want is reported. It
// is kept in memory: after a restart it is complete when each Transform was reconciled,
// and until then nothing is deleted that another one may want.
type Claims struct {
	options ClaimOptions
	mu      sync.Mutex
	byName  map[types.NamespacedName]*claim
	objects map[objectID][]*claim
}

// ClaimOptions configures Claims. The zero value works.
type ClaimOptions struct {
	// Isolated keeps Transforms of different namespaces apart.
	Isolated bool
	// Wake, where set, is called for a Transform when another one changed what it may wait
	// for. It must not block for long.
	Wake func(types.NamespacedName)
	// Settle bounds the wait of a deletion for another Transform that wants the object, as
	// kubectl and Flux apply the documents of one change one after the other; zero does
	// not wait.
	Settle time.Duration
	// Now is the clock; time.Now where nil.
	Now func() time.Time
}

// DefaultSettle is Settle of a controller.
const DefaultSettle = 5 * time.Second

// pendingFor bounds how long a deletion waits for the render of a Transform that has changed.
const pendingFor = 2 * time.Minute

// lookAgain is the interval at which a Transform looks again whether others are rendered.
const lookAgain = time.Second

// NewClaims returns a Claims without a claim.
func NewClaims(o ClaimOptions) *Claims {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wake == nil {
		o.Wake = func(types.NamespacedName) {}
	}
	return &Claims{options: o, byName: map[types.NamespacedName]*claim{}, objects: map[objectID][]*claim{}}
}

// objectID is the sum of a scope and a key.
type objectID [16]byte

// use is a set of flags: what a Transform does with an object.
type use uint8

const (
	// useWanted: it is rendered.
	useWanted use = 1 << iota
	// useHeld: a Kustomization has applied it, or may be applying it.
	useHeld
	// useMarked: what is applied is marked; or, of an object that is not wanted any more,
	// the mark is not to be waited for.
	useMarked
	// useOnce: Flux leaves it alone where it exists.
	useOnce
)

// claim is the claim of one Transform.
type claim struct {
	name    types.NamespacedName
	created time.Time
	scope   string
	// digest identifies the render that is wanted, and uses are nil until a delivery was looked at.
	digest string
	uses   map[objectID]use
	// changed counts what may change the render, and settled is the count at the last render.
	// changedAt is the time of the first change since.
	changed, settled uint64
	changedAt        time.Time
	// delivered: it has delivered before this process began.
	delivered bool
	// since is the time at which it began to wait for others, with the render waitsWith. It
	// looks again after next, which is zero where it waits for nothing, and it cannot go on
	// without the Transforms in awaits.
	since     time.Time
	waitsWith string
	next      time.Duration
	awaits    map[types.NamespacedName]bool
	// stale are objects that another Transform may have deleted.
	stale map[objectID]bool
}

// scopeOf returns the scope in which keys of a Transform are unique: a cluster, and with tenants a
// namespace.
func (c *Claims) scopeOf(t *v1alpha1.Transform) string {
	scope := ""
	if c.options.Isolated {
		scope = t.Namespace
	}
	if d := t.Spec.Delivery; d != nil && d.Flux != nil && d.Flux.KubeConfig != nil {
		scope += "/" + t.Namespace + "/" + apply.Sum(d.Flux.KubeConfig)
	}
	return scope
}

// identify returns the identity of an object in a scope, which is shorter than its key.
func identify(scope string, k key) objectID {
	sum := sha256.Sum256([]byte(scope + "\x00" + string(k)))
	return objectID(sum[:16])
}

// update calls f with the claim of a Transform, which it makes if there is none, and then wakes the
// Transforms that f returns.
func (c *Claims) update(t *v1alpha1.Transform, f func(current *claim) map[types.NamespacedName]bool) {
	name := types.NamespacedName{Namespace: t.Namespace, Name: t.Name}
	c.mu.Lock()

	// The first use of a Transform makes its claim.
	current := c.byName[name]
	if current == nil {
		current = &claim{
			name: name, created: t.CreationTimestamp.Time, scope: c.scopeOf(t),
			delivered: len(t.Status.Layers) > 0, stale: map[objectID]bool{},
		}
		c.byName[name] = current
	}

	// The lock is released first: Wake may call back.
	woken := f(current)
	c.mu.Unlock()
	for name := range woken {
		c.options.Wake(name)
	}
}

// find calls f with the claim of a Transform, if there is such a claim. A nil Claims is empty.
func (c *Claims) find(name types.NamespacedName, f func(current *claim)) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if current := c.byName[name]; current != nil {
		f(current)
	}
}

// Changed records that a Transform may render something else now.
func (c *Claims) Changed(t *v1alpha1.Transform) {
	c.update(t, func(current *claim) map[types.NamespacedName]bool {
		if current.changed == current.settled {
			current.changedAt = c.options.Now()
		}
		current.changed++
		return nil
	})
}

// Begin returns the count of changes that a reconciliation sees, for Settle.
func (c *Claims) Begin(name types.NamespacedName) (count uint64) {
	c.find(name, func(current *claim) { count = current.changed })
	return count
}

// Settle records that the wishes of a Transform are known, or cannot be known.
func (c *Claims) Settle(name types.NamespacedName, count uint64) {
	c.find(name, func(current *claim) { current.settled = max(current.settled, count) })
}

// Forget removes a Transform that is gone.
func (c *Claims) Forget(t *v1alpha1.Transform) {
	c.update(t, func(current *claim) map[types.NamespacedName]bool {
		delete(c.byName, current.name)
		return c.set(current, nil)
	})
}

// Known reports whether the wishes of a Transform are recorded.
func (c *Claims) Known(name types.NamespacedName) (known bool) {
	c.find(name, func(current *claim) { known = current.uses != nil })
	return known
}

// Awaiting returns the Transforms of the same namespace that cannot go on without this one.
func (c *Claims) Awaiting(name types.NamespacedName) map[string]bool {
	out := map[string]bool{}
	c.find(name, func(*claim) {
		for _, r := range c.byName {
			if r.awaits[name] && r.name.Namespace == name.Namespace {
				out[r.name.Name] = true
			}
		}
	})
	return out
}

// Waiting returns how long until a Transform looks again for a change that no event reports. It is
// zero if the Transform waits for nothing.
func (c *Claims) Waiting(name types.NamespacedName) (next time.Duration) {
	c.find(name, func(current *claim) { next = current.next })
	return next
}

// Assume records what a Transform has delivered, if its delivery is not looked at.
func (c *Claims) Assume(t *v1alpha1.Transform, want Desired) {
	uses := map[key]use{}
	for _, layer := range want.Layers {
		for _, r := range layer.Objects {
			uses[r.key()] = useWanted | useHeld
		}
	}
	c.recordUses(t, uses)
}

// recordWanted records what a Transform wants, before it looks at what others do.
func (c *Claims) recordWanted(t *v1alpha1.Transform, want Desired) {
	scope := c.scopeOf(t)
	c.update(t, func(current *claim) map[types.NamespacedName]bool {
		if current.uses != nil && current.digest == want.Digest && current.scope == scope {
			return nil
		}

		// What is held in the same scope stays held, whatever is wanted now.
		uses := map[objectID]use{}
		for id, u := range current.uses {
			u &= useHeld | useOnce
			if u&useHeld != 0 && current.scope == scope {
				uses[id] = u
			}
		}

		// The objects of the render are wanted.
		for _, layer := range want.Layers {
			for _, r := range layer.Objects {
				uses[identify(scope, r.key())] |= useWanted
			}
		}
		current.scope = scope
		current.digest = want.Digest
		return c.set(current, uses)
	})
}

// recordUses records all that a Transform does with its objects.
func (c *Claims) recordUses(t *v1alpha1.Transform, uses map[key]use) {
	c.update(t, func(current *claim) map[types.NamespacedName]bool {
		byID := make(map[objectID]use, len(uses))
		for k, u := range uses {
			byID[identify(current.scope, k)] = u
		}
		return c.set(current, byID)
	})
}

// set replaces the uses of a claim, and returns the Transforms that this may concern.
func (c *Claims) set(current *claim, uses map[objectID]use) map[types.NamespacedName]bool {
	woken := map[types.NamespacedName]bool{}

	// A Transform is woken if another one does something else with an object that both have.
	touch := func(id objectID, before, after use) {
		for _, r := range c.objects[id] {
			if r == current || before == after {
				continue
			}
			woken[r.name] = true
			isDropped := before&useHeld > after&useHeld
			isUnmarked := r.uses[id]&(useWanted|useHeld|useMarked) == useWanted|useHeld
			if isDropped && isUnmarked { // The other one may have deleted it.
				r.stale[id] = true
			}
		}
	}

	// Uses that ended are removed from the index, new ones are added.
	for id, before := range current.uses {
		after, still := uses[id]
		touch(id, before, after)
		if still {
			continue
		}
		c.objects[id] = slices.DeleteFunc(c.objects[id], func(r *claim) bool { return r == current })
		if len(c.objects[id]) == 0 {
			delete(c.objects, id)
		}
	}
	for id, after := range uses {
		if _, had := current.uses[id]; !had {
			touch(id, 0, after)
			c.objects[id] = append(c.objects[id], current)
		}
	}
	current.uses = uses
	return woken
}

// others returns what other Transforms do with objects. Objects with which they do nothing are
// left out.
func (c *Claims) others(t *v1alpha1.Transform, keys map[key]bool) map[key]other {
	out := map[key]other{}
	c.update(t, func(current *claim) map[types.NamespacedName]bool {
		for k := range keys {
			id := identify(current.scope, k)
			claims := c.objects[id]
			isShared := slices.ContainsFunc(claims, func(r *claim) bool { return r != current })
			if isShared {
				out[k] = current.compare(id, claims)
			}
		}
		return nil
	})
	return out
}

// wait records, if waiting is true, that a Transform is about to delete an object that another
// Transform may come to want, or wants an object that another Transform may give away. It cannot go
// on without the Transforms in awaits. The result is true for a moment after the wait began, and
// while others that changed until then are not rendered. A Transform that is itself deleted (ends)
// waits only for their renders.
func (c *Claims) wait(t *v1alpha1.Transform, revision string, waiting, ends bool, awaits map[types.NamespacedName]bool) (unsettled bool) {
	c.update(t, func(current *claim) map[types.NamespacedName]bool {
		// Transforms that are awaited from now on are woken.
		woken := maps.Clone(awaits)
		maps.DeleteFunc(woken, func(name types.NamespacedName, _ bool) bool { return current.awaits[name] })
		current.awaits = awaits
		current.next = 0

		// Another revision begins a new wait.
		if !waiting {
			current.since = time.Time{}
			return woken
		}
		now := c.options.Now()
		if current.since.IsZero() || current.waitsWith != revision {
			current.since = now
			current.waitsWith = revision
		}

		// The wait lasts until the documents of one change are applied and rendered.
		until := current.since.Add(c.options.Settle)
		switch {
		case !ends && now.Before(until):
			current.next = until.Sub(now)
		case c.unsettled(current, func(r *claim) bool { return !r.changedAt.After(until) }):
			current.next = lookAgain
		}
		unsettled = current.next > 0
		return woken
	})
	return unsettled
}

// unknown reports whether a Transform that has delivered before this process began was not looked
// at yet.
func (c *Claims) unknown(t *v1alpha1.Transform) (unsettled bool) {
	c.update(t, func(current *claim) map[types.NamespacedName]bool {
		unsettled = c.unsettled(current, func(r *claim) bool { return r.delivered && r.uses == nil })
		if unsettled {
			current.next = lookAgain
		}
		return nil
	})
	return unsettled
}

// unsettled reports whether another Transform in the scope, which matches accepts, was not rendered
// since it changed.
func (c *Claims) unsettled(current *claim, matches func(*claim) bool) bool {
	now := c.options.Now()
	for _, rival := range c.byName {
		isRival := rival != current && rival.scope == current.scope
		isPending := rival.changed != rival.settled && now.Sub(rival.changedAt) < pendingFor
		if isRival && isPending && matches(rival) {
			return true
		}
	}
	return false
}

// takeStale reports, once, whether another Transform may have deleted one of the objects.
func (c *Claims) takeStale(t *v1alpha1.Transform, keys map[key]bool) (stale bool) {
	c.update(t, func(current *claim) map[types.NamespacedName]bool {
		for k := range keys {
			if id := identify(current.scope, k); len(current.stale) > 0 && current.stale[id] {
				stale = true
				delete(current.stale, id)
			}
		}
		return nil
	})
	return stale
}
