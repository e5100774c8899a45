// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
)

// componentsProgram is the program that builds kustomizations and charts: kustomize and Helm are
// not linked into the others.
const componentsProgram = "ropewalk-components"

// ComponentsProgram returns the path of the program that builds kustomizations and charts: the
// program in ROPEWALK_COMPONENTS, beside this program, or in PATH. The error says how to get it.
func ComponentsProgram() (string, error) {
	if path := os.Getenv("ROPEWALK_COMPONENTS"); path != "" {
		if _, err := os.Stat(path); err != nil { //nolint:gosec // the user of the command says which program it is
			return "", fmt.Errorf("kustomizations and charts need the program %s, which ROPEWALK_COMPONENTS says is %s: %w",
				componentsProgram, path, err)
		}
		return filepath.Abs(path)
	}

	// Releases have both programs in one folder.
	beside := "this program"
	if self, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(self); err == nil {
			self = resolved
		}
		beside = filepath.Dir(self)
		name := componentsProgram
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		if info, err := os.Stat(filepath.Join(beside, name)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(beside, name), nil
		}
	}
	if path, err := exec.LookPath(componentsProgram); err == nil {
		return filepath.Abs(path)
	}

	version := CurrentRelease().Version
	if !strings.HasPrefix(version, "v") {
		version = "latest"
	}
	return "", fmt.Errorf("kustomizations and charts need the program %s, which is neither in %s nor in PATH: "+
		"install it with go install github.com/ropewalk/ropewalk/cmd/%s@%s, or take it from the archive of the release, "+
		"and set ROPEWALK_COMPONENTS to its path if it lies elsewhere", componentsProgram, beside, componentsProgram, version)
}

// Components returns an evaluator that builds kustomizations and charts by workers of the program
// ropewalk-components under opts, and passes everything else to next. Its Close ends the workers.
func Components(next evaluate.Evaluator, opts worker.Options) *worker.Components {
	opts.Release = CurrentRelease().String()
	return &worker.Components{Next: next, Program: ComponentsProgram, Options: opts}
}

// ServeComponents builds kustomizations and charts, as [ServeWorker] evaluates modules.
func ServeComponents(opts inprocess.Options) error {
	signal.Ignore(os.Interrupt)
	return worker.Serve(context.Background(), os.Stdin, os.Stdout, CurrentRelease().String(), opts)
}

// IsWorker reports whether this process is to be a worker. The first argument says
// so, and is looked at by hand: to build a tree of commands would cost a worker more
// than it needs to start.
func IsWorker() bool { return len(os.Args) > 1 && os.Args[1] == worker.Arg }

// ServeWorker evaluates what the parent of this process sends, until the parent closes the pipe.
func ServeWorker() error {
	// An interrupt on a terminal reaches the whole process group. The parent
	// decides what becomes of its workers.
	signal.Ignore(os.Interrupt)
	return worker.Serve(context.Background(), os.Stdin, os.Stdout, "", EvaluateOptions())
}

// EvaluateOptions returns the options that a command and its workers share, so that both give the
// same results.
func EvaluateOptions() inprocess.Options {
	return inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}}
}
