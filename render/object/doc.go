// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package object is the leaf vocabulary of a render: Kubernetes objects and
// their identities, nodes and their policies, positions in users' files, values
// that keep where they were written, and the one error type, which render
// re-exports.
//
// An [Object] is a plain map with numbers as int64 or float64, as the Kubernetes
// libraries expect of unstructured content. A [Value] keeps the position of every
// part of a document, so that errors name the user's own line after documents have
// been merged.
//
// Every stage of render uses these types. The package imports no stage, no CUE and
// no Kubernetes library.
package object
