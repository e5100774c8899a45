// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package ci writes findings in the formats that other programs read: SARIF for
// code scanning, commands of GitHub's workflows, and JUnit for CI systems.
//
// # Invariants
//
// The same findings give the same bytes. Every text stays in its line and has no control
// characters. [Of] shows mistakes without secrets; other results come without them.
package ci
