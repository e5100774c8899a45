// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package grammar is the forms that Kubernetes wants texts to have: names, label
// keys and values, and their like. Each function returns what is wrong with a text,
// nothing where it is good.
//
// It stands in for k8s.io/apimachinery/pkg/util/validation, in whose words
// problems are told, since the function validate of CEL hands them to the rules of
// users. That package compiles twenty regular expressions in every process, a quarter
// of a millisecond, and links a logger; here bytes are looked at. The tests link it
// and compare both, on texts made up and fuzzed. Callers are render/check and the
// packages beside this one.
package grammar
