// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package host

import "os"

// canLock says that tryLock cannot tell.
const canLock = false

// tryLock reports that somebody may hold the directory, because nothing here
// can tell: what killed writes leave stays.
func tryLock(*os.File) bool { return false }
