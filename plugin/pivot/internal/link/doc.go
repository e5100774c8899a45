// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package link is the gRPC link between a parent and its children: the parent is a Server, and
// the agent of each child a Client, which opens the connection.
//
//	Client (child)                                     Server (parent)
//	Connect  AgentReady, Heartbeat, ClusterHealth  ->  Events
//	         Handler  <-  Bootstrap, Pivot, Reconcile, StatusRequest
//	Bulk     parts of large requests and answers
//
// A session is one Connect and one Bulk on one connection. Its number comes from a counter
// that the parent keeps for good.
//
// Invariants:
//   - The cluster of a session is that of the certificate. Nothing that a message says changes
//     it, and an answer counts only in the session in which its request was sent.
//   - Of the sessions of a cluster that of the highest number counts. It ends the older ones,
//     of which nothing is received any more.
//   - A request is sent again in the next session, under the same op_id, until it is answered.
//     The child carries out one at a time, and none twice while it remembers the answer.
//   - What a peer can make the other end keep is bounded: messages by size, streams and
//     connections by number, and the rate at which messages are read.
//   - A Client without a parent goes on for ever, and logs a line per minute at most.
//
// The command ropewalk must not link this package: both ends of its pivots are in one process.
package link
