// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"io/fs"
	"os"
	"os/signal"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
)

// IsWorker reports whether this process is to be a worker. The first argument says
// so, and is looked at by hand: to build a tree of commands would cost a worker more
// than it needs to start.
func IsWorker() bool { return len(os.Args) > 1 && os.Args[1] == worker.Arg }

// ServeWorker evaluates what the parent of this process sends, until that closes the
// pipe.
func ServeWorker() error {
	// An interrupt on a terminal reaches the whole process group. The parent
	// decides what becomes of its workers.
	signal.Ignore(os.Interrupt)
	return worker.Serve(context.Background(), os.Stdin, os.Stdout, EvaluateOptions())
}

// EvaluateOptions are the same in a command and in its workers, so that both give the
// same results.
func EvaluateOptions() inprocess.Options {
	return inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}}
}
