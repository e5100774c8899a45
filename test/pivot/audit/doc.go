// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package audit observes from outside that a Cluster is safe while it moves between two
// management clusters. An Auditor has clients of its own and polls both planes and the cloud
// every 100 ms:
//
//	I1  at most one plane has the Cluster without a pause
//	I2  at least one plane is complete: it has every object that the first plane had at the start
//	I3  the machines of the cloud are neither made again nor deleted, and no others are made
//	I4  no token and no private key is in a log, an Event, a status or a ConfigMap
//
// Two planes cannot be read at one instant. So where both together look wrong, the first, the
// second and the first plane once more are read in turn: what the first is before and after
// the second was read, it was at that time too, and only then is it a violation. A plane that does not answer makes a poll unknown,
// which is counted and is no violation.
//
// I4 is looked at every second and at the end, for what is written there stays there. Secrets
// and the specs of objects may have keys: that is where Cluster API keeps them.
//
// Callers: the tests of package pivot.
package audit
