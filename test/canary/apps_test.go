// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnAppsFileShowsNoSecret renders an apps.yaml whose secrets are there in the cluster's
// Secrets beside it, and one of which an env file has the values, with every field wrong
// that may show one.
func TestAnAppsFileShowsNoSecret(t *testing.T) {
	t.Parallel()
	binary, l := install(t), newLeaks()
	value := head + "-" + tail
	const project = "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec:\n  specs: [apps.yaml]\n  workloads:\n    envFiles: [local.env]\n" +
		"    config: {apps: {queue: {resource: {type: redis, id: shared}}}}\n    secrets: {store: {name: gcp}, providers: {gcp: {}}}\n"
	const app = "apps:\n- name: web\n  scaling: {type: keda-queue, queue_name: jobs, max_instances: 3}\n  environment:\n    TOKEN: {secret: token, key: TOKEN}\n"
	const gateway = "gateway:\n  provider: traefik\n  routes: [{path: /, service: \"web.default:80\", auth: {type: basic, secret: users}}]\n"
	for name, c := range map[string]struct {
		apps string
		good bool
		args []string
	}{
		"a store":                    {app + gateway, true, []string{"--env", "gcp"}},
		"Secrets of the namespace":   {app + gateway, true, []string{"--env", "local"}},
		"a variable where it cannot": {app + "    LOG: \"${TOKEN}\"\n  scalings: ${TOKEN}\n" + gateway, false, nil},
		"an address with a login":    {app + gateway + "  rate_limit: {requests_per_second: \"redis://a:SECRET@h\"}\n", false, nil},
		"a secret where a name is":   {strings.Replace(app, "secret: token", "secret: \"SECRET\", local: SECRET", 1) + gateway, false, nil},
		"a provider of that name":    {strings.Replace(app, "secret: token", "password: SECRET", 1) + gateway, false, nil},
		"a file that is open":        {app + "    PASSWORD: \"SECRET\n", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, map[string]string{
				"ropewalk.yaml": project, "local.env": "TOKEN=" + value + "\n", "apps.yaml": strings.ReplaceAll(c.apps, "SECRET", value),
				"secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData: {TOKEN: \"" + value + "\"}\n",
			})
			for _, command := range [][]string{{"render"}, {"render", "--format", "json"}, {"vet"}, {"graph"}, {"render", "--dialect", "argocd", "-o", "out"}} {
				args := append(append(command, "--image", "web=example.com/web:1"), c.args...)
				cmd := exec.CommandContext(t.Context(), binary, args...) //nolint:gosec // it is ours
				cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
				out, _ := cmd.CombinedOutput()
				require.Equal(t, c.good, cmd.ProcessState.ExitCode() == 0, "%v: %s", args, out)
				l.Require(t, strings.Join(args, " "), out)
			}
			if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
				checkTree(t, l, filepath.Join(dir, "out"))
			}
		})
	}
}
