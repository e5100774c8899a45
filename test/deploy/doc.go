// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package deploy keeps the files of the folder deploy true. It has tests only;
// nothing imports it.
//
// What is there is read as a cluster would read it: each manifest is judged by the
// schemas of render/check, and each component by what the real kustomize made of it
// (test/kustomize writes testdata/argocd.yaml there). The values for Helm hold the
// same container as the component. The template of the ApplicationSet is filled in,
// and what it renders is held against the project that bounds it. The health checks
// are written by the same function as those of ropewalk render --argocd-cm.
//
// The guide is read too: YAML in it parses, commands in it have the flags that they
// are given, and its tables name what a running plugin has, no more and no less.
//
// # Decisions
//
// kustomize and Helm are not run here: the one would be in the go.mod of who
// installs Ropewalk, and the other gives nothing that the schema of a container does
// not. CustomResourceDefinitions that are not in the built-in set (ApplicationSet,
// PodMonitor) are not copied for these tests: the first has a megabyte. What an
// ApplicationSet makes is an Application, whose definition is there.
package deploy
