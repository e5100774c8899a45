// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

// Holds is holds, for tests.
func (r Rule) Holds(s string) bool { return r.holds(s) }
