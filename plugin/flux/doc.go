// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package flux is the adapter for Flux: the controller of Transforms. It renders what
// a Transform names, publishes it, and has an engine apply it in order.
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
// reconciler.go has the pipeline: resolve.go, render.go, publish.go and deliver.go are stages
// of it, rollback.go those of a rollback, and each returns what the next ones need.
// The outcome is what report.go reads: conditions and events follow from it, and the time of the
// next reconciliation. setup.go and watches.go are the triggers.
//
// # Invariants
//
// What a Transform names is read, and what Flux applies is written, by the service account
// of the Transform, or of the flag; by the controller itself only where there is neither.
// The cache of the manager decides whether something is to be done, never what.
//
// Where nothing changed, nothing is fetched, no registry is asked and no status is written:
// status.artifact.checksum is the key of what was rendered. Tags and branches are resolved
// at every interval, and when the annotation of Flux requests it.
//
// An error of a new render leaves the published one and its delivery as they are. A
// stalled render is not tried again before something changes.
//
// Every step is safe to be killed after: the next one starts from the cluster and the
// store. What this process keeps saves requests. A status is one write.
//
// The previous engine lets go before another one delivers, and what it applied stays. A
// Transform of which no engine has anything can always be deleted.
//
// A deletion waits for the renders of other Transforms that changed, and a Transform that
// another one waits for is rendered although it depends on that one: see delivery.Claims.
// One that is suspended leaves what it delivered, also when it is deleted.
//
// Renders share slots, and evaluations share workers, by namespace: see packages
// renders and limiter. A reconciliation without a slot is postponed by a second, behind
// others in the queue. A render of a spec that has changed is ended. What many Transforms
// share, and the interval, come behind an edit of one of them.
//
// Errors become conditions in one place, diagnose: stalled (a user has to change
// something), waiting (for an event of another object), or retry with a backoff. Missing
// rights are stalled and retried, because no event follows when they are granted.
package flux
