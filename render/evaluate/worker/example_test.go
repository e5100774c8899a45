// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"testing/fstest"
	"time"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/render/object"
)

// A module that never comes to an end costs a pool one worker process and its
// caller the deadline. The main function of a program that does this serves
// workers when its first argument is worker.Arg.
func ExampleNewPool() {
	pool, err := worker.NewPool(worker.Options{Size: 1, Timeout: 200 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = pool.Close() }()
	_, err = pool.Evaluate(context.Background(), evaluate.Request{
		Spec: "api",
		Pos:  object.Pos{File: "api.yaml", Line: 1},
		Module: evaluate.Module{
			FS:     fstest.MapFS{"module.cue": {Data: []byte("x: (int | {d: d}) & (int | {}) & (int | {})\n")}},
			Digest: "sha256:0",
		},
	})
	fmt.Println("stopped at its deadline:", errors.Is(err, evaluate.ErrTimeout))
	// Output: stopped at its deadline: true
}
