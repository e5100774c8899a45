// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire is the protocol of the link: what link.proto says, as Go. make generate makes
// link.pb.go.
//
// # Invariants
//
// Changes are compatible: a test compares the messages with those in testdata/released.json,
// which it rewrites with ROPEWALK_UPDATE=1 where nothing was removed, renumbered or given
// another type.
//
// Nothing happens before main: [Register] must have been called before the first message is
// sent. Client and Server do so.
package wire
