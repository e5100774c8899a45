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
// kustomize-controller walks them through thousands of changes. A process that is killed
// between two writes leaves a state that the next call starts from.
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
// When it has, the old layer drops it, and whichever of the two has applied it
// last, it is not deleted. When the old one has dropped it, the new one gets
// the plain manifest, and with it the labels are its own for good.
//
// An object that is not desired any more, and that is marked by a hand-over which came to
// nothing, is restored before it is dropped, so that it is deleted. A layer that is
// not in the render any more is deleted after all that is desired was applied, when all that moved
// is owned by others, and in the reverse order.
//
// An object that another Transform wants is handed over as to another layer, by the same
// marks: Claims records what each Transform wants and has, and each of the two plans its
// own half of the hand-over. It is not known at once whether another one wants what leaves
// a render, so that it stays in its layer until the Transforms that change at the same time
// are rendered. What another Transform came first with is not applied, or reported.
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
// it has not got yet. A Kustomization that a user suspended is not resumed.
//
// Package application delivers to Argo CD instead.
package delivery
