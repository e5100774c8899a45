// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package draw writes a plan for people and for other tools: as text, as DOT
// for Graphviz, as a Mermaid flowchart, as an SVG picture that needs no external
// program, and as a page whose boxes unfold.
//
// A picture has at most [MaxBoxes] boxes unless its objects are asked for: above
// that a box stands for a spec, and then for specs that begin alike.
//
// The same plan gives the same bytes in every format. Dependencies between
// specs and apply sets are drawn as one edge, as the graph keeps them. The
// command line is the only caller.
package draw
