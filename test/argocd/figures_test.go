// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// series is how long requests took.
type series []time.Duration

// at is the time that a part of the requests, between 0 and 1, took at most, in
// milliseconds.
func (s series) at(part float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))].Seconds() * 1000
}

func (s series) median() float64 { return s.at(0.5) }

// mean is for what is told in steps that are larger than a request.
func (s series) mean() float64 {
	var sum time.Duration
	for _, d := range s {
		sum += d
	}
	return sum.Seconds() * 1000 / float64(max(1, len(s)))
}

// figures are what a benchmark prints: a line for each, and the promise that it is
// measured against.
type figures struct{ lines []string }

// plain is a figure that nothing is promised of.
func (f *figures) plain(what string, got float64, unit string) {
	f.lines = append(f.lines, fmt.Sprintf("%-88s %9.2f %s", what, got, unit))
}

// most is a figure that is promised to be no higher.
func (f *figures) most(what string, got, bound float64, unit string) {
	f.plain(what, got, fmt.Sprintf("%-5s (at most %g: %s)", unit, bound, kept(got <= bound)))
}

// least is a figure that is promised to be no lower.
func (f *figures) least(what string, got, bound float64, unit string) {
	f.plain(what, got, fmt.Sprintf("%-5s (at least %g: %s)", unit, bound, kept(got >= bound)))
}

func kept(is bool) string {
	if is {
		return "kept"
	}
	return "BROKEN"
}

// print prints the lines below a title. A benchmark's own log is cut after ten.
func (f *figures) print(b *testing.B, title string) {
	b.Helper()
	fmt.Printf("\n%s\n  %s\n", title, strings.Join(f.lines, "\n  "))
	b.ReportMetric(0, "ns/op") // What one round takes says nothing.
}
