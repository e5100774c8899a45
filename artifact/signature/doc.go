// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package signature signs artifacts and checks their signatures, with keys that
// are at hand: no network, no clock, no transparency log.
//
// A signature is a Sigstore bundle v0.3: a DSSE envelope around an in-toto
// statement, with a hint at the key. Signatures that cosign v2 writes (a JSON
// payload and its signature in an annotation) are checked too, not written.
//
// Invariants:
//   - The same key and the same statement give the same bytes, so that signing
//     an artifact again changes nothing. ECDSA takes its nonces from RFC 6979.
//   - Nothing of a payload is read before its signature is known to be good.
//   - A bundle has exactly one signature, and it counts only for a key that the
//     caller gave. The hint proves nothing: anyone can write a hint.
//   - A name that stands twice in a JSON object, or in another case than it
//     should, is an error: two readers could see two things.
//   - Sizes are bounded before anything is parsed.
//
// Package artifact calls it, to sign and verify what it pushes; the fetcher of
// OCI sources has it called by plugin/host.
//
// # Decisions
//
// [Verifier.Signature] demands the predicate type of a signature. Flux does not look at it: there,
// each bundle of a known key is a signature, so that an attached SBOM by that key would pass for a
// signature. [Verifier.Bundle] is for those attestations and gives their type back. A user who lets
// Flux verify signs attestations with another key.
//
// sigstore-go was not chosen: it does all this and much that is for keyless
// signing, and linking it costs each start of the command 3 ms. The module
// test/peers has both check what the other signed. Nor was the dsse package of
// go-securesystemslib, which links all of ssh for one function of a line.
//
// Keyless signatures are refused with a message. To check one needs a trust
// root that changes, certificate transparency and a clock, and that is another
// promise than "signed by this key".
//
// RSA keys are refused: neither cosign nor we generate them.
package signature
