// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package flight does a thing once for all who ask for it at the same time.
//
// # Invariants
//
// Who asks while the same is being done gets its result, and nothing is remembered
// after that: a cache is another thing.
//
// A flight has its own context, with the values of the one of who began it. It ends
// when the last caller has left, and then nobody joins the flight any more. A caller
// whose own context ends leaves with its error, and holds up nobody; the last one waits
// for the end of the flight, within a patience, unless there is none.
//
// A panic of what is done is an error for all who wait for it. One request must not
// end a server for all others.
//
// It imports nothing of this module, and knows no clock but for the patience of a
// caller.
//
// Callers: source/cache, for fetches, and plugin/argocd, for renders. The latter has no patience: it runs
// on, and a deadline has passed.
//
// # Decisions
//
// The singleflight package of golang.org/x/sync was not chosen: with it either the
// first caller takes the others with it, or what nobody waits for goes on.
package flight
