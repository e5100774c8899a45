// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package inprocess evaluates in the process of its caller.
//
// It is for modules that the caller trusts: CUE can be neither cancelled nor limited from
// inside, so that an evaluation over a limit ends with an error and its goroutine runs
// on. Compiled modules are cached by their digest, and each is compiled once however
// many calls need it. Policies are evaluated here too, each in a fill of its own.
package inprocess
