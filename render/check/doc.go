// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package check judges rendered objects as an API server would, and keeps
// secrets out of them.
//
// Kinds of Kubernetes itself are checked against its OpenAPI components and
// the rules that those cannot say; custom resources against their
// CustomResourceDefinitions, which come from the render, from the caller or from
// the built-in set, in this order. Schemas are data (schemas/SOURCES.md) and are
// parsed or compiled when the first object of their kind comes.
//
// A [Finding] names a node and a path inside its object; the pipeline finds
// the user's line for it. All mistakes of all objects come in one run, sorted. No
// finding ever shows a value of a Secret, nor of an object that SOPS encrypted.
//
// # Decisions
//
// Built-in kinds go through a walker of our own rather than the validator of
// kube-openapi: that one wants the whole document of a group parsed first and
// its references resolved, tens of milliseconds before the first object, and
// reports what a program understands. Here a component is one line of text, found
// by binary search and parsed alone, and a rule hangs on a component, so that
// what holds of a container holds wherever containers stand. The validation code
// of k8s.io/kubernetes itself would be exact, but cannot be linked: it needs a
// replace line for each staging module. It is the oracle of the tests instead
// (test/oracle): a corpus, and some tens of thousands of mutants of it, are
// judged alike by both, but for the differences that are argued there.
//
// Custom resources are judged in the order of the API server: unknown fields,
// defaults, schema, lists, embedded resources, CEL. Nothing of
// k8s.io/apiextensions-apiserver is linked. Its validation, defaults and CEL would
// cost every process six milliseconds of CPU when it starts, for metrics and feature
// gates that nobody reads here; its structural schemas, pruning and list types, with
// the API types and codecs that come along, half a millisecond more, which is the
// twentieth part of a small render. The packages internal/structural, internal/shape
// and internal/rule stand in for them, and internal/grammar for the names of
// k8s.io/apimachinery. The tests link the originals and compare verdict, path, kind
// of error, words and the cost of rules: on objects made up for every kind of the
// built-in set and mutants of them, with values of every kind before every keyword,
// with schemas made up, and with every function of CEL that Kubernetes has. What
// differs is argued in the docs of the packages.
//
// Each part of a schema that holds CEL rules is compiled when an object first has
// that part: large kinds hold hundreds of rules, one object meets a few. What the
// server checks of a CustomResourceDefinition itself is in [Checker.Check] but for the
// cost estimates of CEL.
//
// What this package cannot know is what a webhook or a controller refuses
// later, and what the cluster holds already.
package check
