// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package argocd

import "os/exec"

// isolate does nothing: groups and signals are for Linux, where CI runs.
func isolate(*exec.Cmd) {}

// killGroup ends the process.
func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended
}

// resident is 0: memory is told by Linux only.
func resident(int) int64 { return 0 }

// below is empty, for the same reason.
func below(int) []int { return nil }

// running is not asked.
func running(int) bool { return false }
