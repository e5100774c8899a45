// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package agent is the end of a pivot that is the cluster itself: it enrols at the parent, is
// on the link, applies the bootstrap of the cluster, and takes the Cluster API objects over.
//
//	Secret ropewalk-agent ── enrol, renew ── link ── Bootstrap ── Pivot ── in charge
//	                         (identity.go)          (handler.go)
//
// # Invariants
//
// The agent keeps its state in its Secret, its PivotCluster and the receipt of the pivot. It can
// be killed and installed again at any time; with its Secret it is the same agent.
//
// The agent accepts objects of Cluster API, Secrets and ConfigMaps in the namespace of its cluster,
// and identities of the infrastructure provider. It accepts nothing else from the parent, which
// must not own the child.
//
// Without a parent it keeps running, and the cluster is in charge of itself all the same.
package agent
