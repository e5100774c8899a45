// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package components is the process of a worker that builds kustomizations and Helm charts. It
// evaluates what its parent sends until that closes the pipe, and prints nothing of what the
// libraries of kustomize and Helm print.
package components

import (
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/render/check/schemas"
	"github.com/ropewalk/ropewalk/render/component/helm"
	"github.com/ropewalk/ropewalk/render/component/kustomize"
	"github.com/ropewalk/ropewalk/render/component/kustomize/library"
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
		_, _ = fmt.Fprintln(os.Stdout, "ropewalk-components", process.CurrentRelease())
		return good
	}
	if !process.IsWorker() {
		_, _ = fmt.Fprintln(os.Stderr, "ropewalk-components is started by ropewalk and ropewalk-controller, to build kustomizations and Helm charts: put it beside them")
		return usage
	}
	var theirs library.Library
	log.SetOutput(&theirs)
	return serve(&theirs)
}

// serve serves as Main does, with that library of kustomize.
func serve(theirs kustomize.Library) int {
	// The parent reads in stderr why a process ended: there is no place for warnings.
	stderr := os.Stderr
	os.Stderr = nil
	slog.SetDefault(slog.New(slog.DiscardHandler))
	charts := helm.Charts{Served: schemas.Served}
	options := process.EvaluateOptions()
	options.Helm = charts.Engine
	options.Kustomize = kustomize.New(theirs, charts.Inflate)
	if err := process.ServeComponents(options); err != nil {
		_, _ = fmt.Fprintln(stderr, "ropewalk-components:", err)
		return failed
	}
	return good
}
