// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bench

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAYardstickIsBuiltAsMakeBuildsIt(t *testing.T) {
	cases := []struct {
		name     string
		settings []debug.BuildSetting
		want     string
	}{
		{"static", []debug.BuildSetting{{Key: "-trimpath", Value: "true"}, {Key: "CGO_ENABLED", Value: "0"}}, ""},
		{"with cgo", []debug.BuildSetting{{Key: "CGO_ENABLED", Value: "1"}}, "was built with cgo"},
		{"with the race detector", []debug.BuildSetting{{Key: "-race", Value: "true"}}, "was built with the race detector"},
		{"by who does not say how", nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, unfair(&debug.BuildInfo{Settings: c.settings}))
		})
	}
}
