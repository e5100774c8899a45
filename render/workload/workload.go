// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Source is a workload with all that its compilation needs.
type Source struct {
	Spec score.Workload
	// Files holds the content of the source files by the path as written.
	Files map[string][]byte
	// Variables holds the values of the variables that texts of the workload mention; see
	// [Mentioned]. Depending on their source they may be passwords.
	Variables map[string]string
	// Context is the context of the workload: its own name, and its own namespace if
	// it names a namespace.
	Context object.Context
	// Otherwise is the namespace without a preview, by which others may call the workload
	// too.
	Otherwise string
	// Partial is set if a mistake in the document, which is reported already, may
	// hide part of Spec. The workload is searched for more mistakes, and is never completed.
	Partial bool
	// Opened are the ports that Gateways of the project lead to.
	Opened []score.Port
}
