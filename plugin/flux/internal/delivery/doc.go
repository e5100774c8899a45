// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package delivery brings a published render into a cluster by the objects of an engine: Layers cuts
// a render into the layers that a Kustomization each applies, and Flux has Flux apply them in order.
//
// # How it decides
//
// Each call of Deliver reads the Kustomizations and the sources of a Transform, and nothing that a
// process could have kept. From that state plan returns a goal for each layer (its objects, and
// the mark of each), and next returns the writes that are due now. Both are pure, and a simulation
// of kustomize-controller walks them through thousands of changes. A process that is killed between
// two writes leaves a state that the next call starts from.
//
// # Invariants
//
// A layer gets the wanted digest when all layers that it comes after are Ready at their digests. A
// layer that has it already is not written.
//
// An object that is wanted is not deleted because it changes its layer. Garbage
// collection of Flux deletes an object that an artifact lacks and the artifact applied before it
// had, if the object still has the labels of that Kustomization and no annotation that forbids it.
// So the old layer keeps the object, marked: its old manifest with
// kustomize.toolkit.fluxcd.io/prune: disabled. The new layer applies it, marked too. Then the old
// layer drops it, and whichever of the two layers has applied it last, it is not deleted. At last
// the new layer gets the plain manifest, and with it the labels are its own for good.
//
// An object that is not desired any more, and that is marked by a hand-over which came to nothing,
// is restored before it is dropped, so that it is deleted. Layers that are not in the render any
// more are deleted in the reverse order, after everything that is desired was applied, and when
// others own everything that moved.
//
// An object that another Transform wants is handed over as to another layer, by the same marks:
// Claims records the objects that each Transform wants and has, and each of the two plans its own
// half of the hand-over. It is not known at once whether another Transform wants an object that
// leaves a render, so that the object stays in its layer until the Transforms that change at the
// same time are rendered. An object that another Transform claimed first is not applied, or only
// reported.
//
// An object that Flux leaves alone where it exists (ssa: IfNotPresent, ssa: Ignore, reconcile:
// disabled) cannot be handed over: its labels never change. It stays in the layer that has it,
// beside the layer that wants it, as long as it is wanted.
//
// Objects that SOPS encrypted are not released where Flux is not configured to decrypt them: of a
// Secret with stringData, kustomize-controller drops the mark of SOPS before it looks for it, and
// would apply the encrypted text as the values.
//
// Health checks are changed with the Kustomization suspended, and it is resumed when the source has
// the new artifact: Flux would else wait for objects that it has not got yet. A Kustomization that a
// user suspended is not resumed.
//
// Package application delivers to Argo CD instead.
package delivery
