// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkPreview promises x-of-head of at most 1.5: the preview of a change of one of 200
// specs in three environments against rendering the head of these alone. Against diff,
// which renders both sides of each, it takes about half.
func BenchmarkPreview(b *testing.B) {
	p := find(b)
	environments := []string{"dev", "prod", "staging"}
	dir := b.TempDir()
	write := func(name, text string) {
		require.NoError(b, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	project := "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: many}\nspec:\n  environments:\n"
	for _, e := range environments {
		project += fmt.Sprintf("    %s: {context: {namespace: many-%s}}\n", e, e)
	}
	write("ropewalk.yaml", project)
	for i := range 200 {
		write(fmt.Sprintf("w%04d.yaml", i), workload(i, false))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "one"}} {
		git := exec.Command("git", args...) //nolint:gosec // the arguments are those above
		git.Dir = dir
		out, err := git.CombinedOutput()
		require.NoError(b, err, "%s", out)
	}
	write("w0100.yaml", strings.Replace(workload(100, false), ":1.0.100", ":1.1.0", 1))
	path := []string{"PATH=" + os.Getenv("PATH")}
	var previews, heads, diffs costs
	sum := func(command func(environment string) cost) (all cost) {
		for _, e := range environments {
			c := command(e)
			all.cpu += c.cpu
			all.wall += c.wall
			all.peak = max(all.peak, c.peak)
		}
		return all
	}
	for b.Loop() {
		previews = append(previews, run(b, dir, path, p.ropewalk, "preview", "HEAD", "-o", filepath.Join(b.TempDir(), "out")))
		heads = append(heads, sum(func(e string) cost { return run(b, dir, path, p.ropewalk, "render", "--env", e) }))
		diffs = append(diffs, sum(func(e string) cost {
			return run(b, dir, path, "sh", "-c", `"$0" diff HEAD . --env "$1" || [ $? = 4 ]`, p.ropewalk, e)
		}))
	}
	b.ReportMetric(previews.median(cpu), "cpu-ms")
	b.ReportMetric(previews.median(peak), "peak-MiB")
	b.ReportMetric(previews.median(cpu)/heads.median(cpu), "x-of-head")
	b.ReportMetric(previews.median(cpu)/diffs.median(cpu), "x-of-diff")
}
