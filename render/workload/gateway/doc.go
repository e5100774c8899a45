// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package gateway compiles documents of kind Gateway: from what an author wrote to the
// input of the CUE module gateway, which makes the objects of one of five targets. It
// evaluates nothing and reads nothing.
//
// [Decode] takes the spec of one document after environments and options were merged over
// it, and checks it against the table of [Fields], from which the table of the docs is
// written too. [Join] relates all Gateways of a project to each other and to its
// workloads, and returns their inputs and the ports that they lead to. [Logins] returns the
// workloads that Gateways need beside the author's workloads. [CheckSecrets]
// compares the Secrets that they name with the Secrets that the render makes.
//
// # Invariants
//
// A field that a target does not support is an error at the line of the author, which names
// the targets that do: no setting is left out. All mistakes are reported at once, each once.
// Parts of the input have the position of the author's text. Secrets are known by name only.
// The same documents give the same input in any order.
package gateway
