// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

// Rules describe the order in which an engine applies objects, and the objects that it waits for.
type Rules struct {
	// KeepsOrder is for engines that apply objects in the order in which they are
	// written, and do not sort them.
	KeepsOrder bool
	// Serial is for engines that apply the objects of a wave one after another,
	// sorted by kind, group, namespace and name; others apply objects of one kind
	// at the same time.
	Serial bool
	// Stages are parts of a wave that the engine applies, and waits for, one after
	// another; kinds that belong to no stage come after the last.
	Stages []Stage
	// First are the kinds that come first inside a wave, and Last the kinds that come
	// last; other kinds stand between them. Engines look at the kind only, not at its
	// group.
	First, Last []string

	// Ready are the types, as Kind.group, whose readiness the engine waits for;
	// *.group and *.*.group stand for every kind of a group and of the groups below
	// it.
	Ready []string
	// ReadyCustom is for engines that wait for the conditions of any custom
	// resource.
	ReadyCustom bool
	// NeverReady are the reasons that keep the engine waiting, perhaps forever.
	NeverReady []NeverReady
}

// Stage is a part of a wave: kinds by name, or by the end of their name.
type Stage struct {
	Kinds, Suffixes []string
}

// NeverReady is a reason why a healthy object may never count as ready, or not for long, so
// that a sync would hang on it in any wave but the last. Its text is a clause of the
// messages about such objects.
type NeverReady string

// The reasons.
const (
	// IngressAddress: an Ingress has an address only if its controller publishes
	// an address.
	IngressAddress NeverReady = "an Ingress may never get an address"
	// GatewayAddress: a Gateway of the Gateway API is programmed only when it has an
	// address.
	GatewayAddress NeverReady = "a Gateway may never get an address"
	// RouteAccepted: a route of the Gateway API is accepted only if its Gateway
	// exists, and resolved only when its Service exists; Flagger creates the Service of a
	// canary later than any object of a render.
	RouteAccepted NeverReady = "a route may never be accepted by its Gateway"
	// LoadBalancerAddress: a Service of type LoadBalancer.
	LoadBalancerAddress NeverReady = "a LoadBalancer may never get an address"
	// ClaimUnbound: a claim whose class binds it only when a pod uses it
	// (WaitForFirstConsumer), or whose class is unknown.
	ClaimUnbound NeverReady = "a PersistentVolumeClaim may bind only when a pod uses it"
	// DeploymentPaused: paused: true.
	DeploymentPaused NeverReady = "a paused Deployment never finishes its rollout"
	// JobSuspended: suspend: true.
	JobSuspended NeverReady = "a suspended Job never completes"
	// CronJobSuspended: suspend: true, for engines that report it as suspended; all
	// other CronJobs are ready at once.
	CronJobSuspended NeverReady = "a suspended CronJob never counts as ready"
	// AutoscalerIdle: a HorizontalPodAutoscaler that no other object refers to. Its
	// controller reads it every 15 seconds only, and until then it is not ready; if its
	// target does not exist yet, Argo CD even fails the sync.
	AutoscalerIdle NeverReady = "a HorizontalPodAutoscaler is ready only after its controller has read it"
)
