// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package shape judges values by structural schemas: types, formats, ranges,
// sizes and alternatives, and fills defaults in. It is what render/check uses
// for custom resources before their CEL rules run.
//
// It says what an API server of Kubernetes 1.36 says, at the same paths and with
// the same kinds of error: the verdicts are those of ValidateCustomResource of
// k8s.io/apiextensions-apiserver, which the tests of render/check compare it
// with. Details differ in that they do not repeat the path.
//
// # Decisions
//
// The library itself is not linked. Together with k8s.io/kube-openapi/pkg/validation
// and k8s.io/apiserver it registers metrics, feature gates and formats when a
// process starts, six milliseconds of CPU that every command would pay, and it
// copies each schema three times to judge a value once. Here nothing happens before
// a value comes, and a schema is walked as it stands. Expressions are compiled when
// the first text meets them.
//
// Some verdicts of the server look odd and are kept, because an object that
// passes here has to pass there: a bound of an integer that is no integer refuses
// every value; an integer fits the enum of strings that holds the letter with its
// number; a time of day is read up to the second letter t.
//
// # Differences to the server
//
// A member that additionalProperties: false forbids is reported at its own path,
// not at that of the map. Alternatives and numbers out of the range of their format
// have paths, which the server writes into the detail alone.
//
// A default for the metadata of an embedded resource is judged by its schema, not
// by the rules for names and labels too; and the metadata inside of a default is only
// known to be a map. Objects themselves are judged in full, by render/check.
package shape
