// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"context"
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
	} {
		b.Run(name, func(b *testing.B) { renderWarm(b, goldenRequest(b, name)) })
	}
	b.Run("webservice/typical with policies", func(b *testing.B) {
		req := goldenRequest(b, "webservice/typical")
		req.Policies = []evaluate.Policy{{Name: "baseline", Module: embedded(b, "policies")}}
		renderWarm(b, req)
	})
}

// BenchmarkColdAgainstWarm promises cold/warm of at least 2: the first render of
// a module by a new evaluator against later ones, one after the
// other so that the machine is the same for both.
func BenchmarkColdAgainstWarm(b *testing.B) {
	for _, name := range []string{"webservice/typical", "database/postgres"} {
		b.Run(name, func(b *testing.B) {
			req := goldenRequest(b, name)
			warm := evaluator()
			evaluateOnce(b, warm, req)
			var coldTime, warmTime time.Duration
			for b.Loop() {
				start := time.Now()
				evaluateOnce(b, evaluator(), req)
				middle := time.Now()
				evaluateOnce(b, warm, req)
				coldTime += middle.Sub(start)
				warmTime += time.Since(middle)
			}
			b.ReportMetric(float64(warmTime)/float64(coldTime), "warm/cold")
		})
	}
}

func evaluateOnce(b *testing.B, e evaluate.Evaluator, req evaluate.Request) {
	if _, err := e.Evaluate(b.Context(), req); err != nil {
		b.Fatal(err)
	}
}

// goldenRequest asks for what a golden holds.
func goldenRequest(b *testing.B, name string) evaluate.Request {
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
