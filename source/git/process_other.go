// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package git

import (
	"os/exec"
	"time"
)

// isolate gives cmd a time to end in. Systems without sessions end the process
// alone.
func isolate(cmd *exec.Cmd) { cmd.WaitDelay = 2 * time.Second }
