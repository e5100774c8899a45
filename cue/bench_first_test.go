// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
)

// firstVariable makes the test binary the process that BenchmarkFirst measures.
const firstVariable = "ROPEWALK_FIRST"

// BenchmarkFirst compares the first evaluation of a process, which has compiled
// nothing and touched no memory, with its later ones. It is what a user of the
// command feels; the bound is that of BenchmarkColdAgainstWarm, which is stricter.
func BenchmarkFirst(b *testing.B) {
	for _, name := range []string{"webservice/typical", "database/postgres"} {
		b.Run(name, func(b *testing.B) {
			var cold, warm float64
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run", "^TestFirst$")
				cmd.Env = append(os.Environ(), firstVariable+"="+name, "GOGC=400")
				out, err := cmd.Output()
				require.NoError(b, err)
				times := strings.Fields(string(out))
				cold += seconds(b, times[0])
				warm += seconds(b, times[1])
			}
			b.ReportMetric(warm/cold, "warm/cold")
			b.ReportMetric(1000*cold/float64(b.N), "cold-ms")
			b.ReportMetric(1000*warm/float64(b.N), "warm-ms")
		})
	}
}

func seconds(b *testing.B, text string) float64 {
	s, err := strconv.ParseFloat(text, 64)
	require.NoError(b, err)
	return s
}

// TestFirst is the process of BenchmarkFirst; by itself it does nothing but
// look that both evaluations give the same.
func TestFirst(t *testing.T) {
	name := os.Getenv(firstVariable)
	asked := name != ""
	if !asked {
		name = "webservice/typical"
	}
	req, e := goldenRequest(t, name), evaluator()
	start := time.Now()
	first, err := e.Evaluate(t.Context(), req)
	cold := time.Since(start)
	require.NoError(t, err)
	const later = 50
	start = time.Now()
	var again evaluate.Result
	for range later {
		again, err = e.Evaluate(t.Context(), req)
		require.NoError(t, err)
	}
	warm := time.Since(start) / later
	require.Equal(t, first, again)
	if asked {
		_, err = os.Stdout.WriteString(strconv.FormatFloat(cold.Seconds(), 'f', 9, 64) + " " +
			strconv.FormatFloat(warm.Seconds(), 'f', 9, 64) + "\n")
		require.NoError(t, err)
	}
}
