// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package starter has the modules that an author can start from. Each renders, passes
// "ropewalk module vet" without a warning, and its cases set all that it takes.
package starter
