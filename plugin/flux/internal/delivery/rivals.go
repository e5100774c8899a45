// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"fmt"
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

// Destinations that are no layer: another Transform, and what is not known yet.
const (
	toOther   = "\x00other"
	toUnknown = "\x00unknown"
)

// rivals are what a plan knows of other Transforms.
type rivals struct {
	of map[key]other
	// open: another Transform may yet come to want what this one is about to delete.
	open bool
	// ends: the Transform is being deleted, and does not wait until others have applied
	// what it leaves to them.
	ends bool
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

	// It holds what Flux may treat as one of a layer.
	unmarked := map[key]bool{}
	for _, s := range live {
		if s.absent {
			continue
		}
		for k := range s.all() {
			m, has := s.content[k]
			done := s.applied && m.mark == marked && s.inventory[k]
			switch {
			case owner[k] == "":
				out[k] |= useHeld
				if m.once {
					out[k] |= useOnce
				}
				// One that cannot apply anything is not waited for, as in blocked.
				if lost := s.failed || s.suspended == theirs || s.deleting || !s.known || !has; !done && !lost {
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

	// It has marked what all of its layers have marked.
	for k, u := range out {
		if u&useHeld != 0 && !unmarked[k] {
			out[k] |= useMarked
		}
	}
	return out
}

// all returns the objects that Flux may treat as those of a layer.
func (s *state) all() map[key]bool {
	out := make(map[key]bool, len(s.content))
	for k := range s.content {
		out[k] = true
	}
	for k := range s.inventory {
		out[k] = true
	}
	return out
}

// fixed reports whether a layer keeps an object, as it is, as long as another Transform wants it:
// its labels never change.
func (p *planner) fixed(s *state, k key) bool {
	o := p.rivals.of[k]
	return p.destination(k) == toOther && (o.once || s.content[k].once)
}

// leave decides on an object that no layer of this Transform should have, and another Transform
// wants.
func (p *planner) leave(g *goal, s *state, k key) {
	m, has := s.content[k]
	o := p.rivals.of[k]
	switch {
	case !has:
		return // It is on its way out.
	case p.fixed(s, k):
		m.mark = plain
		g.content[k] = m
		return
	case s.applied && m.mark == marked && (o.has || p.rivals.ends):
		delete(g.content, k)
		return
	case s.failed && (!s.inventory[k] || s.refused[k] && o.held):
		// It cannot be applied again, and the other one has it, or creates it.
		delete(g.content, k)
		g.quiesce = true
		return
	}
	m.mark = marked
	g.content[k] = m
	g.others = fmt.Sprintf("keeps %s until Transform %q has applied it", shown(k), o.by)
}

// stuck reports whether a layer cannot be written without a loss: its artifact is gone, and with
// it the manifests of objects that another Transform may want.
func (p *planner) stuck(s *state) bool {
	if s.known || s.deleting {
		return false
	}
	for k := range s.inventory {
		if to := p.destination(k); to == toUnknown || to == toOther && !p.rivals.of[k].held && !p.rivals.ends {
			return true
		}
	}
	return false
}

// awaited returns which other Transform has not handed over yet what a layer is to apply, or "".
// That Transform would put its old manifest over the new one when it marks it.
func (p *planner) awaited(w *desired) string {
	for _, k := range sortedKeys(w.content) {
		if o := p.rivals.of[k]; o.leaves && !o.marked && !w.content[k].once {
			return fmt.Sprintf("Transform %q has not handed %s over yet", o.from, shown(k))
		}
	}
	return ""
}

// look finds what other Transforms do with the objects of this one, and decides whether what it is
// about to delete, or to take, has to wait for them.
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
	d.rivals.of = d.Claims.others(d.t, keys)
	awaits := map[types.NamespacedName]bool{}
	for k, o := range d.rivals.of {
		switch {
		case !wanted[k]:
		case o.ahead:
			waits = true
			awaits[o.by] = true
		case o.leaves:
			awaits[o.from] = true
		}
	}
	d.rivals.open = d.Claims.wait(d.t, want.Digest, waits, d.rivals.ends, awaits)
}

// refuseContested looks for objects that another Transform wants, and came first with. Objects
// that this one has applied already, and those that no Transform deletes, are only reported.
func (d *delivery) refuseContested(goals []goal) (refused Progress) {
	// What is applied already is only reported.
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
	var no []v1alpha1.NodeStatus
	var names []string
	for _, g := range goals {
		u := d.layers[g.layer]
		if u == nil {
			continue
		}
		for _, r := range u.Objects {
			o := d.rivals.of[r.key()]
			fresh = fresh || !applied[r.key()]
			if !o.ahead || once[r.key()] {
				continue
			}
			d.shared = append(d.shared, fmt.Sprintf("%s is delivered by the Transforms %q and %q", r, o.by, d.name()))
			if !applied[r.key()] && !kept(r) {
				no = append(no, v1alpha1.NodeStatus{
					ID: r.Node, Object: r.String(), Layer: objectName(d.t, u.Name), State: StateForeign,
					Message: fmt.Sprintf("delivered by Transform %q", o.by),
				})
				names = append(names, fmt.Sprintf("%s (Transform %q)", r, o.by))
			}
		}
	}

	// A hand-over that is under way is waited for. Else the user has to decide.
	switch {
	case len(no) > 0 && d.rivals.open:
		return Progress{Reason: v1alpha1.LayerNotReadyReason, Message: "waiting for another Transform to hand over " + names[0]}
	case len(no) > 0 && !d.warns():
		return Progress{
			Stalled: true, Nodes: no, Reason: v1alpha1.SharedObjectsReason,
			Message: fmt.Sprintf("Transform %q renders what another Transform delivers: %s; nothing is applied: remove it from one of them, or set spec.delivery.sharedObjects: Warn",
				d.name(), printable.List(names, 3)),
		}
	case fresh && d.Claims.unknown(d.t):
		return Progress{Reason: v1alpha1.LayerNotReadyReason, Message: "waiting for Transforms that were not reconciled since the controller started: one of them may have its objects"}
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

// restore requests that Flux applies what another Transform may have deleted, and what its status
// does not have although its conditions do.
func (d *delivery) restore(ctx context.Context) error {
	for _, name := range ordered(d.states) {
		s := d.states[name]
		k := d.live.kustomizations[name]
		if s.suspended != 0 || s.deleting || !d.Claims.takeStale(d.t, s.inventory) && !forgotten(s, k, time.Now()) {
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

// forgotten reports whether the condition Ready of a Kustomization has that it applied what its
// source leads to, and the rest of its status has something else. Flux writes the conditions
// first. It writes the rest only if it differs from the object as it was read from a cache, which
// lags behind when a revision is applied again soon after another one. Flux would not write it
// before the next interval.
func forgotten(s *state, k *kustomizev1.Kustomization, now time.Time) bool {
	const both = 3 * time.Second
	if k == nil || !s.fetched || s.applied || s.digest == "" {
		return false
	}
	c := ready(k)
	return c.Status == metav1.ConditionTrue && strings.HasSuffix(c.Message, s.digest) && !strings.HasSuffix(k.Status.LastAppliedRevision, s.digest) &&
		now.Sub(c.LastTransitionTime.Time) > both && k.Annotations[meta.ReconcileRequestAnnotation] == k.Status.LastHandledReconcileAt
}
