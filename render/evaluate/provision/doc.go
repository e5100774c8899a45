// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package provision evaluates modules of provisioners: a list of definitions, each of
// which makes the resources of one type.
//
// Each entry of the list is filled by itself, once for each resource; whatever else the
// module holds is evaluated when it is compiled. A fill of the root would evaluate
// entries that no workload uses.
//
// Tested by render/evaluate/inprocess.
package provision
