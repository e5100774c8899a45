// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package helm renders deploy/chart with the engine of Helm. It has no code of its own,
// only tests: the defaults must give what deploy/flux gives, values that mean nothing
// are refused, and each value does what it says. What comes out is written to testdata,
// where test/deploy judges it by the schemas of render/check.
//
// # Decisions
//
// It is a module of its own, because Helm would be in the go.mod of who installs
// Ropewalk. Its lint is run as well as its engine: it is what a maintainer of charts
// runs first.
package helm
