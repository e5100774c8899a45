// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package helm builds components of Helm charts, with the template engine and the loader of
// Helm itself: the objects equal the objects of helm template --include-crds.
//
// # Invariants
//
// There is no cluster, no network and no clock: lookup finds nothing and is warned of,
// getHostByName gives "", a schema is not fetched. Functions that give another result at each
// call (random texts, dates, certificates) are known by name; where the result of one reaches
// an object, the chart is refused at the line of the template. Maps are in the order of their
// keys, in keys and values too, which Helm leaves to chance.
//
// No message shows a text of the values that the chart does not hold itself.
//
// # Hooks
//
// Hooks of an installation or an upgrade become phases before and after the other objects,
// by weight. Jobs of them are replaced where they change, because a Job cannot be changed:
// that is the delete policy before-hook-creation. They are not deleted when they have
// succeeded, and do not run again where nothing of them changes.
//
// Linking Helm costs each start 13 ms and 26 MB, so that a program of its own does it.
package helm
