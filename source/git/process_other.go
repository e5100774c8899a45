// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package git

import (
	"os/exec"
	"time"
)

// isolate gives cmd some time to end. On systems without sessions only the process itself
// ends.
func isolate(cmd *exec.Cmd) { cmd.WaitDelay = 2 * time.Second }
