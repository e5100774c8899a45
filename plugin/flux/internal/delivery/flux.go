// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// Flux is the engine that has Flux apply: a Kustomization for each layer, and a source
// for each Kustomization.
type Flux struct {
	// Client reads and writes them, and reads the metadata of objects before they are
	// taken over. It should not read from a cache: the next step starts from the objects that
	// were written a moment ago.
	Client client.Client
	// Artifacts publishes the layers.
	Artifacts Artifacts
	// Claims is shared by all Transforms of the process; where it is nil, there are no others.
	Claims *Claims
	// DefaultServiceAccount is the account that Flux applies with if the Transform names no
	// account.
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
	// rivals has the claims of other Transforms on the same objects, and shared the objects that
	// they want too.
	rivals rivals
	shared []string
	// policy is the deletionPolicy of Kustomizations.
	policy string
	// changed are the layers that were released now, and touched the layers that were written.
	changed []string
	touched map[string]bool
	// readings are about the objects of layers, and readAt is the time of the readings.
	readings map[string]reading
	readAt   *metav1.Time
	// healed: an artifact that was gone was published again.
	healed bool
}

// Deliver implements [Engine].
func (f *Flux) Deliver(ctx context.Context, t *v1alpha1.Transform, want Desired) (Progress, error) {
	// A name that is too long for a label is a mistake of the user.
	for _, u := range want.Layers {
		if name := objectName(t, u.Name); len(name) > maxName {
			message := fmt.Sprintf("%q is too long for the name of a Kustomization, which is a label of all that it applies: "+
				"%d characters are too many: rename the Transform", name, len(name)-maxName)
			return Progress{Stalled: true, Reason: v1alpha1.InvalidReason, Message: message}, nil
		}
	}

	// A Transform that rolls back waits until the pods of its workloads run.
	if t.Spec.Delivery != nil && t.Spec.Delivery.RollbackAfter != nil {
		want.Layers = checkWorkloads(want.Layers)
	}

	// The cluster and the claims of other Transforms are read anew each time.
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
	if refused, err := d.findLacks(ctx); err != nil || refused.Reason != "" {
		return refused, err
	}

	// The plan names a goal for each layer.
	d.Claims.recordUses(t, uses(d.desired, d.states))
	goals := plan(d.desired, d.states, d.rivals)

	// Nothing is written if one of these checks refuses it.
	var err error
	refused := d.refuseEncrypted(want.Layers)
	if refused.Reason == "" {
		refused = d.refuseContested(goals)
	}
	if refused.Reason == "" {
		refused, err = d.preflight(ctx, goals)
	}
	if err != nil || refused.Reason != "" {
		refused.Layers = d.progress(goals).Layers
		return refused, err
	}

	// Each layer gets nearer to its goal.
	for _, g := range goals {
		if err := d.bring(ctx, g); err != nil {
			return Progress{}, fmt.Errorf("layer %q: %w", g.layer, err)
		}
	}
	if d.healed {
		return f.Deliver(ctx, t, want) // There is no event when an artifact is back.
	}

	// Objects that Flux has lost are applied again, and sources without a use are deleted.
	if err := d.restore(ctx); err != nil {
		return Progress{}, err
	}
	if _, err := d.tidy(ctx); err != nil {
		return Progress{}, err
	}
	if err := d.readNodes(ctx, goals); err != nil {
		log.FromContext(ctx).Error(err, "reading objects for spec.delivery.flux.reportNodes")
	}
	return d.progress(goals), nil
}

// begin returns a delivery of a Transform of which nothing is read yet.
func (f *Flux) begin(t *v1alpha1.Transform) *delivery {
	if f.Claims == nil {
		f.Claims = NewClaims(ClaimOptions{})
	}
	return &delivery{
		Flux: f, t: t, policy: waitForTermination,
		layers: map[string]*Layer{}, library: library{}, touched: map[string]bool{}, readings: map[string]reading{},
	}
}

// bring brings a layer one step nearer to its goal.
func (d *delivery) bring(ctx context.Context, g goal) error {
	// Some layers have to wait.
	s := d.states[g.layer]
	isDeleting := s != nil && s.deleting
	isNew := s == nil || s.absent
	if isDeleting || isNew && g.waits != "" {
		return nil
	}
	if g.keep && (s.digest == "" || s.elsewhere) {
		return nil // It gets a source when it is released.
	}

	// The artifact of the goal comes first, then its source.
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
	wasGone := s != nil && !s.known && digest == s.digest
	d.healed = d.healed || wasGone && !g.keep

	// The Kustomization is suspended while its source and its health checks change.
	isCurrent := s != nil && d.current(g.layer, s.health, refer(source))
	now := next(s, g, digest, isCurrent)
	isOutdated := s != nil && digest == s.digest && !d.live.same(source)
	return d.put(ctx, g, source, now, now.source || isOutdated)
}

// put writes the Kustomization of a layer, and its source if lead is true. A layer that is to be
// suspended is suspended before its source leads elsewhere, and resumed after that.
func (d *delivery) put(ctx context.Context, g goal, source client.Object, now writes, lead bool) error {
	if now.suspend {
		if err := d.write(ctx, g, refer(source), true); err != nil {
			return err
		}
	}
	if lead {
		if err := d.applySource(ctx, g.layer, source); err != nil {
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

// writes are the writes to a layer that are due now, in this order.
type writes struct {
	// suspend and resume write the Kustomization with all of its fields.
	suspend bool
	source  bool
	resume  bool
	remove  bool
}

// next returns the writes for a goal. The digest identifies its content. The argument current is
// true if the Kustomization, but for its health checks, is as it should be.
func next(s *state, g goal, digest string, current bool) writes {
	switch {
	case g.remove && g.quiesce && s.suspended != theirs:
		return writes{suspend: s.suspended != ours, remove: s.suspended == ours && s.idle}
	case g.remove:
		return writes{resume: s.suspended == ours, remove: s.suspended != theirs}
	case s == nil:
		return writes{source: true, resume: true}
	case s.absent:
		// A source that was left behind has an artifact that must not be applied.
		return writes{source: digest != s.digest, resume: digest == s.digest && s.fetched}
	case digest == s.digest && s.suspended == ours:
		return writes{resume: s.fetched}
	case digest == s.digest:
		return writes{resume: !current || g.health != s.health}
	case g.health == s.health && !g.quiesce && s.suspended != ours:
		return writes{source: true, resume: !current}
	}
	isQuiet := s.suspended == ours && s.idle
	return writes{suspend: s.suspended != ours || g.health != s.health, source: !g.quiesce || isQuiet}
}

// digest returns the digest of the artifact of a goal. It publishes the artifact if the render does
// not have it.
func (d *delivery) digest(ctx context.Context, g goal) (string, error) {
	s := d.states[g.layer]
	switch {
	case g.remove:
		return "", nil
	case g.keep:
		return s.digest, nil
	}
	for _, w := range d.desired {
		if w.name == g.layer && maps.Equal(w.content, g.content) {
			return w.digest, nil
		}
	}
	files, err := d.library.files(g.content)
	if err != nil {
		return "", err
	}
	return d.Artifacts.Publish(ctx, g.layer, files)
}

// remove deletes the Kustomization of a layer. Its finalizer deletes the objects of the layer, but
// not while it is suspended.
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
