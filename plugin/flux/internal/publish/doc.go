// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package publish puts renders where a GitOps engine fetches them: [OCI] into a
// repository of a registry. The storage of ExternalArtifacts is another package, which
// meets the same [Store].
//
// # What is in the repository of a Transform
//
// The whole and its layers, each with the retention tag that package artifact gives it;
// the tag transform.NAMESPACE.NAME and those of the spec, which lead to the newest
// whole; attached to the whole, what spec.output.oci.attest asks for, and the plan of
// its delivery ([TypePlan]), by which a rollback needs no render. What hand-overs need
// between two renders has tags that begin with the first and end in the digest.
//
// # Invariants
//
// Tags move when all is there: a process that is killed anywhere leaves what nobody
// follows. What is there already is not written again.
//
// Several Transforms may share a repository, and so may people: nothing is deleted
// that any other tag leads to, nor what was not published for the Transform itself.
//
// Credentials come from Secrets that the Transform's account may read, or from a cloud
// that trusts that account ([Identity]), and are in no error. Signing keys are read when
// something is signed, and kept nowhere.
//
// A Transform that acts as an account never logs in as the controller at a cloud.
//
// Callers: plugin/flux; plugin/flux/internal/delivery by delivery.Artifacts.
//
// # Decisions
//
// The tag of the Transform is the first, because a push compares with what the first
// tag leads to: tags of the spec may be shared or moved by people.
//
// Tokens of accounts are asked for with the controller's own rights, as Flux's
// controllers do it, by the library that they use. To ask as the account itself was not
// taken: each tenant would have to let its account make tokens of itself.
//
// What the library has for gcp links a client of gRPC, with which Google's libraries
// ask an agent on the node for mutual TLS, and which nothing of ours calls (test/arch). To exchange
// the tokens ourselves, in a hundred lines, was not taken: Flux pulls by that library,
// and who can pull is to be able to push.
//
// artifact.Prune was not taken: it counts pushes, and in a repository with two
// Transforms those of one would take the place of the other's.
package publish
