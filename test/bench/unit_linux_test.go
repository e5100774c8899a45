// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package bench

// residentUnit is the unit of Rusage.Maxrss in bytes.
const residentUnit = 1 << 10
