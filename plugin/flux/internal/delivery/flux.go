// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// Flux is the engine that has Flux apply: a Kustomization for each layer, and a source
// for each Kustomization.
type Flux struct {
	// Client reads and writes them, and reads the metadata of objects before they are
	// taken over. It should not read from a cache: what was written a moment ago is
	// what the next step starts from.
	Client client.Client
	// Artifacts is where the layers are published.
	Artifacts Artifacts
	// Claims are those of all Transforms of the process; where it is nil, there are no others.
	Claims *Claims
	// DefaultServiceAccount is the account that Flux applies with where the Transform names
	// none.
	DefaultServiceAccount string
}

var _ Engine = (*Flux)(nil)

// delivery is one call of Deliver or of Withdraw.
type delivery struct {
	*Flux
	t       *v1alpha1.Transform
	desired []desired
	layers  map[string]*Layer
	live    *cluster
	states  map[string]*state
	library library
	// rivals is what other Transforms do with the same objects, and shared are those that
	// they want too.
	rivals rivals
	shared []string
	// policy is what becomes of the objects of a Kustomization that is deleted.
	policy string
	// changed are layers that got what is wanted, and touched those that were written.
	changed []string
	touched map[string]bool
	// healed: an artifact that was gone was published again.
	healed bool
}

// Deliver implements [Engine].
func (f *Flux) Deliver(ctx context.Context, t *v1alpha1.Transform, want Desired) (Progress, error) {
	for _, u := range want.Layers {
		if name := objectName(t, u.Name); len(name) > maxName {
			return Progress{Stalled: true, Reason: v1alpha1.InvalidReason, Message: fmt.Sprintf(
				"%q is too long for the name of a Kustomization, which is a label of all that it applies: %d characters are too many: rename the Transform",
				name, len(name)-maxName)}, nil
		}
	}
	d := f.begin(t)
	for i := range want.Layers {
		d.layers[want.Layers[i].Name] = &want.Layers[i]
	}
	if err := d.read(ctx); err != nil {
		return Progress{}, err
	}
	d.look(want)
	if err := d.load(ctx, want.Layers); err != nil {
		return Progress{}, err
	}
	d.Claims.hold(t, uses(d.desired, d.states))
	goals := plan(d.desired, d.states, d.rivals)
	refused, err := d.readable(want.Layers), error(nil)
	if refused.Reason == "" {
		refused = d.contest(goals)
	}
	if refused.Reason == "" {
		refused, err = d.preflight(ctx, goals)
	}
	if err != nil || refused.Reason != "" {
		refused.Layers = d.progress(goals).Layers
		return refused, err
	}
	for _, g := range goals {
		if err := d.bring(ctx, g); err != nil {
			return Progress{}, fmt.Errorf("layer %q: %w", g.layer, err)
		}
	}
	if d.healed {
		return f.Deliver(ctx, t, want) // There is no event when an artifact is back.
	}
	if err := d.restore(ctx); err != nil {
		return Progress{}, err
	}
	if _, err := d.tidy(ctx); err != nil {
		return Progress{}, err
	}
	return d.progress(goals), nil
}

func (f *Flux) begin(t *v1alpha1.Transform) *delivery {
	if f.Claims == nil {
		f.Claims = NewClaims(ClaimOptions{})
	}
	return &delivery{Flux: f, t: t, layers: map[string]*Layer{}, library: library{}, touched: map[string]bool{}, policy: waitForTermination}
}

// bring writes what brings a layer nearer to its goal.
func (d *delivery) bring(ctx context.Context, g goal) error {
	s := d.states[g.layer]
	if s != nil && s.deleting || (s == nil || s.absent) && g.waits != "" {
		return nil
	}
	if g.keep && (s.digest == "" || s.elsewhere) {
		return nil // Its due comes, and it gets a source then.
	}
	digest, err := d.digest(ctx, g)
	if err != nil {
		return err
	}
	if g.remove {
		return d.remove(ctx, g, next(s, g, digest, true))
	}
	source, err := d.source(g, digest)
	if g.keep && errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	d.healed = d.healed || !g.keep && s != nil && !s.known && digest == s.digest
	now := next(s, g, digest, s != nil && d.current(g.layer, s.health, refer(source)))
	lead := now.source || s != nil && digest == s.digest && !d.live.same(source)
	return d.put(ctx, g, source, now, lead)
}

// put writes the Kustomization and the source of a layer. A layer that is to be suspended is so
// before its source leads elsewhere, and is resumed after that.
func (d *delivery) put(ctx context.Context, g goal, source client.Object, now writes, lead bool) error {
	if now.suspend {
		if err := d.write(ctx, g, refer(source), true); err != nil {
			return err
		}
	}
	if lead {
		if err := d.lead(ctx, g.layer, source); err != nil {
			return err
		}
	}
	if now.source && g.released {
		d.changed = append(d.changed, g.layer)
	}
	if now.resume {
		return d.write(ctx, g, refer(source), false)
	}
	return nil
}

// digest is that of the artifact of a goal, which is published if it is none that
// is wanted for good.
func (d *delivery) digest(ctx context.Context, g goal) (string, error) {
	s := d.states[g.layer]
	switch {
	case g.remove:
		return "", nil
	case g.keep:
		return s.digest, nil
	}
	if i := slices.IndexFunc(d.desired, func(w desired) bool { return w.name == g.layer }); i >= 0 && maps.Equal(d.desired[i].content, g.content) {
		return d.desired[i].digest, nil
	}
	files, err := d.library.files(g.content)
	if err != nil {
		return "", err
	}
	return d.Artifacts.Publish(ctx, g.layer, files)
}

// remove deletes the Kustomization of a layer. Its finalizer takes away what is its
// own, but not while it is suspended.
func (d *delivery) remove(ctx context.Context, g goal, now writes) error {
	k := d.live.kustomizations[g.layer]
	if now.resume || now.suspend {
		if err := d.write(ctx, g, k.Spec.SourceRef, now.suspend); err != nil {
			return err
		}
	}
	if !now.remove {
		return nil
	}
	d.touched[g.layer] = true
	if g.orphan {
		return d.orphan(ctx, k)
	}
	return client.IgnoreNotFound(d.Client.Delete(ctx, k, client.Preconditions{UID: &k.UID}))
}
