// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package reader reads documents of others part by part, and makes maps of what was read.
//
// A [Part] is a value with the way to it: it reports what is wrong with it at its own
// position, as one of the errors of its [Reading]. [Fields], [Pairs] and the functions
// beside them make the values of a document of ours, each with the position of the part
// that it is made of.
//
// Callers: the front ends of workloads, render/workload/frontend/apps, render/workload/frontend/compose and
// render/workload/frontend/function.
package reader
