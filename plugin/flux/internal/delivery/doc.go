// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package delivery brings what was published into a cluster by the objects of an
// engine: Layers cuts a render into what one Kustomization applies, and Flux has
// Flux apply them in order.
//
// # How it decides
//
// Each call of Deliver reads the Kustomizations and the sources of a Transform,
// and nothing that a process could have kept. From that state plan says what each
// layer should lead to (a goal: objects, and how each of them is marked), and next
// says what is to be written now. Both are pure, and a simulation of
// kustomize-controller walks them through thousands of changes. Whoever is killed
// between two writes finds the state that the next call starts from.
//
// # Invariants
//
// A layer gets the digest that is wanted when all layers that it comes after are
// Ready at theirs. A layer that leads there already is not written.
//
// An object that is wanted is not deleted because it changes its layer. Garbage
// collection of Flux deletes what an artifact lacks and the one applied before it
// had, if the object still has the labels of that Kustomization and no annotation
// that forbids it. So the old layer keeps the object, marked: its old manifest with
// kustomize.toolkit.fluxcd.io/prune: disabled. The new layer applies it, marked too.
// When it has, the old layer drops it, and whoever of the two has applied it
// last, nobody deletes it. When the old one has dropped it, the new one gets
// the plain manifest, and with it the labels are its own for good.
//
// An object that nobody wants any more, and that is marked by a hand-over which came to
// nothing, is restored before it is dropped, so that it is deleted. A layer that has
// no layer any more is deleted after all that is wanted was applied, when all that moved
// is owned by others, and in the reverse order.
//
// What Flux leaves alone where it exists (ssa: IfNotPresent, ssa: Ignore, reconcile:
// disabled) cannot be handed over: its labels never change. It stays in the layer
// that has it, beside the layer that wants it, as long as it is wanted.
//
// What SOPS encrypted is not released where Flux is not told to decrypt it: of a Secret with
// stringData, kustomize-controller drops the mark of SOPS before it looks for it, and
// would apply what is encrypted as the values.
//
// Health checks are changed with the Kustomization suspended, and it is resumed when
// the source has the new artifact: Flux would else wait for objects that
// it has not got yet. A Kustomization that somebody else suspended is not resumed.
//
// # Decisions
//
// The order is ours and not that of spec.dependsOn, which Flux polls every 30 s and
// which compares no revisions where the sources differ.
//
// Marks are in the manifests and not in the live objects, as `kubectl annotate`
// would have it: only the engine has rights to those, and it may be in another
// cluster. Suspending the old layer until the new one has applied would need no
// second artifact, but one `flux resume` at the wrong moment would delete a
// StatefulSet, and a layer that does not get healthy would leave another one
// without drift correction.
//
// What is applied is read from lastAttemptedRevision together with the condition
// Ready, not from lastAppliedRevision: that one moves only when a layer is healthy, and
// an unhealthy layer must not hold another one's objects.
//
// Deleting with Orphan patches deletionPolicy and deletes without waiting that the new
// generation is observed: kustomize-controller reads the policy from the object that
// has the deletion timestamp, which is later.
//
// Callers: plugin/flux; package application delivers to Argo CD instead.
package delivery
