// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package apps makes workloads and Gateways of an apps.yaml: the file of applications with
// snake_case fields, bare or with the header of a document of kind Apps.
//
// [Compile] lays the override of the environment over each application and returns it as a
// document of kind Workload; what stands below gateway becomes one Gateway for each namespace
// that its routes lead to. [Written] leads messages on such a Workload to the author's fields.
//
// # Invariants
//
// Every field is checked in every override, whichever of them is laid over. Parts of what
// is made have the position of the author's part. What a Workload or a Gateway may say is
// checked by render/workload/score and render/workload/gateway alone. A field that has no
// effect is reported. Secrets are known by name only.
package apps
