// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRenovateFindsReferences runs the expressions of the guide over references as they are written.
// Renovate has RE2, as Go does.
func TestRenovateFindsReferences(t *testing.T) {
	_, block, found := strings.Cut(read(t, "../../docs/releases.md"), "```json renovate\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	var config struct {
		CustomManagers []struct {
			ManagerFilePatterns, MatchStrings []string
			DatasourceTemplate                string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(block), &config))
	digest := "sha256:" + strings.Repeat("0a", 32)
	for text, want := range map[string]string{
		"cueRef: {type: oci, ref: oci://ghcr.io/acme/web:v1.2.0}":                     "docker ghcr.io/acme/web v1.2.0 ",
		`cueRef: {type: oci, ref: "oci://localhost:5000/acme.example/web:v1.2.0"}`:    "docker localhost:5000/acme.example/web v1.2.0 ",
		"ref: 'oci://ghcr.io/acme/web:1.2.0-rc.1@" + digest + "'":                     "docker ghcr.io/acme/web 1.2.0-rc.1 " + digest,
		"ref: https://github.com/acme/modules.git?tag=v1.2.0":                         "git-tags https://github.com/acme/modules.git v1.2.0 ",
		`cueRef: {type: git, ref: "https://github.com/acme/modules?tag=v1.2.0//web"}`: "git-tags https://github.com/acme/modules v1.2.0 ",
		"ref: oci://ghcr.io/acme/web:latest":                                          "",
		"ref: oci://ghcr.io/acme/web@" + digest:                                       "",
		"ref: https://github.com/acme/modules?branch=main":                            "",
	} {
		got := ""
		for _, m := range config.CustomManagers {
			for _, pattern := range m.MatchStrings {
				r := regexp.MustCompile(pattern)
				groups := r.FindStringSubmatch(text)
				if groups == nil {
					continue
				}
				named := map[string]string{}
				for i, name := range r.SubexpNames() {
					named[name] = groups[i]
				}
				got += m.DatasourceTemplate + " " + named["depName"] + named["packageName"] + " " + named["currentValue"] + " " + named["currentDigest"]
			}
			for _, pattern := range m.ManagerFilePatterns {
				require.Regexp(t, strings.Trim(pattern, "/"), "shop/web.yaml")
			}
		}
		require.Equal(t, want, got, text)
	}
}
