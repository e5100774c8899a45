// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package bootstrap is what a child has to have before its pivot, beside what its machines
// bring: the PivotCluster that it will be in charge of, the credentials of its cloud, and
// the first objects of its GitOps, which lead to an artifact by digest or to a source.
//
//	parent: Collect ── JSON over the link ── child: Applier.Apply, Applier.State
//
// # Invariants
//
// The parent says what, and the child decides what it accepts: credentials are Secrets of
// few types, in no namespace of the system or of the agent, and none replaces a Secret that
// the child had before. A parent that was taken over by an attacker can so give a child
// credentials and a GitOps source, before the pivot, and nothing after it.
//
// Everything may be applied again: after the first time nothing is written, unless the parent
// has changed something. After the pivot nothing is written at all: the PivotCluster of the
// child is the child's.
//
// A value of a Secret is in no error, no log and no event.
package bootstrap
