// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package bootstrap gives a child the objects that it needs before its pivot, and that its machines
// do not bring: the PivotCluster that it will be in charge of, the credentials of its cloud, and
// the first objects of its GitOps, which name an artifact by digest or a source.
//
//	parent: Collect ── JSON over the link ── child: Applier.Apply, Applier.State
//
// # Invariants
//
// The child decides what it accepts from the parent: credentials are Secrets of few types, in no
// namespace of the system or of the agent, and no Secret replaces a Secret that the child had
// before. So an attacker on the parent can give a child credentials and a GitOps source before the
// pivot, and nothing after it.
//
// Everything may be applied again: after the first time nothing is written, unless the parent
// has changed something. After the pivot nothing is written at all: then the child owns its
// PivotCluster.
//
// A value of a Secret is in no error, no log and no event.
package bootstrap
