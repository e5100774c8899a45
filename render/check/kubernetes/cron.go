// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"path"
	"strings"

	"github.com/robfig/cron/v3"

	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/check/schemas"
	"github.com/ropewalk/ropewalk/render/object"
)

// cronProblem says what is wrong with a schedule, "" where it is good. The
// API server parses schedules with the same library, and refuses time zones.
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

// knownZone reports whether a time zone is in the database that API servers look it up
// in. The names are data of this program: a render does not depend on its machine.
func knownZone(name string) bool {
	return name != "" && !strings.Contains(name, "\n") && strings.Contains("\n"+schemas.Zones(), "\n"+name+"\n")
}

// zoneHint is the time zone that was probably meant: by its spelling, or by its city.
func zoneHint(name string) string {
	known := strings.Fields(schemas.Zones())
	if hint := object.DidYouMean(name, known); hint != "" {
		return hint
	}
	city := strings.ReplaceAll(path.Base(name), " ", "_")
	for _, zone := range known {
		if strings.EqualFold(path.Base(zone), city) {
			return fmt.Sprintf("did you mean %q?", zone)
		}
	}
	return ""
}
