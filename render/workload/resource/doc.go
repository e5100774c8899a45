// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package resource finds the provisioners of resources and reads their results: outputs, references
// to secrets, volumes, changes to the workload, objects.
//
// # Invariants
//
// Provisioners are written by others: a result is read strictly, and no message repeats a
// value, which may be a secret by mistake. A sensitive output is a reference or is composed
// of literal text and references, never the value of a secret. Mistakes of a
// provisioner are reported at the line of the resource, with a note of where the module
// declares it.
package resource
