// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// cronField is one of the five fields of a schedule.
type cronField struct {
	name      string
	low, high int
	names     string // three letters each, from low on
}

// cronProblem says what is wrong with a schedule, "" where it is good. The
// syntax is that of github.com/robfig/cron/v3, ParseStandard, which the
// server uses: five fields, or a descriptor such as @daily.
func cronProblem(schedule string) string {
	if strings.Contains(schedule, "TZ") {
		return "must not hold a time zone (use timeZone)"
	}
	if strings.HasPrefix(schedule, "@") {
		return cronDescriptor(schedule)
	}
	fields := strings.Fields(schedule)
	if len(fields) != 5 {
		return fmt.Sprintf("expected five fields (minute, hour, day of month, month, day of week) or a word such as \"@daily\", found %d", len(fields))
	}
	for i, f := range [...]cronField{
		{"minute", 0, 59, ""},
		{"hour", 0, 23, ""},
		{"day of month", 1, 31, ""},
		{"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
		{"day of week", 0, 6, "sunmontuewedthufrisat"},
	} {
		for part := range strings.SplitSeq(fields[i], ",") {
			if !f.good(part) {
				return fmt.Sprintf("expected numbers from %d to %d, ranges, steps or \"*\" as the %s, which is %s", f.low, f.high, f.name, quote(fields[i]))
			}
		}
	}
	return ""
}

func cronDescriptor(schedule string) string {
	switch schedule {
	case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
		return ""
	}
	if d, ok := strings.CutPrefix(schedule, "@every "); ok {
		if _, err := time.ParseDuration(d); err == nil {
			return ""
		}
		return "expected a duration such as \"@every 1h30m\""
	}
	return "expected \"@yearly\", \"@monthly\", \"@weekly\", \"@daily\", \"@hourly\" or \"@every 1h30m\""
}

// good reports whether part is a number, a range or a star, with or without
// a step.
func (f cronField) good(part string) bool {
	span, step, stepped := strings.Cut(part, "/")
	if stepped {
		if n, err := strconv.Atoi(step); err != nil || n <= 0 {
			return false
		}
	}
	from, to, ranged := strings.Cut(span, "-")
	if from == "*" || from == "?" {
		return !ranged
	}
	low, ok := f.number(from)
	if !ok {
		return false
	}
	if !ranged {
		return true
	}
	high, ok := f.number(to)
	return ok && low <= high
}

func (f cronField) number(text string) (int, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, n >= f.low && n <= f.high && text[0] != '+' && text[0] != '-'
	}
	if i := strings.Index(f.names, strings.ToLower(text)); len(text) == 3 && i >= 0 && i%3 == 0 {
		return f.low + i/3, true
	}
	return 0, false
}
