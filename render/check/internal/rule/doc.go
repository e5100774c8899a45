// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package rule judges values by the CEL rules of structural schemas
// (x-kubernetes-validations), as an API server of Kubernetes 1.36 does when an
// object is created. render/check uses it after the schema itself has found
// nothing wrong.
//
// A [Compiler] holds the environment of Kubernetes: CEL with its extensions for
// optional values, strings, sets, lists and comprehensions of two variables, and
// the libraries of Kubernetes for URLs, regular expressions, lists, quantities, IP
// addresses, formats and semantic versions. [Compiler.Rules] binds it to one schema,
// [Rules.Judge] runs the rules of that schema alone: who calls it walks the parts.
//
// # Decisions
//
// k8s.io/apiserver/pkg/cel would do all this. It registers metrics and feature
// gates when a process starts, so it is not linked; the tests of render/check
// compare the two. It also copies the whole schema for each place that has rules and
// sets an environment up for each. Here there is one environment, types are
// declared when an expression asks for them, and a rule is compiled when the first
// value meets it. Rules that compare with an old value (oldSelf) are not even
// compiled: rendering creates, and the server skips them then.
//
// # Differences to the server
//
// The functions of the authorizer (authorizer.path and its like) are not declared,
// because there is no authorizer in a rule of a schema: an expression that calls one
// on a value of no known type does not compile here, and fails at run time there.
//
// The keys of maps are iterated in order here and in any order there.
//
// Adding to a list of the type set leaves the list as it is here; there the
// operand remembers what was added when it is compared later.
//
// A broken rule of the reason FieldValueDuplicate keeps its message, and a rule
// whose messageExpression does not compile keeps its fieldPath. Errors of semver are
// worded differently.
//
// The estimates of the cost of a rule, for which the server refuses a
// CustomResourceDefinition, are not made. The limits at run time are.
package rule
