// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// custom reports whether an object is none of a built-in kind.
func custom(object string) bool {
	group, _, _ := strings.Cut(object, "/")
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") ||
		strings.HasPrefix(object, "gateway.networking.k8s.io/")
}

// TestTheServerTakesEveryObjectOfEveryExample renders the examples by the
// command, as a user would, and hands every object to the server's validation.
func TestTheServerTakesEveryObjectOfEveryExample(t *testing.T) {
	command := filepath.Join(t.TempDir(), "ropewalk")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", command, "./cmd/ropewalk")
	build.Dir = "../.."
	build.Stderr = os.Stderr
	require.NoError(t, build.Run())
	projects := [][]string{
		{"shop"}, {"environments"}, {"environments", "--env", "staging"}, {"environments", "--env", "prod"},
		{"workloads"}, {"workloads", "--env", "dev"}, {"workloads", "--env", "prod"},
		{"../../render/workload/score/testdata/corpus/onlineboutique"},
	}
	for _, environment := range []string{"local", "dev", "gcp"} {
		projects = append(projects, []string{"apps", "--env", environment, "--image", "api-server=example.com/api:1", "--image", "report=example.com/report:1"})
	}
	for _, target := range []string{"haproxytech", "jcmoraisjr", "traefik", "gateway-api", "envoy-gateway"} {
		for _, environment := range []string{"local", "dev", "prod"} {
			projects = append(projects, []string{"orders", "--env", environment, "--values", "gateway:orders/targets/" + target + ".yaml"})
		}
	}
	for _, args := range projects {
		for _, dialect := range []string{"plain", "argocd", "flux"} {
			render := exec.CommandContext(t.Context(), command, append([]string{"render", "--dialect", dialect}, args...)...)
			render.Dir = "../../cue/examples"
			render.Stderr = os.Stderr
			manifests, err := render.Output()
			require.NoError(t, err, args)
			verdicts := NewJudge().Stream(args[0], manifests)
			require.NotEmpty(t, verdicts)
			for _, v := range verdicts {
				// Custom resources are for our own check; the workloads have some.
				require.Equal(t, custom(v.Object), v.Skipped, v.Object)
				require.False(t, v.Refused, "%s: %v", v.Object, v.Causes)
			}
		}
	}
}
