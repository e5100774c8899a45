// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
)

// The module is compiled by the first render; the others are what an embedded
// module costs once it is warm.
func BenchmarkRenderWarm(b *testing.B) {
	for _, name := range []string{
		"webservice/minimal", "webservice/typical", "webservice/everything", "database/postgres",
		"workload/plain", "workload/everything",
	} {
		b.Run(name, func(b *testing.B) { renderWarm(b, goldenRequest(b, name)) })
	}
	b.Run("webservice/typical with policies", func(b *testing.B) {
		req := goldenRequest(b, "webservice/typical")
		req.Policies = []evaluate.Policy{{Name: "baseline", Module: embedded(b, "policies")}}
		renderWarm(b, req)
	})
}

// BenchmarkColdAgainstWarm promises warm/cold of at most 0.5: the first render of
// a module by a new evaluator against later ones. An input that uses everything
// is nearest to it, because its evaluation is nearly all that a first render does:
// 0.43 with GOGC=400, as the command has it, and 0.41 with Go's default. They
// come in blocks, with a collection before each, so that neither pays for the
// garbage of the other.
func BenchmarkColdAgainstWarm(b *testing.B) {
	const block = 25
	for _, name := range []string{"webservice/minimal", "webservice/typical", "webservice/everything", "database/postgres"} {
		b.Run(name, func(b *testing.B) {
			req := goldenRequest(b, name)
			warm := evaluator()
			evaluateOnce(b, warm, req)
			var coldTime, warmTime time.Duration
			for b.Loop() {
				coldTime += timed(func() {
					for range block {
						evaluateOnce(b, evaluator(), req)
					}
				})
				warmTime += timed(func() {
					for range block {
						evaluateOnce(b, warm, req)
					}
				})
			}
			b.ReportMetric(float64(warmTime)/float64(coldTime), "warm/cold")
		})
	}
}

// timed is how long do takes after a collection.
func timed(do func()) time.Duration {
	runtime.GC()
	start := time.Now()
	do()
	return time.Since(start)
}

func evaluateOnce(b *testing.B, e evaluate.Evaluator, req evaluate.Request) {
	if _, err := e.Evaluate(b.Context(), req); err != nil {
		b.Fatal(err)
	}
}

// goldenRequest asks for what a golden holds.
func goldenRequest(b testing.TB, name string) evaluate.Request {
	archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
	require.NoError(b, err)
	module, _, _ := strings.Cut(name, "/")
	return request(b, embedded(b, module), "input.yaml", archive.Files[0].Data)
}

func renderWarm(b *testing.B, req evaluate.Request) {
	e := evaluator()
	_, err := e.Evaluate(context.Background(), req)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Evaluate(context.Background(), req); err != nil {
			b.Fatal(err)
		}
	}
}
