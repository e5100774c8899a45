// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package canary holds the promise on secrets: no value of a secret gets into
// anything that Ropewalk writes, and pods get exactly the bytes that their author
// asked for all the same. It has tests only; nothing imports it.
//
// Generated projects use every sensitive output of every provisioner that comes
// with Ropewalk, and those of a platform team's module, in variables and files, in
// every way that Score allows. A fake store has a canary for each of them: a
// value of its own, full of what means something to shells, URLs, templates and
// Kubernetes. Four things are proved with it.
//
//   - What is rendered is applied to a small cluster, with External Secrets and a
//     kubelet. Each container sees the text that its author wrote, with the
//     canaries in it.
//   - References to secrets are replaced by words of no meaning, and these are
//     nowhere but where Kubernetes and External Secrets read references.
//   - What cannot be said is refused, at the line, in words without a canary.
//   - Canaries lie wherever a value could come in by mistake: in the environment,
//     in credentials, in Secrets and files beside the specs, in modules that give
//     a value where a reference belongs. No output, error, cache or artifact has
//     one, in whatever form.
//
// What the texts of workloads mean is written here a second time, by what Score,
// External Secrets and Kubernetes say and not by how Ropewalk does it. The results
// of provisioners are taken as they come out of the evaluator, so that a new
// provisioner is covered without a line here.
//
// What is wrong, and shows no secret on any of many ways, is package rejected; the tests of
// the adapters use it too.
//
// ROPEWALK_CANARIES is how many workloads are made, 1,000 where it is not set;
// make e2e makes 10,000. Every failure names the seed of its project.
package canary
