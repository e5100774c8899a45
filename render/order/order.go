// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// Plan is a graph cut into waves.
type Plan struct {
	Graph *graph.Graph
	Rules Rules
	// Waves are numbered from 0 by their place; none is empty.
	Waves []Wave
	// Placements say for each node where it is and why.
	Placements map[object.ID]Placement
	// Gates say for each edge of the graph, by its place there, whether it
	// costs a wave.
	Gates []Gate
	// JoinGates say the same for each join of the graph: one gates where any of
	// its pairs does.
	JoinGates []Gate
	// Warnings are about waves that may hang or gate nothing.
	Warnings object.Errors
}

// Wave is nodes that may be applied together.
type Wave struct {
	// Nodes are in the order in which they are written.
	Nodes []*object.Node
}

// Placement is the wave of a node.
type Placement struct {
	Wave int
	// Edge is the place in Graph.Edges of the gating edge that put the node
	// there, -1 where none did.
	Edge int
	// After is the node that put the node there, by an edge or by a join; ""
	// where none did.
	After object.ID
	// Reason is a sentence for people.
	Reason string
}

// Gate tells whether an edge costs a wave.
type Gate struct {
	Gating bool
	// Loose marks an edge that the order does not keep, because the cluster
	// settles it by itself: its ends may be applied in either order.
	Loose bool
	// Reason is a sentence for people.
	Reason string
}
