// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// rotateSecret takes the next step of a rotation that a user wants, in the Secret of the authority.
// It returns the message of the step, and changes the Secret only if the message is news; "" if
// there is nothing to write.
func rotateSecret(secret *corev1.Secret, agents []standing, now time.Time) (message string, err error) {
	a, err := enrol.DecodeAuthority(secret.Data) // Not the one that is in use.
	if err != nil {
		return "", err
	}

	// Take a step, and go on only if it changes the message.
	value := secret.Annotations[RotateAnnotation]
	r := rotation{authority: a, agents: agents, now: now, force: secret.Annotations[ForceAnnotation] == value}
	message, done, err := r.takeStep()
	if err != nil || message == secret.Annotations[RotationAnnotation] {
		return "", err
	}

	// The authority and the message are written together.
	secret.Data, err = a.Encode()
	if err != nil {
		return "", err
	}
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, RotationAnnotation, message)
	if done {
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, RotatedAnnotation, value)
	}
	return message, nil
}

// wantsRotation reports whether a user wants a rotation that is not finished yet.
func wantsRotation(secret *corev1.Secret) bool {
	value := secret.Annotations[RotateAnnotation]
	return value != "" && value != secret.Annotations[RotatedAnnotation]
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

// findStandings returns the standing of all agents that have a certificate or a token. Reported
// returns what an agent reported last, and whether it is connected.
func findStandings(ctx context.Context, clusters client.Reader, reported func(types.UID) (Child, bool)) (out []standing, err error) {
	var list v1alpha1.PivotClusterList
	if err := clusters.List(ctx, &list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		c := &list.Items[i]
		if c.Annotations[bootstrap.SelfAnnotation] == "" && c.Status.Enrolment != nil {
			out = append(out, standingOf(c, reported))
		}
	}
	return out, nil
}

// standingOf returns the standing of the agent of a PivotCluster that has an enrolment. What the
// agent reported last counts more than the status.
func standingOf(c *v1alpha1.PivotCluster, reported func(types.UID) (Child, bool)) standing {
	s := standing{name: c.Name}
	for _, until := range []*metav1.Time{c.Status.Enrolment.Expires, c.Status.Enrolment.NotAfter} {
		if until != nil {
			s.until = until.Time // The certificate, where there is one.
		}
	}
	if c.Status.Agent != nil {
		s.pins = c.Status.Agent.Pins
	}
	var child Child
	child, s.connected = reported(c.UID)
	if child.Pins != "" {
		s.pins = strings.Fields(child.Pins)
	}
	return s
}
