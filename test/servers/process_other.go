// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package servers

import "os/exec"

// isolate does nothing: groups and signals are for Linux, where CI runs.
func isolate(*exec.Cmd) {}

// kill ends the process.
func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended
}
