// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build builds

package deploy

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheImageKnowsItsVersion builds both programs with the flags of the Dockerfile,
// without what .git tells. That takes a minute: make image.
func TestTheImageKnowsItsVersion(t *testing.T) {
	dockerfile := read(t, root+"/Dockerfile")
	builds := regexp.MustCompile(`(?s)go build (-[^"]*?) -ldflags "(.*?)" -o /(\S+) (\S+)`).FindAllStringSubmatch(dockerfile, -1)
	require.Len(t, builds, 3)
	binaries := map[string]string{}
	for _, m := range builds {
		flags := strings.NewReplacer("\\\n", "", "${VERSION}", "v9.8.7", "${REVISION}", "0123abcd").Replace(m[2])
		require.NotContains(t, flags, "$")
		binaries[m[3]] = filepath.Join(t.TempDir(), m[3])
		args := append([]string{"build", "-buildvcs=false"}, strings.Fields(m[1])...)
		args = append(args, "-ldflags", flags, "-o", binaries[m[3]], m[4])
		build := exec.CommandContext(t.Context(), "go", args...)
		build.Dir = root
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	var is struct{ Version, Revision string }
	require.NoError(t, json.Unmarshal([]byte(run(t, binaries["ropewalk"], "version", "--format", "json")), &is))
	require.Equal(t, "v9.8.7", is.Version)
	require.Equal(t, "0123abcd", is.Revision)
	require.Equal(t, "ropewalk-controller v9.8.7 0123abcd\n", run(t, binaries["ropewalk-controller"], "--version"))
	require.Equal(t, "ropewalk-components v9.8.7 0123abcd\n", run(t, binaries["ropewalk-components"], "--version"))

	// The guides give what the Dockerfile takes, and each stage sees it.
	require.Len(t, regexp.MustCompile(`(?m)^ARG VERSION REVISION$`).FindAllString(dockerfile, -1), 2)
	for _, text := range []string{strings.Join(fences(t, "sh"), ""), read(t, fluxFolder+"/README.md")} {
		require.Contains(t, text, "--build-arg VERSION=")
		require.Contains(t, text, "--build-arg REVISION=")
	}
}
