// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package mutation renders valid projects with one mistake in each: a key misspelt,
// dropped, doubled or moved, a file cut, renamed or in another encoding. A mistake may
// be accepted where it changes nothing, and refused with a message; what must not
// happen is that objects are missing and nothing says so, because an engine that prunes
// would delete them.
//
// The mutations are generated from the text of the seeds in an order that never changes,
// without chance, so that a failure is found again by its name.
package mutation
