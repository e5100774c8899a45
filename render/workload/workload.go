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
	// Variables are the values of those that texts of the workload mention; see
	// [Mentioned]. Where they come from they may be passwords.
	Variables map[string]string
	// Context is that of the workload: its own name, and its own namespace where
	// it names one.
	Context object.Context
	// Otherwise is the namespace that Context has without a preview, by which others may call
	// the workload too.
	Otherwise string
	// Partial is set if a mistake in the document, which is reported already, may
	// hide part of Spec. The workload is looked at for what else is wrong, and
	// is never completed.
	Partial bool
	// Opened are the ports that Gateways of the project lead to.
	Opened []score.Port
}
