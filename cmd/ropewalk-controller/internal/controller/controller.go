// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
)

// Exit codes.
const (
	// Good means that it ended on request.
	Good = 0
	// Failed means that it could not start, or that something that it cannot do without
	// was lost: the API server, or the lease.
	Failed = 1
	// Usage means a mistake on the command line.
	Usage = 2
)

// Main runs the process: a worker if the first argument asks for a worker, and the controller
// otherwise. It returns the exit code.
func Main() int {
	if process.IsWorker() {
		return serveWorker()
	}
	process.CloseEnvironment()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	return Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// Run runs the controller with args, without the name of the program, until ctx ends,
// and returns the exit code. Help and the version go to out, and mistakes to
// diagnostics. The log goes to the standard error, as controller-runtime has it.
func Run(ctx context.Context, args []string, out, diagnostics io.Writer) int {
	f, set := newFlags(os.Getenv)
	err := f.parse(set, args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		_, _ = fmt.Fprint(out, help(set))
		return Good
	case err != nil:
		_, _ = fmt.Fprintf(diagnostics, "ropewalk-controller: %v\nsee \"ropewalk-controller --help\"\n", err)
		return Usage
	case f.version:
		_, _ = fmt.Fprintf(out, "ropewalk-controller %s\n", process.CurrentRelease())
		return Good
	}
	if err := f.serve(ctx); err != nil {
		_, _ = fmt.Fprintf(diagnostics, "ropewalk-controller: %v\n", err)
		return Failed
	}
	return Good
}

// help returns the text of --help.
func help(set *pflag.FlagSet) string {
	return `Render the Transforms of a cluster, publish what they give, and have Flux or Argo CD
apply it in order. Make clusters of PivotClusters, which then take their own Cluster API
objects over; be the agent of such a cluster.

Usage:
  ropewalk-controller [flags]

Flags:
` + set.FlagUsages() + `
Environment: KUBECONFIG (a cluster that this does not run in), RUNTIME_NAMESPACE (the
namespace of the controller), DOCKER_CONFIG (credentials for registries), ROPEWALK_CACHE
(where --cache-dir is not given), CUE_REGISTRY (where CUE modules depend on others),
GOMEMLIMIT (instead of what --memory-total leaves this process).
`
}

// serveWorker runs the process of a worker: it evaluates the requests of its parent until the parent
// closes the pipe. It returns the exit code.
func serveWorker() int {
	if err := process.ServeWorker(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "ropewalk-controller: worker:", err)
		return Failed
	}
	return Good
}
