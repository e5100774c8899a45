// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package charts is the process of a worker that renders Helm charts. It evaluates what its
// parent sends until that closes the pipe, and prints nothing of what Helm logs.
//
// Callers: cmd/ropewalk-helm, whose main function it is.
package charts

import (
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/render/check/schemas"
	"github.com/ropewalk/ropewalk/render/component/helm"
)

// Exit codes.
const (
	good   = 0
	failed = 1
	usage  = 2
)

// Main runs the process and returns its exit code.
func Main() int {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		_, _ = fmt.Fprintln(os.Stdout, "ropewalk-helm", process.CurrentRelease())
		return good
	}
	if !process.IsWorker() {
		_, _ = fmt.Fprintln(os.Stderr, "ropewalk-helm is started by ropewalk and ropewalk-controller, to render Helm charts: put it beside them")
		return usage
	}
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	options := process.EvaluateOptions()
	of := helm.Charts{Served: schemas.Served}
	options.Helm, options.Charts = of.Engine, of.Inflate
	if err := process.ServeHelm(options); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "ropewalk-helm:", err)
		return failed
	}
	return good
}
