// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package shape judges texts by the formats of Kubernetes 1.36, for the CEL
// functions of package rule, which is its caller.
package shape
