// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package flux is the adapter for Flux: the controller of Transforms. It renders what
// a Transform names, publishes it, and has an engine apply it in order.
//
// # A reconciliation
//
//	finalizer ── suspended? ── deleted? ── withdraw
//	    │
//	dependsOn ── look: did anything change? ──── no ──┐
//	    │ yes                                         │
//	request ── render ── layers ── publish             │
//	(internal/request)            (internal/publish,  │
//	    │                          internal/storage)  │
//	    └──────────────── deliver ◄───────────────────┘
//	                      (internal/delivery, internal/application)
//	                          │
//	                      status, events, prune
//
// wanted.go and render.go have the upper half, deliver.go and leave.go the lower one,
// status.go and errors.go what is told of it; setup.go and watches.go say when it happens.
//
// # Invariants
//
// Whatever a Transform names is read, and whatever Flux is to apply is written, by the
// service account of the Transform, or of the flag; by the controller itself only where
// there is neither. What is read from the cache of the manager decides whether
// something is to be done, never what.
//
// Where nothing changed, nothing is fetched, no registry is asked and no status is
// written: status.artifact.checksum is the key of what was rendered. Tags and branches
// are looked at every interval, and when somebody asks by the annotation of Flux.
//
// What is wrong with a new render leaves the old one as it is: nothing is published, and
// a delivery that was under way goes on. A render that failed by what is written is not
// tried again before something changes.
//
// Every step is safe to be killed after: what the next one starts from is in the cluster
// and in the store. What this process remembers saves requests.
//
// An engine that is not wanted any more lets go before the next one delivers, and what it
// applied stays. A Transform of which no engine has anything can always be deleted,
// whatever its account may do; one that has delivered waits for who may withdraw.
//
// A status is one write, so that nobody sees Ready before what is Ready.
//
// Renders share slots, and evaluations share workers, by namespace: see slots and package
// limiter. A reconciliation without a slot is postponed by a second, behind others in the
// queue.
//
// A Transform is reconciled once at a time. What is rendered of a spec that has changed
// ends, so that a rollback, or a mended reference, waits for no server. A rollback looks at
// nothing of the spec but the digest; what the spec gives is rendered once that is
// delivered, and what is wrong with it leaves Ready alone.
//
// Errors become conditions in one place, diagnose: somebody must change something
// (Stalled), somebody else is at it (waiting for an event), or it may pass by itself
// (a retry that backs off, by less where a server is away: see outages). Rights that are missing are both: Stalled, and tried again,
// because nobody tells when they are granted, and an API server that has just started
// denies them to all.
//
// # Decisions
//
// Secrets are not watched. Who may watch one may read all, and none of their values is
// part of a render; a Secret that is missing is looked for again. ConfigMaps are watched
// by their metadata, whatever their labels: they are named in a spec, and a label beside
// that is one more thing to forget.
//
// Neither the patch helper nor the impersonator of fluxcd/pkg/runtime is used; see
// work.patchStatus and accounts.
//
// Alerts of Flux name a closed set of kinds, and Transform is none of them. Events are
// therefore raised twice: on the Transform, and on the ExternalArtifact or the first
// OCIRepository that stands for it, or will when it is published. What could not be
// published has the revision of the source that was tried, for commit statuses; what
// changes nothing is marked as for them alone, as kustomize-controller does, so that no
// chat hears of each commit. That events have no revision after a failure was not
// chosen: the notification-controller takes those with the same words for one.
//
// An artifact that nobody applies here (delivery None) is rendered for Flux: its
// annotations mean nothing to anybody else.
//
// Callers: cmd/ropewalk-controller.
package flux
