// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package preview moves a render into a preview environment: into namespaces and under hosts
// of its own, which the rules of a project name, so that two previews share nothing.
//
// What modules compute from their context is in the namespace of the preview already; this
// rewrites the rest: objects that name a namespace themselves, references to namespaces of the
// render, names of its services and the hosts that it serves, wherever a value holds them. It
// replaces texts in their places alone: a path leads to the same value as before, and to the
// line of its author. Data of Secrets stay as they are.
//
// What cannot be made twice is an error, and never left as it is: objects of the cluster,
// ports of nodes, fixed addresses, hosts without a rule.
package preview
