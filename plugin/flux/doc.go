// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package flux is the adapter for Flux: the controller of Transforms. It renders the specs
// of a Transform, publishes the render, and has an engine apply it in order.
//
//	finalizer ── suspended? ── deleted? ── withdraw
//	    │
//	dependsOn ── resolve: did anything change? ── no ──┐
//	    │ yes                                          │
//	request ── render ── layers ── publish             │
//	(internal/request)            (internal/publish,   │
//	    │                          internal/storage)   │
//	    └──────────────── deliver ◄────────────────────┘
//	                      (internal/delivery, internal/application)
//	                          │
//	                      status, events, prune
//
// reconciler.go has the pipeline. Its stages are in resolve.go, render.go, publish.go and
// deliver.go, the stages of a rollback in rollback.go, and each returns values for the next
// stages. report.go turns the outcome into conditions, events, and the time of the next
// reconciliation. setup.go and watches.go have the triggers.
//
// # Invariants
//
// The service account of the Transform, or of the flag, reads the objects that a Transform
// names and writes the objects that Flux applies; the controller itself does so only where
// there is neither. The cache of the manager decides whether there is work to do, and never
// what is written.
//
// Where nothing changed, nothing is fetched, no registry is asked and no status is written:
// status.artifact.checksum is the key of the inputs of the render. Tags and branches are
// resolved at every interval, and when the annotation of Flux requests it.
//
// An error of a new render leaves the published artifact and its delivery as they are. A
// stalled render is not tried again before something changes.
//
// A process may be killed after every step: the next process starts from the cluster and the
// store. The memory of the process only saves requests. A status is one write.
//
// The previous engine lets go before another engine delivers, and its objects stay. A
// Transform without objects of an engine can always be deleted.
//
// A deletion waits for the renders of other Transforms that changed. A Transform that
// another Transform waits for is rendered although it depends on the waiting Transform: see
// delivery.Claims. A suspended Transform leaves its objects behind when it is deleted.
//
// Renders share slots, and evaluations share workers, by namespace: see packages renders and
// limiter. A reconciliation without a slot is postponed by a second, behind others in the
// queue. A render of a spec that has changed is ended. An edit of a Transform comes before
// the reconciliations of many Transforms that share a change, and before the interval.
//
// Errors become conditions in one place, diagnose: stalled (a user has to change
// something), waiting (for an event of another object), or retry with a backoff. Missing
// rights are stalled and retried, because no event follows when they are granted.
package flux
