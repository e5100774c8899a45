// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"testing"
	"time"
	_ "time/tzdata" // for a machine without them

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// at returns a time of November 2026, whose 2nd is a Monday.
func at(text string) time.Time {
	t, err := time.Parse("2 15:04", text)
	if err != nil {
		panic(err)
	}
	return t.AddDate(2026, 10, 0)
}

func allow(schedule string, d time.Duration, zone string) v1alpha1.Window {
	return v1alpha1.Window{Kind: v1alpha1.WindowAllow, Schedule: schedule, Duration: metav1.Duration{Duration: d}, TimeZone: zone}
}

func deny(schedule string, d time.Duration) v1alpha1.Window {
	return v1alpha1.Window{Kind: v1alpha1.WindowDeny, Schedule: schedule, Duration: metav1.Duration{Duration: d}}
}

func TestADeliveryBeginsInAnAllowWindowAndInNoDenyWindow(t *testing.T) {
	workdays := allow("0 9 * * 1-5", 8*time.Hour, "")
	for name, is := range map[string]struct {
		windows []v1alpha1.Window
		now     time.Time
		opens   time.Time
	}{
		"no window":                           {nil, at("7 12:00"), at("7 12:00")},
		"in the window":                       {[]v1alpha1.Window{workdays}, at("2 12:00"), at("2 12:00")},
		"at its opening":                      {[]v1alpha1.Window{workdays}, at("2 09:00"), at("2 09:00")},
		"a second before":                     {[]v1alpha1.Window{workdays}, at("2 09:00").Add(-time.Second), at("2 09:00")},
		"at its end":                          {[]v1alpha1.Window{workdays}, at("2 17:00"), at("3 09:00")},
		"on a Saturday":                       {[]v1alpha1.Window{workdays}, at("7 12:00"), at("9 09:00")},
		"in winter, in Berlin":                {[]v1alpha1.Window{allow("0 9 * * 1-5", time.Hour, "Europe/Berlin")}, at("2 07:00"), at("2 08:00")},
		"one of two":                          {[]v1alpha1.Window{workdays, allow("0 20 * * *", time.Hour, "")}, at("7 20:30"), at("7 20:30")},
		"a freeze alone":                      {[]v1alpha1.Window{deny("0 0 20 * *", 48*time.Hour)}, at("21 12:00"), at("22 00:00")},
		"a freeze wins":                       {[]v1alpha1.Window{workdays, deny("0 12 2 11 *", time.Hour)}, at("2 12:30"), at("2 13:00")},
		"a freeze to the end of the day":      {[]v1alpha1.Window{workdays, deny("0 12 2 11 *", 24*time.Hour)}, at("2 12:30"), at("3 12:00")},
		"a window that opens while it is":     {[]v1alpha1.Window{deny("0 0,6,12 * * *", 10*time.Hour)}, at("2 13:00"), at("2 22:00")},
		"a window that is longer than a week": {[]v1alpha1.Window{allow("0 0 1 11 *", 20*24*time.Hour, "")}, at("20 12:00"), at("20 12:00")},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := Parse(is.windows)
			require.NoError(t, err)
			opens, ok := all.Opens(is.now)
			require.True(t, ok)
			require.Equal(t, is.opens.String(), opens.UTC().String())
			require.Equal(t, is.opens.Equal(is.now), all.Open(is.now))
		})
	}
}

// TestATimeZoneHasItsSummerTime: nine in Berlin is seven in summer and eight in winter.
func TestATimeZoneHasItsSummerTime(t *testing.T) {
	all, err := Parse([]v1alpha1.Window{allow("0 9 * * *", time.Hour, "Europe/Berlin")})
	require.NoError(t, err)
	for month, hour := range map[time.Month]int{time.July: 7, time.December: 8} {
		opens, ok := all.Opens(time.Date(2026, month, 1, 0, 0, 0, 0, time.UTC))
		require.True(t, ok)
		require.Equal(t, hour, opens.UTC().Hour())
	}
}

func TestWhatNeverOpensCannotBeForeseen(t *testing.T) {
	all, err := Parse([]v1alpha1.Window{deny("0 0 * * *", 25*time.Hour)})
	require.NoError(t, err)
	_, ok := all.Opens(at("2 12:00"))
	require.False(t, ok)
}

func TestMistakesOfWindowsNameTheirField(t *testing.T) {
	for want, w := range map[string]v1alpha1.Window{
		`spec.delivery.windows[0].schedule: expected five fields of cron`:                             allow("0 9 * *", time.Hour, ""),
		`spec.delivery.windows[0].schedule: expected five fields of cron (minute, hour`:               allow("61 9 * * *", time.Hour, ""),
		`spec.delivery.windows[0].schedule: no day is "0 0 30 2 *"`:                                   allow("0 0 30 2 *", time.Hour, ""),
		`and the time zone in timeZone`:                                                               allow("TZ=UTC 0 9 * * *", time.Hour, ""),
		`spec.delivery.windows[0].duration: expected 1m to 8784h, got 1s`:                             allow("0 9 * * *", time.Second, ""),
		`spec.delivery.windows[0].timeZone: "Europe/Berln" is no time zone, such as Europe/Berlin: d`: allow("0 9 * * *", time.Hour, "Europe/Berln"),
		`timeZone: "Local" is no time zone`:                                                           allow("0 9 * * *", time.Hour, "Local"),
		`spec.delivery.windows[0].kind: expected Allow or Deny, got "allow"`:                          {Kind: "allow", Schedule: "0 9 * * *", Duration: metav1.Duration{Duration: time.Hour}},
	} {
		_, err := Parse([]v1alpha1.Window{w})
		require.ErrorContains(t, err, want)
	}
	_, err := Parse([]v1alpha1.Window{allow("x", time.Hour, ""), allow("0 9 * * *", 0, "x")})
	require.ErrorContains(t, err, "windows[0].schedule")
	require.ErrorContains(t, err, "windows[1].duration")
	require.ErrorContains(t, err, "windows[1].timeZone")
}
