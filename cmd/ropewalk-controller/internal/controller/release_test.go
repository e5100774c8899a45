// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyABuildThatCanBeToldFromOthersHasAnIdentity(t *testing.T) {
	settings := func(pairs ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(pairs); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return info
	}
	module := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}
	for name, c := range map[string]struct {
		info              *debug.BuildInfo
		version, revision string
		identity, says    string
	}{
		"a checkout":                      {settings("vcs.revision", "abc"), "", "", "(devel) abc", "(devel) abc"},
		"a checkout with changes":         {settings("vcs.revision", "abc", "vcs.modified", "true"), "", "", "", "(devel) abc (modified)"},
		"an image":                        {settings(), "v1", "abc", "v1 abc", "v1 abc"},
		"an image of a tree with changes": {settings(), "v1", "abc-dirty", "", "v1 abc (modified)"},
		"an image of who knows what":      {settings(), "main", "", "", "main"},
		"a module":                        {module, "", "", "v1.2.3 ", "v1.2.3"},
		"nothing at all":                  {settings(), "", "", "", "(devel)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := releaseOf(c.info, c.version, c.revision)
			require.Equal(t, c.identity, r.identity())
			require.Equal(t, c.says, r.String())
		})
	}
}
