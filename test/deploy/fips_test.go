// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build builds

package deploy

import (
	"context"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAControllerOfTheValidatedModule builds the controller with the flags of the Dockerfile,
// with the module and without. That takes minutes: make fips.
func TestAControllerOfTheValidatedModule(t *testing.T) {
	dockerfile := read(t, root+"/Dockerfile")
	require.Contains(t, dockerfile, "\nARG GOFIPS140=off\n")
	flags := regexp.MustCompile(`go build (-[^"]*?) -ldflags`).FindStringSubmatch(dockerfile)
	require.NotNil(t, flags)
	built := func(module string) (binary string, settings map[string]string) {
		binary = filepath.Join(t.TempDir(), "ropewalk-controller")
		build := exec.CommandContext(t.Context(), "go", append(append([]string{"build"}, strings.Fields(flags[1])...), "-o", binary, "./cmd/ropewalk-controller")...) //nolint:gosec // of the Dockerfile
		build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOFIPS140="+module)
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
		info, err := buildinfo.ReadFile(binary)
		require.NoError(t, err)
		settings = map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		return binary, settings
	}
	// ends is why it ends where FIPS is required; there is no cluster either.
	ends := func(binary string, environment ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, binary, "--require-fips")
		c.Env = append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, environment...)
		out, err := c.CombinedOutput()
		require.Error(t, err)
		t.Logf("%s %q: %s", filepath.Base(binary), environment, out)
		return string(out)
	}

	binary, settings := built("certified")
	require.Equal(t, "v1.0.0-c2097c7c", settings["GOFIPS140"])
	require.Contains(t, settings["DefaultGODEBUG"], "fips140=on")
	t.Logf("build	GOFIPS140=%s; build	DefaultGODEBUG=%s", settings["GOFIPS140"], settings["DefaultGODEBUG"])
	for _, environment := range []string{"GODEBUG=", "GODEBUG=fips140=only"} {
		require.NotContains(t, ends(binary, environment), "--require-fips", "it goes on, and finds no cluster")
		require.Contains(t, ends(binary, environment), "KUBECONFIG")
	}
	require.Contains(t, ends(binary, "GODEBUG=fips140=off"), "--require-fips: fips: FIPS mode is off: start the program without GODEBUG=fips140=off")

	binary, settings = built("off")
	require.NotContains(t, settings, "GOFIPS140")
	require.Contains(t, ends(binary), "--require-fips: fips: the program is built without a FIPS module: build it with GOFIPS140=certified")
	require.Contains(t, ends(binary, "GODEBUG=fips140=on"), "--require-fips: fips: the program is built without a FIPS module")
}
