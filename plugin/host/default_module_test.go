// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/lock"
)

func TestAModuleThatNobodyWroteIsMissedAtTheFirstWorkload(t *testing.T) {
	h := host.Host{Fetchers: map[string]source.Fetcher{
		source.TypeEmbedded: lock.Fetcher{Next: lock.Fixed(source.Embedded(embedded, source.Limits{})), Mode: lock.Enforce},
	}}
	dir := write(t, "shop/web.yaml", "# A comment.\napiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {web: {image: a}}\n")
	_, err := h.Load(t.Context(), host.Options{Dir: dir, Args: []string{"shop"}})
	const asked = `run "ropewalk lock" (every workload needs this embedded module, which is locked like any other: run it in the rendered folder)`
	require.EqualError(t, err, `shop/web.yaml:2:1: resolve: embedded "provisioners": not in ropewalk.lock: `+asked+"\n"+
		`shop/web.yaml:2:1: resolve: embedded "workload": not in ropewalk.lock: `+asked)
}
