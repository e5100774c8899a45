// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package configmap makes module trees of ConfigMaps: every key of data and
// binaryData is a file. Keys hold no slashes, so the tree is flat: a module in
// a ConfigMap is one package that brings no dependencies along. A convention
// for folders in keys was not chosen: it would be ours alone, and kubectl
// create configmap --from-file would not follow it.
//
// The ConfigMap comes through [Getter], so that it can be a manifest in a
// project or an object of an API server.
package configmap
