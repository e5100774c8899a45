// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check/schemas"
)

func TestEveryComponentIsThereAndCanBeRead(t *testing.T) {
	last := ""
	for line := range strings.Lines(schemas.Components()) {
		name, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		require.True(t, ok)
		require.Less(t, last, name, "the lines are sorted")
		last = name
		found, ok := findLine(schemas.Components(), name)
		require.True(t, ok, name)
		require.Equal(t, text, found)
		require.True(t, json.Valid([]byte(text)), name)
		s, err := parseSchema(text)
		require.NoError(t, err, name)
		requireRefs(t, s)
	}
	for apiVersion, kind := range eachBuiltIn {
		info, ok := LookupKind(apiVersion, kind)
		require.True(t, ok)
		_, ok = findLine(schemas.Components(), info.component)
		require.True(t, ok, info.component)
	}
	for _, absent := range []string{"", "a", "core.v1", "core.v1.Pods", "zzz"} {
		_, ok := findLine(schemas.Components(), absent)
		require.False(t, ok, absent)
	}
	_, ok := LookupKind("v1", "Po")
	require.False(t, ok)
}

func requireRefs(t *testing.T, s *schema) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		_, ok := findLine(schemas.Components(), s.Ref)
		require.True(t, ok, s.Ref)
	}
	requireRefs(t, s.Items)
	requireRefs(t, s.Values)
	for _, p := range s.Properties {
		requireRefs(t, p)
	}
}

func TestWhatIsNoSchemaIsRefused(t *testing.T) {
	for _, text := range []string{"", "{", "{}x", "[]", `{"type"}`, `{"type":1}`, `{"type":"a`, `{"type":"a\"}`, `{"other":"a"}`, `{"enum":["a"}`, `{"props":{"a":[]}}`, `{"struct":false}`, `{"type":"a",,}`} {
		_, err := parseSchema(text)
		require.ErrorIs(t, err, errSchemaText, text)
	}
}

// FuzzParseSchema reads any text without panic.
func FuzzParseSchema(f *testing.F) {
	f.Add(`{"type":"object","props":{"a":{"ref":"b","struct":true}},"required":["a"]}`)
	f.Fuzz(func(_ *testing.T, text string) { _, _ = parseSchema(text) })
}

func TestSchedules(t *testing.T) {
	for _, good := range []string{"* * * * *", "*/5 0-23/2 1,15 jan-DEC Sun,6", "? ? ? ? ?", "*-5 * * * *", "1,,2 * * * *", "@daily", "@every 1h30m", "0 0 * * 0"} {
		require.Empty(t, cronProblem(good), good)
	}
	for _, bad := range []string{"", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7", "5-1 * * * *", "*/0 * * * *", "a * * * *", "* * * janx *", "@often", "@every soon", "CRON_TZ=UTC * * * * *", "TZ=", "TZ=0"} {
		require.NotEmpty(t, cronProblem(bad), bad)
	}
}
