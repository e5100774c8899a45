// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

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

// TestTheImageKnowsItsVersion builds the command with the flags of the Dockerfile,
// without what .git tells.
func TestTheImageKnowsItsVersion(t *testing.T) {
	dockerfile := read(t, root+"/Dockerfile")
	m := regexp.MustCompile(`(?s)go build (-.*?) -ldflags "(.*?)"`).FindStringSubmatch(dockerfile)
	require.NotNil(t, m)
	flags := strings.NewReplacer("\\\n", "", "${VERSION}", "v9.8.7", "${REVISION}", "0123abcd").Replace(m[2])
	require.NotContains(t, flags, "$")
	binary := filepath.Join(t.TempDir(), "ropewalk")
	args := append([]string{"build", "-buildvcs=false"}, strings.Fields(m[1])...)
	args = append(args, "-ldflags", flags, "-o", binary, "github.com/ropewalk/ropewalk/cmd/ropewalk")
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)

	var is struct{ Version, Revision string }
	require.NoError(t, json.Unmarshal([]byte(run(t, binary, "version", "--format", "json")), &is))
	require.Equal(t, "v9.8.7", is.Version)
	require.Equal(t, "0123abcd", is.Revision)

	// The guide gives what the Dockerfile takes, and each stage sees it.
	require.Len(t, regexp.MustCompile(`(?m)^ARG VERSION REVISION$`).FindAllString(dockerfile, -1), 2)
	commands := strings.Join(fences(t, "sh"), "")
	require.Contains(t, commands, "--build-arg VERSION=")
	require.Contains(t, commands, "--build-arg REVISION=")
}
