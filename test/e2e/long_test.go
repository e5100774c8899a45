// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"testing"
)

// long skips a test that takes minutes and finds what others find sooner, so that a new
// machine is done with all that guards the main branch in an hour. ROPEWALK_FAULTS=1
// runs them: make e2e-faults.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("ROPEWALK_FAULTS") != "1" {
		t.Skip("it takes minutes: ROPEWALK_FAULTS=1 runs it")
	}
}
