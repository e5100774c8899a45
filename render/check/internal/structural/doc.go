// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package structural is the structural schemas of CustomResourceDefinitions
// (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions,
// "Specifying a structural schema"): it reads them, says what is wrong with them,
// and judges what an API server judges by them apart from shape and rules, which
// are unknown fields ([Prune]) and list types ([Lists]).
//
// A schema does not change after it was read, so that any number of goroutines
// may use it. Callers are render/check and the packages beside this one.
//
// # Decisions
//
// The types have the names and the form of those of
// k8s.io/apiextensions-apiserver/pkg/apiserver/schema, whose behaviour they stand in
// for. That package is not linked: with it come the API types, their conversions,
// OpenAPI models and several codecs, thirty packages that set themselves up in every
// process, for half a millisecond before the first spec is read. The tests link it
// and compare: every schema of the built-in set, mutants of them, and values before
// them give the same schema, the same faults in the same words, and the same unknown
// fields and duplicates.
package structural
