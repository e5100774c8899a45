// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package windows decides when a revision may be delivered: outside of the Deny windows of its
// Transform, and inside of an Allow window if it has Allow windows.
//
// # Invariants
//
// A window decides when the delivery of a digest begins. A delivery that has begun goes on after
// its window has closed. Nothing that a process remembers counts: the admitted digest is in the
// status, which is written before it is delivered.
package windows

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/ropewalk/ropewalk/internal/timezone"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/object"
)

// Bounds of a window.
const (
	shortest = time.Minute
	longest  = 366 * 24 * time.Hour
	// maxSchedule bounds the text that is parsed as a schedule.
	maxSchedule = 128
	// maxSteps limits the openings and closings that are looked at to find the next open time.
	maxSteps = 10000
)

// Windows are the windows of a Transform.
type Windows []window

// window is one window.
type window struct {
	denies bool
	// opens is the schedule of its openings, in its time zone.
	opens    cron.Schedule
	duration time.Duration
}

// Parse reads the windows of a spec. The error names the field of each mistake.
func Parse(list []v1alpha1.Window) (Windows, error) {
	var out Windows
	var mistakes []string
	for i, w := range list {
		parsed, faults := parse(w)
		for _, p := range faults {
			mistakes = append(mistakes, fmt.Sprintf("spec.delivery.windows[%d].%s", i, p))
		}
		out = append(out, parsed)
	}
	if len(mistakes) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(mistakes, "; "))
	}
	return out, nil
}

// parse reads one window, and returns the mistakes in its fields.
func parse(w v1alpha1.Window) (window, []string) {
	var problems []string
	fail := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	out := window{denies: w.Kind == v1alpha1.WindowDeny, duration: w.Duration.Duration}
	if w.Kind != v1alpha1.WindowAllow && w.Kind != v1alpha1.WindowDeny {
		fail("kind: expected Allow or Deny, got %.32q", w.Kind)
	}
	if out.duration < shortest || out.duration > longest {
		fail("duration: expected 1m to 8784h, got %s", out.duration)
	}

	// Only time zones that this program was built with are known.
	zone := time.UTC
	if w.TimeZone != "" {
		var err error
		zone, err = time.LoadLocation(w.TimeZone)
		if err != nil || !timezone.Known(w.TimeZone) {
			fail("timeZone: %.64q is no time zone, such as Europe/Berlin", w.TimeZone)
			if hint := object.DidYouMean(w.TimeZone, timezone.Names()); hint != "" {
				problems[len(problems)-1] += ": " + hint
			}
			zone = time.UTC
		}
	}

	// The library reads a time zone in the schedule too.
	const fields = "expected five fields of cron (minute, hour, day of month, month, day of week)"
	if len(w.Schedule) > maxSchedule || strings.Contains(w.Schedule, "TZ") {
		fail("schedule: %s, and the time zone in timeZone", fields)
		return out, problems
	}

	// A schedule must open at some time: 31 February never comes.
	schedule, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(w.Schedule)
	if err != nil {
		fail("schedule: %s, got %.128q: %s", fields, w.Schedule, err)
		return out, problems
	}
	if spec, ok := schedule.(*cron.SpecSchedule); ok {
		spec.Location = zone
	}
	if schedule.Next(time.Unix(0, 0)).IsZero() {
		fail("schedule: no day is %.128q", w.Schedule)
	}
	out.opens = schedule
	return out, problems
}

// isOpen reports whether a window is open: it has opened at most its duration ago.
func (w window) isOpen(t time.Time) bool {
	opened := w.opens.Next(t.Add(-w.duration))
	return !opened.IsZero() && !opened.After(t)
}

// next returns the next time after at when a window opens or closes.
func (w window) next(t time.Time) time.Time {
	opens := w.opens.Next(t)
	if opened := w.opens.Next(t.Add(-w.duration)); !opened.IsZero() && !opened.After(t) {
		if closes := opened.Add(w.duration); opens.IsZero() || closes.Before(opens) {
			return closes
		}
	}
	return opens
}

// Open reports whether a delivery may begin.
func (ws Windows) Open(t time.Time) bool {
	allows, allowed := false, false
	for _, w := range ws {
		open := w.isOpen(t)
		if w.denies && open {
			return false
		}
		allows = allows || !w.denies
		allowed = allowed || !w.denies && open
	}
	return allowed || !allows
}

// Opens returns the next time at which a delivery may begin, which is t if it may begin at t. It
// returns false if no such time can be foreseen, as where a Deny window is always open.
func (ws Windows) Opens(t time.Time) (time.Time, bool) {
	for range maxSteps {
		if ws.Open(t) {
			return t, true
		}

		// Windows change only at their openings and closings.
		var soonest time.Time
		for _, w := range ws {
			if next := w.next(t); !next.IsZero() && (soonest.IsZero() || next.Before(soonest)) {
				soonest = next
			}
		}
		if soonest.IsZero() {
			break
		}
		t = soonest
	}
	return time.Time{}, false
}
