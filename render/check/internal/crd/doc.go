// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package crd reads the CustomResourceDefinitions of the built-in set of
// render/check: which versions they have, and the structural schemas of these.
//
// # Decisions
//
// [structural.Read] decodes a schema into one form and converts it into another,
// and [structural.Faults] judges it, before the first object of a kind is judged: five
// milliseconds for a large kind. The built-in set is written by a tool and known to be
// good, so its text is read straight into a structural schema here; tests compare every
// one with what that way makes of it. Whatever this reader does not know is an error.
// Definitions of users take the long way, because their mistakes have to be named.
package crd
