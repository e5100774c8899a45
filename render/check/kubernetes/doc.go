// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubernetes judges objects of the kinds that Kubernetes itself serves:
// by the components of its OpenAPI schemas ([Components]), which also name checks of
// single members, and by rules for what holds between members, a file for each API
// group. A rule belongs to a component, so that what holds of a container holds
// wherever there are containers.
//
// The source of the rules is the validation code of k8s.io/kubernetes, which cannot
// be linked; test/oracle compares the verdicts with it. Components are parsed when an
// object first needs them, which costs a Deployment half a millisecond; the
// validator of kube-openapi, which needs complete documents, takes tens.
package kubernetes
