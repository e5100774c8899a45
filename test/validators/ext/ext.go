// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package ext stands in for the extension point of Traefik's dynamic configuration,
// which its module takes from a folder by a replace line.
package ext

// HTTP extends the configuration of a provider by nothing.
type HTTP struct{}

// Router extends a router by nothing.
type Router struct{}
