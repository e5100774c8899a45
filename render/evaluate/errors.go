// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import "errors"

// Reasons for which an evaluation ends early.
var (
	// ErrTimeout is the cause of an evaluation that exceeded Limits.Timeout.
	ErrTimeout = errors.New("evaluation took too long")
	// ErrMemory is the cause of an evaluation that exceeded Limits.Memory.
	ErrMemory = errors.New("evaluation needed too much memory")
)
