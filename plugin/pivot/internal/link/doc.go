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
// A session has a Connect and a Bulk on a single connection. Its number comes from a counter
// that the parent keeps for good.
//
// Invariants:
//   - The certificate names the cluster of a session. No message changes it, and an answer counts
//     only in the session in which its request was sent.
//   - The session with the highest number of a cluster counts. It ends the older sessions, and
//     their messages are not read any more.
//   - A request is sent again in the next session, under the same op_id, until it is answered.
//     The child carries out one request at a time, and no request twice while it remembers the
//     answer.
//   - A peer cannot make the other end keep more than a bound: messages by size, streams and
//     connections by number, and the rate at which messages are read.
//   - A Client without a parent keeps trying, and logs a line per minute at most.
//
// The command ropewalk must not link this package: both ends of its pivots are in one process.
package link
