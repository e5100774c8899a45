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

// ClaimOptions are those of Claims.
type ClaimOptions struct {
	// Isolated keeps Transforms of different namespaces apart.
	Isolated bool
	// Wake, where set, is called for a Transform when another one changed what it may wait
	// for. It must not block for long.
	Wake func(types.NamespacedName)
	// Settle is how long a deletion waits for another Transform that wants the object, as
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

// lookAgain is when to look again whether others are rendered.
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

// use is what a Transform does with an object.
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

// claim is that of one Transform.
type claim struct {
	name    types.NamespacedName
	created time.Time
	scope   string
	// digest is that of what is wanted, and uses are nil until a delivery was looked at.
	digest string
	uses   map[objectID]use
	// changed counts what may change the render, and settled is the count of the last
	// one that was rendered. At is the first change that was not.
	changed, settled uint64
	at               time.Time
	// delivered: it has delivered before this process began.
	delivered bool
	// since is when it began to wait for others, with what; next is when to look again,
	// zero where it waits for nothing, and awaits are those that it cannot go on without.
	since  time.Time
	with   string
	next   time.Duration
	awaits map[types.NamespacedName]bool
	// stale are objects that another Transform may have deleted.
	stale map[objectID]bool
}

// other is what other Transforms do with an object.
type other struct {
	// by is one that wants it: wants says that there is one, ahead that it came first,
	// held that it has applied it, has that it has applied it marked, and once that Flux
	// leaves its manifest alone.
	by                            types.NamespacedName
	wants, ahead, held, has, once bool
	// from is one that has it and does not want it any more: leaves says that there is one,
	// and marked that all of them have it marked.
	from           types.NamespacedName
	leaves, marked bool
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

// with calls f with the claim of a Transform, and then wakes those that f returns.
func (c *Claims) with(t *v1alpha1.Transform, f func(own *claim) map[types.NamespacedName]bool) {
	name := types.NamespacedName{Namespace: t.Namespace, Name: t.Name}
	c.mu.Lock()
	own := c.byName[name]
	if own == nil {
		own = &claim{
			name: name, created: t.CreationTimestamp.Time, scope: c.scopeOf(t),
			delivered: len(t.Status.Layers) > 0, stale: map[objectID]bool{},
		}
		c.byName[name] = own
	}
	woken := f(own)
	c.mu.Unlock()
	for name := range woken {
		c.options.Wake(name)
	}
}

// find calls f with a claim if there is one. A nil Claims has none.
func (c *Claims) find(name types.NamespacedName, f func(own *claim)) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if own := c.byName[name]; own != nil {
		f(own)
	}
}

// Changed records that a Transform may render something else now.
func (c *Claims) Changed(t *v1alpha1.Transform) {
	c.with(t, func(own *claim) map[types.NamespacedName]bool {
		if own.changed == own.settled {
			own.at = c.options.Now()
		}
		own.changed++
		return nil
	})
}

// Begin returns the count of changes that a reconciliation sees, for Settle.
func (c *Claims) Begin(name types.NamespacedName) (count uint64) {
	c.find(name, func(own *claim) { count = own.changed })
	return count
}

// Settle records that what a Transform wants is known, or cannot be known.
func (c *Claims) Settle(name types.NamespacedName, count uint64) {
	c.find(name, func(own *claim) { own.settled = max(own.settled, count) })
}

// Forget removes a Transform that is gone.
func (c *Claims) Forget(t *v1alpha1.Transform) {
	c.with(t, func(own *claim) map[types.NamespacedName]bool {
		delete(c.byName, own.name)
		return c.set(own, nil)
	})
}

// Known reports whether what a Transform wants is recorded.
func (c *Claims) Known(name types.NamespacedName) (known bool) {
	c.find(name, func(own *claim) { known = own.uses != nil })
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
	c.find(name, func(own *claim) { next = own.next })
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
	c.with(t, func(own *claim) map[types.NamespacedName]bool {
		if own.uses != nil && own.digest == want.Digest && own.scope == scope {
			return nil
		}
		uses := map[objectID]use{}
		for id, u := range own.uses {
			u &= useHeld | useOnce
			if u&useHeld != 0 && own.scope == scope {
				uses[id] = u
			}
		}
		for _, layer := range want.Layers {
			for _, r := range layer.Objects {
				uses[identify(scope, r.key())] |= useWanted
			}
		}
		own.scope = scope
		own.digest = want.Digest
		return c.set(own, uses)
	})
}

// recordUses records all that a Transform does with its objects.
func (c *Claims) recordUses(t *v1alpha1.Transform, uses map[key]use) {
	c.with(t, func(own *claim) map[types.NamespacedName]bool {
		byID := make(map[objectID]use, len(uses))
		for k, u := range uses {
			byID[identify(own.scope, k)] = u
		}
		return c.set(own, byID)
	})
}

// set replaces the uses of a claim, and returns those that it may concern.
func (c *Claims) set(own *claim, uses map[objectID]use) map[types.NamespacedName]bool {
	woken := map[types.NamespacedName]bool{}

	// A Transform is woken if another one does something else with an object that both have.
	touch := func(id objectID, before, after use) {
		for _, r := range c.objects[id] {
			if r == own || before == after {
				continue
			}
			woken[r.name] = true
			if before&useHeld > after&useHeld && r.uses[id]&(useWanted|useHeld|useMarked) == useWanted|useHeld {
				r.stale[id] = true
			}
		}
	}

	// Uses that ended are removed from the index, new ones are added.
	for id, before := range own.uses {
		after, still := uses[id]
		touch(id, before, after)
		if still {
			continue
		}
		c.objects[id] = slices.DeleteFunc(c.objects[id], func(r *claim) bool { return r == own })
		if len(c.objects[id]) == 0 {
			delete(c.objects, id)
		}
	}
	for id, after := range uses {
		if _, had := own.uses[id]; !had {
			touch(id, 0, after)
			c.objects[id] = append(c.objects[id], own)
		}
	}
	own.uses = uses
	return woken
}

// others returns what other Transforms do with objects. Objects with which they do nothing are
// left out.
func (c *Claims) others(t *v1alpha1.Transform, keys map[key]bool) map[key]other {
	out := map[key]other{}
	c.with(t, func(own *claim) map[types.NamespacedName]bool {
		for k := range keys {
			id := identify(own.scope, k)
			if all := c.objects[id]; len(all) > 1 || len(all) == 1 && all[0] != own {
				out[k] = own.compare(id, all)
			}
		}
		return nil
	})
	return out
}

// compare sums up the claims of an object, in the order in which they were made, as one of them
// sees them.
func (c *claim) compare(id objectID, all []*claim) other {
	// The order of the claims decides if nothing else does.
	o := other{marked: true}
	mine := slices.Index(all, c)
	for i, r := range all {
		u := r.uses[id]
		switch {
		case r == c:
		// A Transform that wants the object is ahead if it has it, or came first.
		case u&useWanted != 0:
			ahead := u&useHeld != 0
			switch holds := c.uses[id]&useHeld != 0; {
			case holds && ahead:
				ahead = r.before(c)
			case !holds && !ahead:
				ahead = mine < 0 || i < mine
			}
			if !o.wants || ahead && !o.ahead {
				o.by = r.name
			}
			o.wants = true
			o.ahead = o.ahead || ahead
			o.held = o.held || u&useHeld != 0
			o.has = o.has || u&(useHeld|useMarked) == useHeld|useMarked
			o.once = o.once || u&useOnce != 0

		// A Transform that only has the object leaves it, once it has marked it.
		case u&useOnce == 0:
			if !o.leaves || u&useMarked == 0 {
				o.from = r.name
			}
			o.leaves = true
			o.marked = o.marked && u&useMarked != 0
		}
	}
	return o
}

// before reports whether c comes before d, if the Transforms of both have applied an object.
func (c *claim) before(d *claim) bool {
	if !c.created.Equal(d.created) {
		return c.created.Before(d.created)
	}
	return c.name.String() < d.name.String()
}

// wait records that a Transform is about to delete an object that another one may come to want, or
// wants one that another one may give away. It does so if waits is true; awaits are the Transforms
// that it cannot go on without. The result is true for a moment after that began, and while others
// that changed until then are not rendered. A Transform that is itself deleted waits only for the
// latter.
func (c *Claims) wait(t *v1alpha1.Transform, with string, waits, ends bool, awaits map[types.NamespacedName]bool) (open bool) {
	c.with(t, func(own *claim) map[types.NamespacedName]bool {
		woken := maps.Clone(awaits)
		maps.DeleteFunc(woken, func(name types.NamespacedName, _ bool) bool { return own.awaits[name] })
		own.awaits = awaits
		own.next = 0
		if !waits {
			own.since = time.Time{}
			return woken
		}
		now := c.options.Now()
		if own.since.IsZero() || own.with != with {
			own.since = now
			own.with = with
		}
		until := own.since.Add(c.options.Settle)
		switch {
		case !ends && now.Before(until):
			own.next = until.Sub(now)
		case c.unsettled(own, func(r *claim) bool { return !r.at.After(until) }):
			own.next = lookAgain
		}
		open = own.next > 0
		return woken
	})
	return open
}

// unknown reports whether a Transform that has delivered before this process began was not looked
// at yet.
func (c *Claims) unknown(t *v1alpha1.Transform) (is bool) {
	c.with(t, func(own *claim) map[types.NamespacedName]bool {
		is = c.unsettled(own, func(r *claim) bool { return r.delivered && r.uses == nil })
		if is {
			own.next = lookAgain
		}
		return nil
	})
	return is
}

// unsettled reports whether another Transform in the scope was not rendered since it changed.
func (c *Claims) unsettled(own *claim, is func(*claim) bool) bool {
	now := c.options.Now()
	for _, r := range c.byName {
		if r != own && r.scope == own.scope && r.changed != r.settled && now.Sub(r.at) < pendingFor && is(r) {
			return true
		}
	}
	return false
}

// takeStale reports, once, whether another Transform may have deleted one of the objects.
func (c *Claims) takeStale(t *v1alpha1.Transform, of map[key]bool) (is bool) {
	c.with(t, func(own *claim) map[types.NamespacedName]bool {
		for k := range of {
			if id := identify(own.scope, k); len(own.stale) > 0 && own.stale[id] {
				is = true
				delete(own.stale, id)
			}
		}
		return nil
	})
	return is
}
