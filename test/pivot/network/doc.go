// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package network runs programs in network namespaces of this machine, and connects those by
// wires that can be cut, delayed and made to lose packets. A Balancer is a load balancer that
// drops idle connections.
//
// A wire is a pair of TUN devices, one in each namespace, between which this process carries
// the packets: TCP is that of the kernel at both ends, and both see real interfaces. A pair of
// veth devices with the queueing discipline netem would do the same, where the kernel has it.
//
// Nothing else connects a namespace, but for the ports of the loopback that are forwarded to
// those of the machine.
//
// It needs root. Callers: the tests of package pivot.
package network
