// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
)

// Annotations of AuthoritySecret. A user sets the first two, and the controller the others.
const (
	// RotateAnnotation begins a rotation with each value that is not that of RotatedAnnotation.
	RotateAnnotation = "pivot.ropewalk.dev/rotate"
	// ForceAnnotation, with the value of RotateAnnotation, has that rotation wait for no agent: one
	// that is behind needs a new token.
	ForceAnnotation = "pivot.ropewalk.dev/rotate-force"
	// RotatedAnnotation is the value of the rotation that was finished last.
	RotatedAnnotation = "pivot.ropewalk.dev/rotated"
	// RotationAnnotation says what was done last, and what is waited for.
	RotationAnnotation = "pivot.ropewalk.dev/rotation"
)

// rotate takes the next step of a rotation that a user wants, and writes it. The authority is used
// only when the Secret is read again, so that the Secret always has what is used.
func (e *Endpoints) rotate(ctx context.Context, secret *corev1.Secret) error {
	// A value that was rotated already needs nothing.
	value := secret.Annotations[RotateAnnotation]
	if value == "" || value == secret.Annotations[RotatedAnnotation] {
		return nil
	}
	agents, err := e.reconciler.children.standings(ctx)
	if err != nil {
		return err
	}
	a, err := enrol.DecodeAuthority(secret.Data) // Not the one that is in use.
	if err != nil {
		return err
	}

	// Take a step, and go on only if it changes the message.
	r := rotation{authority: a, agents: agents, now: e.reconciler.Now(), force: secret.Annotations[ForceAnnotation] == value}
	message, done, err := r.takeStep()
	if err != nil || message == secret.Annotations[RotationAnnotation] {
		return err
	}

	// Write the authority together with the message, and report it.
	secret.Data, err = a.Encode()
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, RotationAnnotation, message)
	if done {
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, RotatedAnnotation, value)
	}
	if err := e.reconciler.client.Update(ctx, secret, owner); err != nil {
		return err
	}
	e.log.Info("rotation of the authority", "rotation", value, "message", message)
	e.reconciler.Events.Event(secret, corev1.EventTypeNormal, "Rotation", message)
	return nil
}

// rotation is one of an authority. Its steps are AddNext, Promote and DropPrevious.
type rotation struct {
	authority *enrol.Authority
	agents    []standing
	now       time.Time
	force     bool
}

// standing is what the parent knows of an agent: its pins are those that it has reported last.
type standing struct {
	name      string
	pins      []string
	connected bool
	// until is when its certificate ends, or its token where that was not used yet.
	until time.Time
}

// issuedBy reports whether the authority with a pin issued the certificate of the agent.
func (s standing) issuedBy(pin string) bool { return len(s.pins) > 0 && s.pins[0] == pin }

// takeStep changes the authority if no agent is stranded by that. It returns a new message after
// each change.
func (r rotation) takeStep() (message string, done bool, err error) {
	a := r.authority
	current := a.Trust().Pins[0]
	next, known := a.Next()
	switch ends := a.PreviousEnds(); {
	case !ends.IsZero():
		// These are lost with the previous authority: their certificates are of it.
		behind := r.those(func(s standing) bool { return r.now.Before(s.until) && !s.issuedBy(current) })
		if r.waits(behind, ends) {
			return fmt.Sprintf("the new authority issues certificates; the previous one is trusted until %s at most, for agents that have no certificate of the new one yet: %s", stamp(ends), printable.List(behind, 10)), false, nil
		}
		a.DropPrevious()
		return "the previous authority is not trusted any more: the rotation is done; authority " + current, true, nil
	case next != "":
		// The others come back by the bridge.
		behind := r.those(func(s standing) bool { return s.connected && !slices.Contains(s.pins, next) })
		if r.waits(behind, known) {
			return fmt.Sprintf("there is a next authority; waiting until %s at most for connected agents that do not trust it yet: %s", stamp(known), printable.List(behind, 10)), false, nil
		}
		return "the new authority issues certificates; authority " + next, false, a.Promote(r.now)
	}
	err = a.AddNext(r.now)
	next, _ = a.Next()
	return "there is a next authority: " + next, false, err
}

func (r rotation) waits(behind []string, until time.Time) bool {
	return len(behind) > 0 && !r.force && r.now.Before(until)
}

func (r rotation) those(are func(standing) bool) (out []string) {
	for _, s := range r.agents {
		if are(s) {
			out = append(out, s.name)
		}
	}
	slices.Sort(out)
	return out
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// standings returns the standing of all agents that have a certificate or a token.
func (k *children) standings(ctx context.Context) (out []standing, err error) {
	var list v1alpha1.PivotClusterList
	if err := k.store.cache.List(ctx, &list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		c := &list.Items[i]
		enrolment := c.Status.Enrolment
		if c.Annotations[bootstrap.SelfAnnotation] != "" || enrolment == nil {
			continue
		}
		s := standing{name: c.Name}
		for _, until := range []*metav1.Time{enrolment.Expires, enrolment.NotAfter} {
			if until != nil {
				s.until = until.Time // The certificate, where there is one.
			}
		}
		if c.Status.Agent != nil {
			s.pins = c.Status.Agent.Pins
		}
		var said Child
		said, s.connected = k.child(c.UID)
		if said.Pins != "" {
			s.pins = strings.Fields(said.Pins)
		}
		out = append(out, s)
	}
	return out, nil
}

// follow asks agents to renew that trust other authorities than there are. Each call asks only
// some of them, so that they do not come all at once.
func (k *children) follow(ctx context.Context, pins []string) {
	const most, patience = 100, 3 * time.Second
	server, err := k.reach()
	if err != nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var sent sync.WaitGroup
	for _, cluster := range k.behind(strings.Join(pins, " "), most) {
		sent.Go(func() { _ = server.Reconcile(ctx, cluster) }) // One that is away gets them with its next session.
	}
	sent.Wait()
}

// behind returns the agents that reported other pins than those given, at most so many.
func (k *children) behind(pins string, most int) (out []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for cluster, c := range k.last {
		if c.Pins != "" && c.Pins != pins && len(out) < most && k.server.Connected(cluster) {
			out = append(out, cluster)
		}
	}
	return out
}
