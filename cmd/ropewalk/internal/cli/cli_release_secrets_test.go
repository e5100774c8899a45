// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/base64"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/test/servers"
)

// Credentials of registries are in no plan, document, report, message or cache of a release.
func TestAReleaseShowsNoCredentials(t *testing.T) {
	const user, password = "robot", "canary-3c9a51"
	r := newReleases(t)
	r.from, r.to = servers.InProcess(t, servers.WithBasicAuth(user, password)), servers.Registry(t, servers.WithBasicAuth(user, password))
	r.plainHTTP = []string{"--plain-http", r.from.Host, "--plain-http", r.to.Host}
	login := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"),
		[]byte(`{"auths": {"`+r.from.Host+`": {"auth": "`+login+`"}, "`+r.to.Host+`": {"auth": "`+login+`"}}}`), 0o600))
	var shown strings.Builder
	run := func(want int, args ...string) {
		code, out, diagnostics := call(t, r.with(args...)...)
		require.Equal(t, want, code, diagnostics)
		shown.WriteString(out + diagnostics)
	}
	plan, out := r.path("plan.yaml"), r.path("out")
	run(0, "build", r.path("app"), "--dialect", "flux", "--to", "oci://"+r.from.Host+"/build/app:v1", "--namespace-at-deploy", "--plan", plan)
	run(0, "build", plan, "--sign-key", r.path("release.key"))
	berlin := r.installation("berlin", "flux", "app")
	run(0, "artifact", "sync", berlin)
	run(0, "artifact", "sync", berlin, "--check", "--format", "json")
	run(0, "deploy", berlin, "-o", out)
	r.to.Fault(servers.Always(servers.Answer(http.StatusForbidden, "DENIED", "no")))
	run(command.Environment, "artifact", "sync", r.installation("paris", "flux", "app"))
	run(command.Environment, "deploy", berlin)
	r.to.Fault(nil)

	forms := []string{password, login, base64.StdEncoding.EncodeToString([]byte(password))}
	for _, form := range forms {
		require.NotContains(t, shown.String(), form)
	}
	for _, dir := range []string{r.dir, os.Getenv("HOME")} {
		require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "config.json" {
				return err
			}
			data, err := os.ReadFile(name)
			for _, form := range forms {
				require.NotContains(t, string(data), form, name)
			}
			return err
		}))
	}
}
