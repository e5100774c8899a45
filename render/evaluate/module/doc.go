// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package module loads, compiles and evaluates CUE modules.
//
// A tree is compiled once into a value in a context of its own; that context never
// compiles anything again. A render is one unification at the root, a validation, and an
// export of each object; inputs are built in contexts that are thrown away. Trees are
// regular files in memory below a virtual root that exists on no host.
//
// A plain tree, with one package and no attribute that means something to CUE's loader,
// is parsed without it; everything else, and every mistake, goes through the loader.
// Schemas are laid over into cue.mod/pkg where a module lacks them.
//
// The fields input, context and graph of a native module are validated in this order,
// and the first that fails is reported. A plain module gets its input at its root. A
// Timoni module gets it as its values, laid over the values of its own values.cue leaf
// by leaf; what Timoni decides that has no equivalent is a warning.
package module
