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
// and who holds one for long gives it away when others wait, once.
//
// What waits is bounded, and leaves when its context ends.
//
// Callers: plugin/argocd.
//
// # Decisions
//
// A semaphore was not chosen: it is first come, first served, so that a refresh
// of a large ApplicationSet would stand before everybody else.
package turn
