// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// batch is a running git cat-file --batch.
type batch struct {
	// gone is why the process was ended, if it was.
	gone func() error
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	done bool
}

// newBatch starts git cat-file in an environment, which says where the
// repository is. It must not be able to ask servers.
func newBatch(ctx context.Context, binary string, env []string) (*batch, error) {
	cmd := exec.CommandContext(ctx, binary, "cat-file", "--batch") //nolint:gosec // the caller says which binary
	cmd.Env = env
	isolate(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%q cannot be run: %w", binary, err)
	}
	return &batch{gone: ctx.Err, cmd: cmd, in: in, out: bufio.NewReaderSize(out, 32<<10)}, nil
}

// read reads one object. After an error the process is of no use.
func (b *batch) read(id string, fits fits) ([]byte, error) {
	if _, err := io.WriteString(b.in, id+"\n"); err != nil {
		return nil, b.lost(id)
	}
	line, err := b.out.ReadString('\n')
	if err != nil {
		return nil, b.lost(id)
	}
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[0] != id {
		return nil, b.lost(id)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return nil, b.lost(id)
	}
	if err := fits(fields[1], size); err != nil {
		return nil, err
	}
	data := make([]byte, size+1) // a line end follows
	if _, err := io.ReadFull(b.out, data); err != nil {
		return nil, b.lost(id)
	}
	return data[:size:size], nil
}

// lost is why an object cannot be read.
func (b *batch) lost(id string) error {
	if err := b.gone(); err != nil {
		return err
	}
	return lacking(id)
}

// stop ends the process.
func (b *batch) stop() {
	if b.done {
		return
	}
	b.done = true
	_ = b.in.Close()
	_ = b.cmd.Cancel() // it may have ended
	_ = b.cmd.Wait()   // how it ended does not count any more
}
