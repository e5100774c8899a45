// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"testing"
)

// TestMain ends the cluster that tests have started.
func TestMain(m *testing.M) { os.Exit(Run(m)) }
