// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package krm is the render as a KRM function: [Function.Run] reads a
// ResourceList (config.kubernetes.io/v1) and returns the list to write back, with
// the rendered objects among its items. Kustomize and kpt run it as a program
// or as a container; the command is `ropewalk plugin krm`.
//
// # Protocol
//
// functionConfig names what to render:
//
//   - a Transform or a Workload is one spec; specs among the items are left alone
//   - a Project is its environments, policies and defaults; the specs are the
//     Transforms and Workloads among the items, and the files that spec.specs
//     names, relative to the working directory; a file that is also an item
//     counts once, as the item is
//
// A Score file has no kind, so that it cannot be functionConfig: its content below
// spec of a Workload is the same. Among the items of a Project it is a spec.
// Annotations of functionConfig set what has no field: ropewalk.dev/dialect,
// ropewalk.dev/environment, ropewalk.dev/kube-version, ropewalk.dev/allow-empty, which is
// "true" where a render without objects is meant, and ropewalk.dev/runtime, which has
// lines of NAME=VALUE for bundles and modules of Timoni. The annotations of
// orchestrators on specs are not passed on to rendered objects.
//
// ConfigMaps among the items can be modules (cueRef.type configmap). They, the
// specs and all items of others pass through as they are, in their order, with
// their comments and annotations; annotate items that must not reach a cluster with
// config.kubernetes.io/local-config.
//
// Rendered objects follow the items of others, in the order in which they are to
// be applied, each with the path <spec>/<kind>-<name>.yaml, or with the path,
// index and id of the item that it replaces.
//
// Mistakes, violations of policies and warnings are results, with the file, the object and the
// field of the document that they are about. A run with a mistake leaves the items as they were.
//
// # Invariants
//
// The same list gives the same bytes. Nothing of another is changed or removed.
// The package prints nothing and reads no disk; the host does, below the root.
//
// Objects rendered here carry the annotation ropewalk.dev/rendered-by, with the name of the
// spec, and <project>/<spec> in a project: the next run replaces or removes them. An
// object of another with the identity of a rendered one is a mistake, unless both are
// equal. The host decides by its fetchers that a function has no network.
package krm
