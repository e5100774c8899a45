// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package apps makes workloads and Gateways of an apps.yaml: the file of applications with
// snake_case fields, bare or with the header of a document of kind Apps.
//
// [Compile] lays the override of the environment over each application and returns it as a
// document of kind Workload; the fields below gateway become one Gateway for each namespace
// that its routes lead to. [Written] maps messages on such a Workload to the author's fields.
//
// # Invariants
//
// Every field is checked in every override, whichever override applies. Parts of the result
// have the position of the author's part. The fields of a Workload or a Gateway are
// checked only by render/workload/score and render/workload/gateway. A field without effect
// is reported. Secrets are known by name only.
package apps
