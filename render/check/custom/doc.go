// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package custom judges custom resources by their CustomResourceDefinitions, and
// the definitions themselves. The packages of k8s.io/apiextensions-apiserver give the
// verdicts. This package compiles schemas and rules when an object first needs them
// ([Schemas]), and gives findings their places and words.
//
// Rules have the cost limits of the API server and end with the context. A rule that
// depends on the order of the keys of a map is judged at random there, and so here.
//
// The caller is render/check.
package custom
