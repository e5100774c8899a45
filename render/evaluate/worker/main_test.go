// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

// TestMain is the worker of the pools under test: the test binary starts
// itself, as the program does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Arg:
			if err := Serve(context.Background(), os.Stdin, os.Stdout, "", inprocess.Options{}); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(3)
			}
			os.Exit(0)
		case "worker-exits":
			fmt.Fprintln(os.Stderr, "unknown command")
			os.Exit(2)
		case "worker-babbles":
			fmt.Println("usage: ropewalk [command] and so on, which is no frame at all")
			time.Sleep(time.Minute)
		}
	}
	os.Exit(m.Run())
}

func newTestPool(t testing.TB, opts Options) *Pool {
	t.Helper()
	p, err := NewPool(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// hangs is a module that never comes to an end.
const hangs = `package hangs
x: (int | {d: d}) & (int | {}) & (int | {})
`

func requireGood(t testing.TB, p *Pool) {
	t.Helper()
	result, err := p.Evaluate(t.Context(), ask(goodModule))
	require.NoError(t, err)
	require.Len(t, result.Nodes, 1)
}
