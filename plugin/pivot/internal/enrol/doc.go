// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package enrol gives agents their certificates: both ends of it, and the TLS of both
// listeners of a parent.
//
//	machine    enrol.sh  -- token ------> GET  /v1/manifest   the agent, with the token
//	agent      Client    -- token, CSR -> POST /v1/enrol      certificate, authorities, pins
//	agent      Client    -- mTLS, CSR --> POST /v1/renew      the same again, at 70 % of 7 days
//
// An Authority is the CA of a parent. A token is good for a single cluster, for 30 minutes, and for
// the key that uses it first: the same key gets the same certificate again, so that a lost answer
// costs nothing, and another key is denied. Only the sum of a token is kept.
//
// The identity of an agent comes from its verified certificate, never from a request. The names and
// the extensions of a CSR are ignored.
//
// All connections are TLS 1.3 with P-256 or P-384, also under GODEBUG=fips140=only. The client
// requires a certificate of a trusted authority and a pinned key in its chain. Several
// authorities can be trusted at once, so that one replaces another without a gap.
//
// enrol.sh is in the cluster module, byte for byte.
package enrol
