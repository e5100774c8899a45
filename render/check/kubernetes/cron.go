// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"strings"

	"github.com/robfig/cron/v3"

	"github.com/ropewalk/ropewalk/internal/timezone"
	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/object"
)

// cronProblem returns what is wrong with a schedule, or "" if nothing is. The API server parses
// schedules with the same library, and refuses time zones.
func cronProblem(schedule string) string {
	if strings.Contains(schedule, "TZ") {
		return "must not contain a time zone: set timeZone instead"
	}
	if _, err := cron.ParseStandard(schedule); err == nil {
		return ""
	}
	if strings.HasPrefix(schedule, "@") {
		return "expected \"@yearly\", \"@monthly\", \"@weekly\", \"@daily\", \"@hourly\" or an interval such as \"@every 1h30m\""
	}
	if fields := strings.Fields(schedule); len(fields) == 5 {
		for i, name := range [...]string{"minute", "hour", "day of month", "month", "day of week"} {
			single := [5]string{"*", "*", "*", "*", "*"}
			single[i] = fields[i]
			if _, err := cron.ParseStandard(strings.Join(single[:], " ")); err != nil {
				return fmt.Sprintf("expected a valid %s, not %s (%s)", name, finding.Quote(fields[i]), err)
			}
		}
	}
	return "expected five fields (minute, hour, day of month, month, day of week) or a word such as \"@daily\""
}

// zoneHint returns the hint with the time zone that was probably meant: by its spelling, or by
// its city.
func zoneHint(name string) string {
	if hint := object.DidYouMean(name, timezone.Names()); hint != "" {
		return hint
	}
	if zone := timezone.InCity(name); zone != "" {
		return fmt.Sprintf("did you mean %q?", zone)
	}
	return ""
}
