// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package flight runs work once for all callers that request it at the same time.
//
// # Invariants
//
// A caller that arrives while the same work runs gets its result; nothing is kept
// after that.
//
// The work has a context of its own, with the values of the context of its first caller. It is
// cancelled when the last caller has left, and is not joined any more then. A caller whose own
// context ends returns its error at once; only the last one waits for the work to clean up, for the
// patience of the group.
//
// A panic of the work is an error for all callers.
package flight
