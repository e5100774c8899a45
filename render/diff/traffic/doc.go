// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package traffic compares two versions of a policy of the network, and finds what the later
// one lets through that the earlier one did not: a NetworkPolicy, a CiliumNetworkPolicy or
// CiliumClusterwideNetworkPolicy, or an AuthorizationPolicy of Istio.
//
// # Invariants
//
// A rule is a product of axes, such as peers and ports, and each axis a list of limits. What a
// later rule lets through was let through before where one earlier rule holds it on every
// axis: by labels, ranges of addresses and of ports, names with wildcards, and accounts, so
// that a policy that is only narrowed, split or reordered is never reported. What is not
// understood counts as the same only where it is equal. What a rule of several earlier ones
// together let through is reported, because a false danger is seen and judged.
//
// The work is bounded: beyond the bound the policy is reported as not compared.
package traffic
