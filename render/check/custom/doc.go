// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package custom judges custom resources by their CustomResourceDefinitions, and
// the definitions themselves. The verdicts are those of the packages of
// k8s.io/apiextensions-apiserver; what is ours is that schemas and rules are compiled
// when an object first needs them ([Schemas]), where a finding lies, and its words.
//
// Rules have the cost limits of the API server and end with the context. A rule that
// depends on the order of the keys of a map is judged at random there, and so here.
//
// The caller is render/check.
package custom
