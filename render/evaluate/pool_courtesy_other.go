// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package evaluate

import "time"

// processorTime is not known.
func (p *process) processorTime() (time.Duration, bool) { return 0, false }

// runLast does nothing.
func (p *process) runLast() bool { return false }
