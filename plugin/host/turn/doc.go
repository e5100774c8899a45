// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package turn says whose turn it is: how many requests are worked on at once, and
// which of those that wait comes next. That equal ones are worked on once is
// source/cache/flight.
//
// # Invariants
//
// Applications take turns: one that asks a hundred times waits behind itself, and
// another that asks once comes next. Among the requests of one application the
// oldest comes first.
//
// Tenants take turns, and in a tenant its applications.
//
// One application never holds more than half of the places, nor of the room to wait,
// and one tenant leaves a quarter of the places to others. That is held while nobody
// else is there too: a place cannot be taken back.
//
// It can where the work may be begun again (Run): then everybody may hold all places,
// and who holds one for long gives it away when others wait, once. No work is begun more
// than twice.
//
// Work is ended for who waits and is not long, and they get its place. What was ended
// before it went on for Patience may be good work on a machine that is busy: it is begun
// again before anybody else as soon as a place for long ones is free, and comes before
// what ran for longer. Tenants take turns at those places too.
//
// What waits is bounded, and leaves when its context ends.
//
// Callers: plugin/argocd, plugin/flux.
//
// # Decisions
//
// A semaphore was not chosen: it is first come, first served, so that a refresh
// of a large ApplicationSet would stand before everybody else.
//
// That work is begun a third time, so that none that was ended young ever has to wait for
// a place for long ones, was not chosen: work without end has the place for long ones
// until it is stopped either way, and would hold others up once more before it. It is
// seldom that good work meets it there: whoever holds one of those places has other
// tenants' work ended only after Patience.
package turn
