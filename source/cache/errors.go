// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"

	"github.com/ropewalk/ropewalk/source"
)

// What callers may match with errors.Is.
var (
	// ErrOffline is returned for what is not cached, when no server may be asked.
	ErrOffline = source.ErrOffline
	// ErrEntry is returned for an invalid kind or key, and for content larger than the
	// store.
	ErrEntry = errors.New("no entry of the cache")
)
