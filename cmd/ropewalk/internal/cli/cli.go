// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
)

// Main runs the process: a worker if the first argument asks for a worker, and
// otherwise the command line until it ends or the user interrupts it. It
// returns the exit code.
func Main() int {
	if process.IsWorker() {
		return serveWorker()
	}
	process.CloseEnvironment()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return Run(ctx, os.Args[1:], processStreams())
}

// processStreams returns the streams of the process.
func processStreams() command.Streams {
	s := command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	colors := os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
	s.OutColor = colors && term.IsTerminal(int(os.Stdout.Fd()))
	fd := int(os.Stderr.Fd())
	if term.IsTerminal(fd) && os.Getenv("TERM") != "dumb" {
		s.Color = colors
		s.Width = 80
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			s.Width = width
		}
	}
	return s
}

// serveWorker runs the process of a worker: it evaluates the requests of its parent until the parent
// closes the pipe. It returns the exit code.
func serveWorker() int {
	if err := process.ServeWorker(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "ropewalk: worker:", err)
		return command.Environment
	}
	return command.Good
}
