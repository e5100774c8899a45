// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package draw writes a plan for people and for other tools: as text, as DOT
// for Graphviz, as a Mermaid flowchart, as JSON, and as an SVG picture that
// needs no external program.
//
// The same plan gives the same bytes in every format. Dependencies between
// specs and apply sets are drawn as one edge, as the graph keeps them. The
// command line is the only caller; writers are the caller's, and an error is
// always one of the writer.
package draw
