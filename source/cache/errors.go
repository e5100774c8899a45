// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import "errors"

// What callers may match with errors.Is.
var (
	// ErrOffline says that something is not in the store, and that nothing else
	// was asked.
	ErrOffline = errors.New("not in the cache")
	// ErrEntry says that something cannot be an entry: a kind or a key that is
	// written wrongly, or content larger than the store.
	ErrEntry = errors.New("no entry of the cache")
)
