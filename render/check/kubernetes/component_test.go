// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // for a Go without the file

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/timezone"
	"github.com/ropewalk/ropewalk/render/check/schemas"
)

func TestEveryComponentIsThereAndCanBeRead(t *testing.T) {
	components := map[string]*schema{}
	for line := range strings.Lines(schemas.Components()) {
		name, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		require.True(t, ok)
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		s := &schema{}
		require.NoError(t, d.Decode(s), name)
		components[name] = s
	}
	for name, s := range components {
		requireRefs(t, components, name, s)
	}
	for apiVersion, kind := range eachBuiltIn {
		info, ok := LookupKind(apiVersion, kind)
		require.True(t, ok)
		require.Contains(t, components, info.component)
	}
	_, ok := LookupKind("v1", "Po")
	require.False(t, ok)
}

func requireRefs(t *testing.T, components map[string]*schema, name string, s *schema) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		require.Contains(t, components, s.Ref, name)
	}
	for _, check := range s.Checks {
		require.NotNil(t, checkFor(check), "%s: %s", name, check)
	}
	require.False(t, s.Max != nil && s.Min == nil, "%s: no bound below", name)
	requireRefs(t, components, name, s.Items)
	requireRefs(t, components, name, s.Values)
	for _, p := range s.Properties {
		require.Nil(t, p.Properties, "only components have members: %s", name)
		requireRefs(t, components, name, p)
	}
}

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

// TestTimeZonesAreThoseOfGo fails where a new Go brings other names: run test/schemas.
func TestTimeZonesAreThoseOfGo(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	r, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib/time/zoneinfo.zip"))
	if errors.Is(err, fs.ErrNotExist) {
		// Some distributions of Go lack the file; the names must be known all the same.
		for _, name := range timezone.Names() {
			_, err := time.LoadLocation(name)
			require.NoError(t, err)
		}
		return
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	var names []string
	for _, f := range r.File {
		if !f.FileInfo().IsDir() {
			names = append(names, f.Name)
		}
	}
	require.ElementsMatch(t, names, timezone.Names())
}
