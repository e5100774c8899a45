// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench holds the promises of Ropewalk on speed and memory against
// their yardstick: cue export of the same package, on the same machine, in the
// same run. It has benchmarks only; nothing imports it.
//
// Both programs are measured from outside, as processes: the CPU time that the
// kernel charged and their largest resident size. Runs of the two alternate, and
// medians are compared, so that a busy machine disturbs both alike.
//
// The environment names the programs: ROPEWALK_BIN the one under test,
// ROPEWALK_CUE the cue command. make bench builds and names both. A cue command
// that was built with cgo is refused: it is slower by a tenth.
package bench
