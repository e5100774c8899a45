// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABuildIsToldFromOthers(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	built := func(version string, settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Version: version}}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	for name, c := range map[string]struct {
		info              *debug.BuildInfo
		version, revision string
		identity, says    string
	}{
		"by nothing at all":                           {built(""), "", "", "", "(devel)"},
		"by nothing, without .git":                    {built("(devel)"), "", "", "", "(devel)"},
		"by the version of a module":                  {built("v1.2.3"), "", "", "v1.2.3 ", "v1.2.3"},
		"by the commit of a checkout":                 {built("(devel)", "vcs.revision", commit), "", "", "(devel) " + commit, "(devel) " + commit},
		"not where the checkout is modified":          {built("(devel)", "vcs.revision", commit, "vcs.modified", "true"), "", "", "", "(devel) " + commit + " (modified)"},
		"by the commit that an image was given":       {built("(devel)"), "", commit, "(devel) " + commit, "(devel) " + commit},
		"by the commit and the version":               {built("(devel)"), "main", commit, "main " + commit, "main " + commit},
		"not by a version that an image was given":    {built("(devel)"), "main", "", "", "main"},
		"not by a commit of which git says -dirty":    {built("(devel)"), "main", commit + "-dirty", "", "main " + commit + " (modified)"},
		"by what the toolchain saw, and not was told": {built("(devel)", "vcs.revision", commit), "main", "other", "main " + commit, "main " + commit},
	} {
		t.Run(name, func(t *testing.T) {
			r := releaseOf(c.info, c.version, c.revision)
			require.Equal(t, c.identity, r.Identity())
			require.Equal(t, c.says, r.String())
			require.NotContains(t, r.Revision, dirty)
		})
	}
}
