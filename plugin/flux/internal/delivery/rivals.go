// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/apply"
)

// Destinations that are no layer: another Transform, and a destination that is not known yet.
const (
	toOther   = "\x00other"
	toUnknown = "\x00unknown"
)

// rivals holds the facts about other Transforms that a plan depends on.
type rivals struct {
	objects map[key]other
	// open: another Transform may yet come to want an object that this one is about to delete.
	open bool
	// ends: the Transform is being deleted, and does not wait until others have applied
	// what it leaves to them.
	ends bool
}

// other sums up the claims of other Transforms on an object.
type other struct {
	// wantedBy is a Transform that wants the object. The flags hold if any such Transform
	// wants it at all, came first (ahead), has applied it (held), has applied it marked, or has
	// a manifest that Flux leaves alone (once).
	wantedBy  types.NamespacedName
	wants     bool
	ahead     bool
	held      bool
	hasMarked bool
	once      bool
	// leftBy is a Transform that has the object and does not want it any more. leaves says that
	// there is such a Transform, and marked that all such Transforms have it marked.
	leftBy types.NamespacedName
	leaves bool
	marked bool
}

// compare sums up the claims of an object, in the order in which they were made, as one of them
// sees them.
func (c *claim) compare(id objectID, claims []*claim) other {
	// The order of the claims decides if nothing else does.
	o := other{marked: true}
	ownIndex := slices.Index(claims, c)
	for i, rival := range claims {
		theirs := rival.uses[id]
		switch {
		case rival == c:
		// A Transform that wants the object is ahead if it has it, or came first.
		case theirs&useWanted != 0:
			ahead := theirs&useHeld != 0
			switch holds := c.uses[id]&useHeld != 0; {
			case holds && ahead:
				ahead = rival.before(c)
			case !holds && !ahead:
				ahead = ownIndex < 0 || i < ownIndex
			}
			if !o.wants || ahead && !o.ahead {
				o.wantedBy = rival.name
			}
			o.wants = true
			o.ahead = o.ahead || ahead
			o.held = o.held || theirs&useHeld != 0
			o.hasMarked = o.hasMarked || theirs&(useHeld|useMarked) == useHeld|useMarked
			o.once = o.once || theirs&useOnce != 0

		// A Transform that only has the object leaves it, once it has marked it.
		case theirs&useOnce == 0:
			if !o.leaves || theirs&useMarked == 0 {
				o.leftBy = rival.name
			}
			o.leaves = true
			o.marked = o.marked && theirs&useMarked != 0
		}
	}
	return o
}

// before reports whether c comes before d, if the Transforms of both have applied an object.
func (c *claim) before(other *claim) bool {
	if !c.created.Equal(other.created) {
		return c.created.Before(other.created)
	}
	return c.name.String() < other.name.String()
}

// uses returns what a Transform does with its objects, for others.
func uses(want []desired, live map[string]*state) map[key]use {
	// It wants what its render has.
	out := map[key]use{}
	owner := map[key]string{}
	for _, w := range want {
		for k, m := range w.content {
			out[k] |= useWanted
			owner[k] = w.name
			if m.once {
				out[k] |= useOnce
			}
		}
	}

	// It holds the objects that Flux may treat as objects of a layer.
	unmarked := map[key]bool{}
	for _, s := range live {
		if s.absent {
			continue
		}
		for k := range s.objects() {
			m, has := s.content[k]
			done := s.applied && m.mark == marked && s.inventory[k]
			switch {
			case owner[k] == "":
				out[k] |= useHeld
				if m.once {
					out[k] |= useOnce
				}
				// A layer that cannot apply anything is not waited for, as in blocked.
				isIdle := s.failed || s.suspended == theirs || s.deleting
				isLost := !s.known || !has
				if !done && !isIdle && !isLost {
					unmarked[k] = true
				}
			case s.inventory[k]:
				out[k] |= useHeld
				if owner[k] == s.name && !done {
					unmarked[k] = true
				}
			}
		}
	}

	// An object is marked if all of its layers have marked it.
	for k, u := range out {
		if u&useHeld != 0 && !unmarked[k] {
			out[k] |= useMarked
		}
	}
	return out
}

// objects returns the objects that Flux may treat as objects of a layer.
func (s *state) objects() map[key]bool {
	out := make(map[key]bool, len(s.content))
	for k := range s.content {
		out[k] = true
	}
	for k := range s.inventory {
		out[k] = true
	}
	return out
}

