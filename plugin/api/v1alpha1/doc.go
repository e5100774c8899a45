// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kinds that Ropewalk adds to a cluster: Transform and
// PivotCluster. Its types are what the CustomResourceDefinitions in deploy/crds, deepcopy
// and the references in deploy/flux and deploy/pivot are generated from.
//
// A field that a spec document has too (render/spec) has its name and its meaning
// here, so that a document moves from a repository into a cluster as it is.
// What only a cluster can mean (a source, an output, a delivery) stands beside it.
//
// # Invariants
//
// No field holds a secret: Secrets are named, and only those that the controller
// itself logs in and signs with are read. Unknown fields of an input are kept;
// everything else is structural, and what the schema can refuse it refuses, so
// that users learn of a mistake when they apply it.
//
// The package has no behaviour but that of data: getters, conditions and the
// registration of the types. It imports neither the stages of a render nor the
// controller.
//
// +kubebuilder:object:generate=true
// +groupName=ropewalk.dev
package v1alpha1
