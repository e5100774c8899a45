// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"crypto/fips140"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFIPSIsRequiredOfTheBuildAndOfTheStart(t *testing.T) {
	module := func(v string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "-trimpath", Value: "true"}, {Key: "GOFIPS140", Value: v}}
	}
	require.NoError(t, requireFIPS(true, module("v1.0.0-c2097c7c")))
	require.ErrorContains(t, requireFIPS(false, module("v1.0.0-c2097c7c")), "GODEBUG=fips140=off")
	require.ErrorContains(t, requireFIPS(true, module("v1.26.0")), `module "v1.26.0", expected "v1.0.0-c2097c7c"`)
	require.ErrorContains(t, requireFIPS(true, module("latest")), `module "latest"`)
	require.ErrorContains(t, requireFIPS(true, nil), "GOFIPS140=certified")

	info, _ := debug.ReadBuildInfo()
	require.Equal(t, requireFIPS(fips140.Enabled(), info.Settings), RequireFIPS())
}
