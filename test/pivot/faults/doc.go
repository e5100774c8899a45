// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package faults is a proxy in front of an API server that injects faults: answers that the
// server did not give, answers that are lost, delays, and the death of a client before or
// after any of its writes.
//
// It ends TLS and sends requests on with its own certificate, so that its clients need the
// bearer token of Kubeconfig; a request without it is refused. Requests that write are those
// that are no dry run, and they are numbered from 1 in the order in which they arrive, so
// that every durable write of a client has two points at which the client can die: before
// the server has the request, and after the server has handled it but before the client has
// the answer. No hook in the client is needed for that.
//
// Callers: the tests of package pivot.
package faults
