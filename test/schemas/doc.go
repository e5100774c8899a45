// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Schemas turns upstream schemas into the data of render/check, and the names of time
// zones into that of internal/timezone.
//
//	schemas -kubernetes DIR -crds DIR -out render/check/schemas
//	schemas -zones FILE -out internal/timezone
//
// The first directory is a source tree of k8s.io/kubernetes (a Go module of
// that name in the module cache will do): its OpenAPI v3 documents give the
// components, kinds and scopes, and the Go source that the documents are
// published from gives the enumerations, which the documents leave out. The
// second holds CustomResourceDefinitions as YAML, in any layout. The file is
// $(go env GOROOT)/lib/time/zoneinfo.zip. What is
// written, and in which form, is told in render/check/schemas/SOURCES.md.
//
// The output depends on the input alone: names are sorted and nothing of the
// run is recorded.
package main
