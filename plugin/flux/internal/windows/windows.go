// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package windows decides when a revision may be delivered: in none of the Deny windows of its
// Transform, and in one of the Allow windows where there are any.
//
// # Invariants
//
// A window decides when the delivery of a digest begins. A delivery that has begun goes on after
// its window has closed. Nothing that a process remembers counts: what was admitted is in the
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
	// maxSteps is how many openings and closings are looked at for the next time that is open.
	maxSteps = 10000
)

// Windows are those of a Transform.
type Windows []window

// window is one window.
type window struct {
	denies bool
	// opens is when it opens, in its time zone.
	opens    cron.Schedule
	duration time.Duration
}

// Parse reads the windows of a spec. The error names the field of each mistake.
func Parse(list []v1alpha1.Window) (Windows, error) {
	var out Windows
	var wrong []string
	for i, w := range list {
		parsed, problems := parse(w)
		for _, p := range problems {
			wrong = append(wrong, fmt.Sprintf("spec.delivery.windows[%d].%s", i, p))
		}
		out = append(out, parsed)
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(wrong, "; "))
	}
	return out, nil
}

// parse reads one window, and returns what is wrong with its fields.
func parse(w v1alpha1.Window) (window, []string) {
	var wrong []string
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	out := window{denies: w.Kind == v1alpha1.WindowDeny, duration: w.Duration.Duration}
	if w.Kind != v1alpha1.WindowAllow && w.Kind != v1alpha1.WindowDeny {
		fail("kind: expected Allow or Deny, got %.32q", w.Kind)
	}
	if out.duration < shortest || out.duration > longest {
		fail("duration: expected 1m to 8784h, got %s", out.duration)
	}

	// The names of time zones are those that this program was built with.
	zone := time.UTC
	if w.TimeZone != "" {
		var err error
		zone, err = time.LoadLocation(w.TimeZone)
		if err != nil || !timezone.Known(w.TimeZone) {
			fail("timeZone: %.64q is no time zone, such as Europe/Berlin", w.TimeZone)
			if hint := object.DidYouMean(w.TimeZone, timezone.Names()); hint != "" {
				wrong[len(wrong)-1] += ": " + hint
			}
			zone = time.UTC
		}
	}

	// The library reads a time zone in the schedule too.
	const fields = "expected five fields of cron (minute, hour, day of month, month, day of week)"
	if len(w.Schedule) > maxSchedule || strings.Contains(w.Schedule, "TZ") {
		fail("schedule: %s, and the time zone in timeZone", fields)
		return out, wrong
	}
	schedule, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(w.Schedule)
	if err != nil {
		fail("schedule: %s, got %.128q: %s", fields, w.Schedule, err)
		return out, wrong
	}
	if at, ok := schedule.(*cron.SpecSchedule); ok {
		at.Location = zone
	}
	if schedule.Next(time.Unix(0, 0)).IsZero() {
		fail("schedule: no day is %.128q", w.Schedule)
	}
	out.opens = schedule
	return out, wrong
}

// isOpen reports whether a window is open: it has opened at most its duration ago.
func (w window) isOpen(at time.Time) bool {
	opened := w.opens.Next(at.Add(-w.duration))
	return !opened.IsZero() && !opened.After(at)
}

// next returns the next time after at when a window opens or closes.
func (w window) next(at time.Time) time.Time {
	opens := w.opens.Next(at)
	if opened := w.opens.Next(at.Add(-w.duration)); !opened.IsZero() && !opened.After(at) {
		if closes := opened.Add(w.duration); opens.IsZero() || closes.Before(opens) {
			return closes
		}
	}
	return opens
}

// Open reports whether a delivery may begin.
func (all Windows) Open(at time.Time) bool {
	allows, allowed := false, false
	for _, w := range all {
		open := w.isOpen(at)
		if w.denies && open {
			return false
		}
		allows = allows || !w.denies
		allowed = allowed || !w.denies && open
	}
	return allowed || !allows
}

// Opens returns when a delivery may begin next, which is at if it may now. It returns false if
// that cannot be foreseen, as where a Deny window is always open.
func (all Windows) Opens(at time.Time) (time.Time, bool) {
	for range maxSteps {
		if all.Open(at) {
			return at, true
		}
		var soonest time.Time
		for _, w := range all {
			if next := w.next(at); !next.IsZero() && (soonest.IsZero() || next.Before(soonest)) {
				soonest = next
			}
		}
		if soonest.IsZero() {
			break
		}
		at = soonest
	}
	return time.Time{}, false
}
