// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package component holds what the engines have in common that make objects of files without
// CUE: an [Engine] makes the objects of a [Request], and [Nodes] makes the nodes of a graph
// of them.
//
// # Invariants
//
// An engine reads the files of its request only: it has no network, no environment, no clock
// and no host path, and starts no program. What it needs from elsewhere was fetched before,
// and lies in the tree. Equal requests give equal objects, in the same order.
//
// # Packages
//
//	manifests    YAML and JSON as they are
//	kustomize    kustomizations, by kustomize's own library; linked by ropewalk-components only
//	helm         charts, by Helm's own engine; linked by ropewalk-components only
//	overlay      readyWhen, dependsOn, needs, apply and patches, by selector, for all nodes of a spec
package component
