// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import "errors"

// Reasons for which an evaluation ends without a result. Errors of an [Evaluator]
// wrap them.
var (
	// ErrTimeout: it exceeded Limits.Timeout.
	ErrTimeout = errors.New("evaluation took too long")
	// ErrMemory: it exceeded Limits.Memory.
	ErrMemory = errors.New("evaluation needed too much memory")
	// ErrLimit: the render as a whole is larger than it may be.
	ErrLimit = errors.New("over the limit")
	// ErrCrashed: it ended its worker in another way.
	ErrCrashed = errors.New("evaluation crashed")
	// ErrWorker: workers do not start or are ended by other processes; the
	// environment is at fault, not the module.
	ErrWorker = errors.New("no evaluation worker")
	// ErrQuarantined: the request was stopped before and is refused.
	ErrQuarantined = errors.New("evaluation is refused")
	// ErrClosed: the pool is closed.
	ErrClosed = errors.New("the pool of evaluation workers is closed")
)
