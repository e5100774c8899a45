// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package publish puts renders where a GitOps engine fetches them: [OCI] into a
// repository of a registry. Package storage keeps ExternalArtifacts behind the same
// [Store].
//
// In the repository of a Transform are the complete artifact and its layers, each with a
// retention tag; the tag transform.NAMESPACE.NAME and those of the spec, which lead to
// the newest complete artifact; and attached to that, what spec.output.oci.attest asks
// for and the plan of its delivery ([TypePlan]), by which a rollback needs no render. Artifacts of
// hand-overs have tags that begin with the first and end in the digest.
//
// # Invariants
//
// Tags move when all is there. What is there already is not written again.
//
// Several Transforms, and users, may share a repository: nothing is deleted that any other tag
// leads to, nor what was not published for the Transform itself.
//
// Credentials come from Secrets that the Transform's account may read, or from a cloud
// that trusts that account ([Identity]), and are in no error. Signing keys are read when
// something is signed, and kept nowhere. A Transform that acts as an account never logs
// in as the controller.
package publish