// pinned reports whether a layer keeps an object for good because the object cannot be handed over
// to the layer that wants it.
func (p *planner) pinned(s *state, k key) bool {
	owner := p.owner[k]
	if owner == "" && s.inventory[k] && p.fixed(s, k) {
		return true
	}
	return owner != "" && owner != s.name && s.inventory[k] && p.byName[owner].content[k].once
}

// fixed reports whether a layer keeps an object, as it is, as long as another Transform wants it:
// its labels never change.
func (p *planner) fixed(s *state, k key) bool {
	o := p.rivals.objects[k]
	return p.destination(k) == toOther && (o.once || s.content[k].once)
}

// leave decides on an object that no layer of this Transform should have, and another Transform
// wants.
func (p *planner) leave(g *goal, s *state, k key) {
	m, has := s.content[k]
	if !has {
		return // It is on its way out.
	}
	o := p.rivals.objects[k]
	isUnappliable := s.failed && (!s.inventory[k] || s.refused[k] && o.held)
	switch {
	case p.fixed(s, k):
		m.mark = plain
		g.content[k] = m
		return
	case s.applied && m.mark == marked && (o.hasMarked || p.rivals.ends):
		delete(g.content, k)
		return
	case isUnappliable:
		// It cannot be applied again, and the other Transform has it, or creates it.
		delete(g.content, k)
		g.quiesce = true
		return
	}
	m.mark = marked
	g.content[k] = m
	g.others = fmt.Sprintf("keeps %s until Transform %q has applied it", shown(k), o.wantedBy)
}

// stuck reports whether a layer cannot be written without a loss: its artifact is gone, and with
// it the manifests of objects that another Transform may want.
func (p *planner) stuck(s *state) bool {
	if s.known || s.deleting {
		return false
	}
	for k := range s.inventory {
		destination := p.destination(k)
		isAwaited := destination == toOther && !p.rivals.objects[k].held && !p.rivals.ends
		if destination == toUnknown || isAwaited {
			return true
		}
	}
	return false
}

// awaited returns a message if another Transform has not handed over yet an object that a layer is
// to apply, or "". That Transform would put its old manifest over the new one when it marks it.
func (p *planner) awaited(w *desired) string {
	for _, k := range sortedKeys(w.content) {
		o := p.rivals.objects[k]
		isHeldBack := o.leaves && !o.marked
		if isHeldBack && !w.content[k].once {
			return fmt.Sprintf("Transform %q has not handed %s over yet", o.leftBy, shown(k))
		}
	}
	return ""
}

// look finds the claims of other Transforms on the objects of this one, and decides whether objects
// that it is about to delete, or to take, have to wait for them.
func (d *delivery) look(want Desired) {
	d.Claims.recordWanted(d.t, want)

	// What leaves the render, and what is wanted, is compared with the claims of others.
	keys := map[key]bool{}
	wanted := map[key]bool{}
	waits := false
	for _, layer := range want.Layers {
		for _, r := range layer.Objects {
			keys[r.key()] = true
			wanted[r.key()] = true
			wanted[withoutNamespace(r.key())] = true
		}
	}
	for _, s := range d.states {
		for k := range s.inventory {
			keys[k] = true
			waits = waits || !wanted[k]
		}
	}

	// Transforms that are ahead, or have an object still, are waited for.
	d.rivals.objects = d.Claims.others(d.t, keys)
	awaits := map[types.NamespacedName]bool{}
	for k, o := range d.rivals.objects {
		switch {
		case !wanted[k]:
		case o.ahead:
			waits = true
			awaits[o.wantedBy] = true
		case o.leaves:
			awaits[o.leftBy] = true
		}
	}
	d.rivals.open = d.Claims.wait(d.t, want.Digest, waits, d.rivals.ends, awaits)
}

