// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package cuetypes writes the kinds of Kubernetes and of CustomResourceDefinitions as
// definitions of CUE, for modules that unify their objects with them, for editors, and for
// "cue vet".
//
// CUE's own encoder (cuelang.org/go/encoding/jsonschema) makes them of the schemas that
// render/check judges objects by. Packages have the paths that "cue get go" gives them
// (k8s.io/api/apps/v1 with #Deployment), and packages of custom resources the paths that Timoni
// gives them (GROUP/KIND/VERSION), so that a module takes either.
package cuetypes
