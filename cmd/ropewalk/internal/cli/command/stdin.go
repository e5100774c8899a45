// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"io"
)

// readerFunc is a function that is an io.Reader.
type readerFunc func(p []byte) (int, error)

// Read calls f.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Stoppable returns a reader that ends when ctx does: a read of a terminal or of a pipe cannot be
// interrupted otherwise. The read that ctx left behind continues in the background until the
// process ends, into a buffer of its own that is not used any more.
func Stoppable(ctx context.Context, reader io.Reader) io.Reader {
	type outcome struct {
		n   int
		err error
	}
	return readerFunc(func(p []byte) (int, error) {
		buffer := make([]byte, len(p))
		done := make(chan outcome, 1)
		go func() {
			n, err := reader.Read(buffer)
			done <- outcome{n, err}
		}()
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case o := <-done:
			return copy(p, buffer[:o.n]), o.err
		}
	})
}
