// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package inputs reads the schema of what a module takes: Describe lists its inputs, Schema writes
// them as JSON Schema, and Compare says whether a second version takes all that a first one took.
//
// A comparison goes field by field, and asks CUE's subsumption about scalars only: for
// lists it answers wrongly (v0.17.1: [...string] is said to take all of [...int]), and for
// structs it does not say which field is meant. What cannot be proven (a bound that depends on
// another input, another regular expression, a condition, an alternative that an input may fit
// beside another one) is undecided, and never compatible.
package inputs
