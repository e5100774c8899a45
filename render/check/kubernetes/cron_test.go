// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/timezone"
)

func TestSchedules(t *testing.T) {
	for _, good := range []string{"* * * * *", "*/5 0-23/2 1,15 jan-DEC Sun,6", "? ? ? ? ?", "*-5 * * * *", "1,,2 * * * *", "@daily", "@every 1h30m", "0 0 * * 0"} {
		require.Empty(t, cronProblem(good), good)
	}
	for _, bad := range []string{"", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7", "5-1 * * * *", "*/0 * * * *", "a * * * *", "* * * janx *", "@often", "@every soon", "CRON_TZ=UTC * * * * *", "TZ=", "TZ=0"} {
		require.NotEmpty(t, cronProblem(bad), bad)
	}
}

func TestTimeZones(t *testing.T) {
	for _, good := range []string{"UTC", "Etc/UTC", "Etc/GMT+5", "Europe/Berlin", "America/Argentina/Buenos_Aires", "US/Pacific", "EST5EDT", "GMT"} {
		require.True(t, timezone.Known(good), good)
	}
	for bad, hint := range map[string]string{
		"Europe/Berlinn":        "did you mean \"Europe/Berlin\"?",
		"europe/berlin":         "did you mean \"Europe/Berlin\"?",
		"America/New York":      "did you mean \"America/New_York\"?",
		"America/NewYork":       "did you mean \"America/New_York\"?",
		"Germany/Berlin":        "did you mean \"Europe/Berlin\"?",
		"Berlin":                "did you mean \"Europe/Berlin\"?",
		"new york":              "did you mean \"America/New_York\"?",
		"utc":                   "did you mean \"UTC\"?",
		"":                      "",
		"Local":                 "",
		"Mars/Olympus_Mons":     "",
		"UTC\nUTC":              "",
		"Europe/Berlin\nEurope": "",
		"../Europe/Berlin":      "did you mean \"Europe/Berlin\"?",
	} {
		require.False(t, timezone.Known(bad), bad)
		if hint != "" {
			require.Equal(t, hint, zoneHint(bad), bad)
		}
	}
}