// refuseContested refuses objects that another Transform wants and claimed first. Objects that this
// Transform has applied already, and objects that no Transform deletes, are only reported.
func (d *delivery) refuseContested(goals []goal) (refused Progress) {
	// Objects that are applied already are only reported.
	applied := map[key]bool{}
	for _, s := range d.states {
		for k := range s.inventory {
			applied[k] = true
		}
	}
	once := map[key]bool{} // They are created where they are missing, and that is all.
	for _, w := range d.desired {
		for k, m := range w.content {
			once[k] = m.once
		}
	}

	// Every object that another Transform has first is shared; a new one is refused.
	var fresh bool
	var contested []v1alpha1.NodeStatus
	var names []string
	for _, g := range goals {
		u := d.layers[g.layer]
		if u == nil {
			continue
		}
		for _, r := range u.Objects {
			o := d.rivals.objects[r.key()]
			fresh = fresh || !applied[r.key()]
			if !o.ahead || once[r.key()] {
				continue
			}
			d.shared = append(d.shared, fmt.Sprintf("%s is delivered by the Transforms %q and %q", r, o.wantedBy, d.name()))
			if !applied[r.key()] && !kept(r) {
				contested = append(contested, v1alpha1.NodeStatus{
					ID: r.Node, Object: r.String(), Layer: objectName(d.t, u.Name), State: StateForeign,
					Message: fmt.Sprintf("delivered by Transform %q", o.wantedBy),
				})
				names = append(names, fmt.Sprintf("%s (Transform %q)", r, o.wantedBy))
			}
		}
	}

	// A hand-over that is under way is waited for. Else the user has to decide.
	switch {
	case len(contested) > 0 && d.rivals.open:
		return Progress{Reason: v1alpha1.LayerNotReadyReason, Message: "waiting for another Transform to hand over " + names[0]}
	case len(contested) > 0 && !d.warns():
		message := fmt.Sprintf("Transform %q renders what another Transform delivers: %s; nothing is applied: "+
			"remove it from one of them, or set spec.delivery.sharedObjects: Warn", d.name(), printable.List(names, 3))
		return Progress{Stalled: true, Nodes: contested, Reason: v1alpha1.SharedObjectsReason, Message: message}
	case fresh && d.Claims.unknown(d.t):
		const message = "waiting for Transforms that were not reconciled since the controller started: one of them may have its objects"
		return Progress{Reason: v1alpha1.LayerNotReadyReason, Message: message}
	}
	return Progress{}
}

// name returns the name of the Transform.
func (d *delivery) name() types.NamespacedName {
	return types.NamespacedName{Namespace: d.t.Namespace, Name: d.t.Name}
}

// warns reports whether objects of another Transform are applied all the same.
func (d *delivery) warns() bool {
	return d.t.Spec.Delivery != nil && d.t.Spec.Delivery.SharedObjects == v1alpha1.SharedObjectsWarn
}

// kept reports whether an object stays when its Transform goes, so that several may have it.
func kept(r ObjectRef) bool {
	return r.Group == "" && r.Kind == "Namespace" || r.Group == "apiextensions.k8s.io" && r.Kind == "CustomResourceDefinition"
}

// restore requests that Flux applies again the objects that another Transform may have deleted, and
// artifacts that the status of a Kustomization lacks although its conditions have them.
func (d *delivery) restore(ctx context.Context) error {
	for _, name := range ordered(d.states) {
		s := d.states[name]
		k := d.live.kustomizations[name]
		if s.suspended != 0 || s.deleting {
			continue
		}
		isStale := d.Claims.takeStale(d.t, s.inventory)
		if !isStale && !forgotten(s, k, time.Now()) {
			continue
		}
		patch := client.MergeFrom(k.DeepCopy())
		if k.Annotations == nil {
			k.Annotations = map[string]string{}
		}
		k.Annotations[meta.ReconcileRequestAnnotation] = time.Now().UTC().Format(time.RFC3339Nano)
		if err := client.IgnoreNotFound(d.Client.Patch(ctx, k, patch, apply.FieldOwner)); err != nil {
			return err
		}
	}
	return nil
}

// forgotten reports whether the condition Ready of a Kustomization has that the digest of its source
// was applied, and the rest of its status has another digest. Flux writes the conditions first. It
// writes the rest only if it differs from the object as it was read from a cache, which lags behind
// when a revision is applied again soon after another revision. Flux would not write it before the
// next interval.
func forgotten(s *state, k *kustomizev1.Kustomization, now time.Time) bool {
	const both = 3 * time.Second
	if k == nil || !s.fetched || s.applied || s.digest == "" {
		return false
	}
	c := ready(k)
	isReady := c.Status == metav1.ConditionTrue && strings.HasSuffix(c.Message, s.digest)
	isRecorded := strings.HasSuffix(k.Status.LastAppliedRevision, s.digest)
	isOld := now.Sub(c.LastTransitionTime.Time) > both
	isAnswered := k.Annotations[meta.ReconcileRequestAnnotation] == k.Status.LastHandledReconcileAt
	return isReady && !isRecorded && isOld && isAnswered
}
