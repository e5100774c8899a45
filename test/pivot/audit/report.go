// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Violation is an invariant that did not hold, over one or more polls.
type Violation struct {
	Invariant, Text string
	First, Last     time.Time
	Polls           int
}

// Gap is a time in which nothing was observed.
type Gap struct {
	At  time.Time
	For time.Duration
}

// State is what both planes looked like from a time on: paused or not, with all, some or none
// of the objects.
type State struct {
	At time.Time
	// First and Last have the counts, as they were first and last seen.
	First, Last string
	// Active are the planes that were in charge.
	Active []string

	key string
}

// Report is what an Auditor has observed.
type Report struct {
	Began, Ended time.Time
	// Objects, Machines and Needles are how many objects, machines and secrets were recorded.
	Objects, Machines, Needles int
	// Polls and Searches are how often planes were looked at, and logs, Events and statuses.
	Polls, Searches int
	// Longest is the longest poll.
	Longest time.Duration
	// Unknown is how many polls of each plane and of the cloud had no answer.
	Unknown    map[string]int
	Gaps       []Gap
	Violations []Violation
	// Timeline is every change of what the planes looked like.
	Timeline []State
}

// violate adds a violation, or prolongs the one of the same text.
func (r *Report) violate(invariant, text string) {
	now := time.Now()
	i := slices.IndexFunc(r.Violations, func(v Violation) bool { return v.Invariant == invariant && v.Text == text })
	if i < 0 {
		r.Violations = append(r.Violations, Violation{Invariant: invariant, Text: text, First: now, Last: now, Polls: 1})
		return
	}
	r.Violations[i].Last = now
	r.Violations[i].Polls++
}

// see adds what the planes look like, where more than the counts changed.
func (r *Report) see(names []string, seen []view) {
	now := State{At: time.Now()}
	var text, key []string
	for i, v := range seen {
		text, key = append(text, names[i]+": "+v.String()), append(key, v.key())
		if v.active() {
			now.Active = append(now.Active, names[i])
		}
	}
	now.First, now.key = strings.Join(text, ", "), strings.Join(key, ", ")
	now.Last = now.First
	if n := len(r.Timeline); n > 0 && r.Timeline[n-1].key == now.key {
		r.Timeline[n-1].Last = now.First
		return
	}
	r.Timeline = append(r.Timeline, now)
}

// Active is how long it took until a plane was in charge, or 0.
func (r Report) Active(plane string) time.Duration {
	for _, s := range r.Timeline {
		if slices.Contains(s.Active, plane) {
			return s.At.Sub(r.Began)
		}
	}
	return 0
}

// Frozen is how long no plane was in charge, as far as polls can tell.
func (r Report) Frozen() time.Duration {
	var sum time.Duration
	for i, s := range r.Timeline {
		if len(s.Active) > 0 {
			continue
		}
		end := r.Ended
		if i+1 < len(r.Timeline) {
			end = r.Timeline[i+1].At
		}
		sum += end.Sub(s.At)
	}
	return sum
}

// Violated are the invariants that did not hold.
func (r Report) Violated() []string {
	set := map[string]bool{}
	for _, v := range r.Violations {
		set[v.Invariant] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// Require fails the test where an invariant did not hold, or nothing was observed.
func (r Report) Require(t testing.TB) {
	t.Helper()
	require.Empty(t, r.Violations)
	require.Positive(t, r.Polls)
	require.Positive(t, r.Searches)
}

// String is the report for people.
func (r Report) String() string {
	var out strings.Builder
	since := func(at time.Time) string { return at.Sub(r.Began).Round(10 * time.Millisecond).String() }
	fmt.Fprintf(&out, "auditor: %s, %d polls (longest %s) and %d searches of %d objects, %d machines and %d secrets",
		since(r.Ended), r.Polls, r.Longest.Round(time.Millisecond), r.Searches, r.Objects, r.Machines, r.Needles)
	for _, name := range slices.Sorted(maps.Keys(r.Unknown)) {
		fmt.Fprintf(&out, "; %s did not answer %d times", name, r.Unknown[name])
	}
	for _, g := range r.Gaps {
		fmt.Fprintf(&out, "\n  at %s nothing was observed for %s", since(g.At), g.For.Round(time.Millisecond))
	}
	for _, s := range r.Timeline {
		fmt.Fprintf(&out, "\n  %8s %s", since(s.At), s.First)
		if s.Last != s.First {
			out.WriteString(" -> " + s.Last)
		}
	}
	for _, v := range r.Violations {
		fmt.Fprintf(&out, "\n  VIOLATION of %s from %s to %s in %d polls: %s", v.Invariant, since(v.First), since(v.Last), v.Polls, v.Text)
	}
	if len(r.Violations) == 0 {
		fmt.Fprintf(&out, "\n  I1 to I4 held; no plane was in charge for %s", r.Frozen().Round(10*time.Millisecond))
	}
	return out.String()
}
