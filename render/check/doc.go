// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package check judges rendered objects as an API server would, and keeps
// secrets out of them.
//
// Kinds of Kubernetes itself are checked against its OpenAPI components and
// the rules that those cannot express; custom resources against their
// CustomResourceDefinitions, which come from the render, from the caller or from
// the built-in set, in this order. Schemas are data (schemas/SOURCES.md) and are
// parsed or compiled when the first object of their kind is checked.
//
// Custom resources are judged by the code of the API server
// (k8s.io/apiextensions-apiserver), in its order: unknown fields, defaults, schema,
// list types, embedded resources, CEL.
//
// A [Finding] names a node and a path inside its object; the pipeline finds
// the user's line for it. All findings of all objects come in one run, sorted. No
// finding shows a value of a Secret, nor of an object that SOPS encrypted.
//
// Two things are out of reach: what a webhook or a controller refuses later, and
// what is in the cluster already. test/oracle compares the verdicts with the verdicts
// of Kubernetes itself.
package check
