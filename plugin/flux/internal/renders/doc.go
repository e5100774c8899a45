// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package renders bounds the renders of a process, and remembers how they ended: [Slots] are
// how many Transforms are rendered at once, and [Attempts] when each was rendered last, and why
// that failed.
package renders
