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
// deploy/flux and deploy/chart are two ways to the same controller: what kustomize and
// Helm make of them (test/helm writes testdata there) is judged, compared with each
// other, and held to a list of rights and to the restricted profile of pods.
//
// The pipelines of deploy/previews are run: their steps, in their order, in a repository of
// Git, against a registry and a server that plays the forge.
//
// The guides are read too: YAML in it parses, commands in it have the flags that they
// are given, and its tables name what a running plugin has, no more and no less.
//
// # Decisions
//
// kustomize and Helm are not run here: they would be in the go.mod of who installs
// Ropewalk. For the sidecar there are only values for somebody else's chart, of which
// Helm would say nothing that the schema of a container does not.
//
// The rights of the controller are written by hand and not generated from markers in
// the code: there are few, a reviewer reads them in one place with their reasons, and
// test/e2e runs the controller with them, where a right that is missing shows.
//
// CustomResourceDefinitions that are not in the built-in set (ApplicationSet,
// PodMonitor, ServiceMonitor, PrometheusRule, ResourceSet) are not copied for these tests:
// the first has a megabyte. What an ApplicationSet or a ResourceSet makes is an Application, or
// objects of Flux, whose definitions are there.
package deploy
