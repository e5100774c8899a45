// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package render turns specs into manifests that a GitOps engine can apply as
// they are. [Renderer.Render] is the complete pipeline, one stage after another:
//
//	evaluate -> graph -> order -> check -> emit
//
// Values go in and values come out. Nothing in here or below logs, or reads
// the environment, the clock, the network or the disk: the same [Request] gives
// the same bytes, on every machine. Specs are parsed by render/spec and their
// modules fetched by plugin/host, before.
package render
