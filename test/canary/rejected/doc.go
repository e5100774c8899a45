// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package rejected makes specs with a secret in them and a mistake that gets the secret
// rejected, and finds any piece of a secret in what is said of that. [Cases] combines each
// place that a secret may come from with each way to write it and each mistake; the
// same seed gives the same cases. No two secrets are alike, so that none is hidden only
// because another case has it.
//
// Callers: the tests of test/canary (the command line), plugin/argocd, plugin/flux and
// plugin/krm, each with its own outputs.
package rejected
