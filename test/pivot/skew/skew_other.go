// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !amd64

package skew

import (
	"errors"
	"time"
)

// Set returns an error: the code that replaces the clock is that of Linux on amd64.
func Set(int, time.Duration) error {
	return errors.New("the clock of a process can only be moved on Linux on amd64")
}
