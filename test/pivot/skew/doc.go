// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package skew gives a process that runs another time than the machine has. A program in Go is
// linked statically, so that no library can be put before its clock, and a time namespace does
// not shift the time of day. Programs read that through the code that the kernel maps into
// each process, the vDSO: it is replaced there, for one process, by a call of the kernel and an
// addition. Timers and timeouts are those of the monotonic clock, and stay as they are.
//
// It needs root, and a processor of type amd64. Callers: the tests of package pivot.
package skew
