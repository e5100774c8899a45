// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package units_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkPreviewOfUnits previews a repository of 200 Applications, half of them charts and half
// kustomizations, with one changed and with all changed. It runs the command that ROPEWALK_BIN names.
// The repository stays in the folder that ROPEWALK_FLEET names, for a look with /usr/bin/time -v.
func BenchmarkPreviewOfUnits(b *testing.B) {
	program := os.Getenv("ROPEWALK_BIN")
	if program == "" {
		b.Skip("ROPEWALK_BIN names no command")
	}
	for _, test := range []struct {
		name    string
		changed int
	}{{"one", 1}, {"all", 100}} {
		b.Run(test.name, func(b *testing.B) {
			dir := fleet(b, 100, test.changed)
			for b.Loop() {
				cmd := exec.Command(program, "preview", "HEAD", "-o", filepath.Join(b.TempDir(), "preview"))
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				require.NoError(b, err, "%s", out)
				b.ReportMetric(float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())/1e9, "cpu-s/op")
			}
		})
	}
}

// fleet writes a repository of two Applications for each number up to n, of which some are changed
// after the commit.
func fleet(b *testing.B, n, changed int) string {
	b.Helper()
	dir := b.TempDir()
	if at := os.Getenv("ROPEWALK_FLEET"); at != "" {
		dir = filepath.Join(at, fmt.Sprintf("changed-%d", changed))
	}
	write := func(name, text string) {
		at := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(b, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(b, os.WriteFile(at, []byte(text), 0o600))
	}
	workload := func(name, image string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + "}\nspec:\n  selector: {matchLabels: {app: " + name + "}}\n  template:\n" +
			"    metadata: {labels: {app: " + name + "}}\n    spec: {containers: [{name: web, image: \"" + image + "\"}]}\n---\n" +
			"apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {selector: {app: " + name + "}, ports: [{port: 80}]}\n"
	}
	for i := range n {
		for _, kind := range []string{"chart", "kustom"} {
			write(fmt.Sprintf("apps/%s-%d.yaml", kind, i), fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %[1]s-%[2]d, namespace: argocd}\n"+
				"spec:\n  project: default\n  destination: {namespace: %[1]s-%[2]d}\n  source: {repoURL: \"https://git.example.com/acme/fleet\", path: %[1]s/%[2]d}\n", kind, i))
		}
		write(fmt.Sprintf("chart/%d/Chart.yaml", i), "apiVersion: v2\nname: web\nversion: 1.0.0\n")
		write(fmt.Sprintf("chart/%d/values.yaml", i), "tag: \"1.27\"\n")
		write(fmt.Sprintf("chart/%d/templates/web.yaml", i), workload("{{ .Release.Name }}", "nginx:{{ .Values.tag }}"))
		write(fmt.Sprintf("kustom/%d/kustomization.yaml", i), "resources: [web.yaml]\nnamePrefix: k-\n")
		write(fmt.Sprintf("kustom/%d/web.yaml", i), workload("web", "nginx:1.27"))
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main", "."}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "one"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(b, err, "%s", out)
	}
	for i := range changed {
		write(fmt.Sprintf("chart/%d/values.yaml", i), "tag: \"1.28\"\n")
		if changed > 1 {
			write(fmt.Sprintf("kustom/%d/web.yaml", i), workload("web", "nginx:1.28"))
		}
	}
	return dir
}
