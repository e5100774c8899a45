// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
)

// endless is a spec whose evaluation does not end, after more text than a pipe
// holds: when all of it is written, the reader is at work.
func endless() string {
	return strings.Repeat("# A comment that fills the pipe.\n", 8192) + `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: endless}
spec:
  cueRef:
    type: inline
    ref: |
      package endless

      x: (int | {d: d}) & (int | {}) & (int | {})
`
}

// interrupt runs a command with an endless spec as its input, interrupts it
// and wants the code for that soon: interrupt COMMAND ARG…
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: interrupt COMMAND ARG...")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], append(args[1:], "--timeout", "20s")...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	in, err := cmd.StdinPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	_, err = io.WriteString(in, endless())
	ts.Check(errors.Join(err, in.Close()))
	// The evaluation goes on for long enough to be met in the middle.
	time.Sleep(500 * time.Millisecond)
	ts.Check(cmd.Process.Signal(os.Interrupt))
	start := time.Now()
	err = cmd.Wait()
	var failed *exec.ExitError
	if !errors.As(err, &failed) || failed.ExitCode() != command.Interrupted {
		ts.Fatalf("interrupted command ends with %v", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		ts.Fatalf("interrupted command takes %s to end", took)
	}
}

func TestAReadThatNeverEndsIsInterrupted(t *testing.T) {
	in, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, diagnostics strings.Builder
	code := Run(ctx, []string{"render", "-"}, command.Streams{In: in, Out: &out, Err: &diagnostics})
	require.Equal(t, command.Interrupted, code)
	require.Equal(t, "ropewalk: interrupted\n", diagnostics.String())
	require.Empty(t, out.String())
}
