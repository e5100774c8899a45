// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host"
)

// The message names the beginning of the argument, and nothing behind the sign.
func TestARuntimeValueWithoutANameIsRefused(t *testing.T) {
	dir := repository(t, "web.yaml", transform("web", "{type: embedded, ref: web}"))
	_, errs := load(dir, host.Options{Args: []string{"."}, Runtime: []string{"to ken=secret"}})
	require.Contains(t, errs, `--runtime: spec: what begins with "to" is not a name: expected NAME=VALUE or FILE`)
}
