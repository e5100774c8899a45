// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package object is the leaf vocabulary of a render: Kubernetes objects and
// their identities, nodes and their policies, positions in users' files,
// values that remember where they were written, and the one error type.
//
// Every stage of render speaks these words and none other; the package
// imports no stage, no CUE and no Kubernetes library, so that it costs nothing
// to link.
//
// # Decisions
//
// An [Object] is a plain map, not a typed API struct: modules render kinds
// that we do not know. Numbers are int64 or float64, as the Kubernetes
// libraries expect of unstructured content.
//
// A [Value] keeps the position of every part of a document, because errors
// must name the user's own line long after documents have been merged. Keeping
// the YAML nodes instead would have tied every stage to one parser.
//
// The error type lives here and is re-exported as render.Error, because a
// stage cannot import the package that runs it.
package object
