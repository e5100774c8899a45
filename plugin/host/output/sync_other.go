// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package output

import "os"

// syncsAll reports that files are synced one by one.
const syncsAll = false

// syncAll has nothing left to do.
func syncAll(*os.File) error { return nil }
