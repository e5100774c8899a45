// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package soak runs the sidecar for Argo CD for long beside a tenant that attacks it: fifteen
// tenants render small applications, and one sends requests that are made to take all memory
// or all time, in a new way every minute. Those of the others must succeed, and the memory of
// the server must not grow. It has tests only; nothing imports it.
//
// ROPEWALK_SOAK is how long it runs, such as 60m; where it is not set, a few seconds of some
// attacks. ROPEWALK_BIN is the program; it is built where that is not set. make soak runs it
// for an hour.
package soak
