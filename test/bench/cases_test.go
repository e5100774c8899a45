// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkFiftyCases measures test and vet of a module with fifty cases against one render of
// one of them with nothing cached. It promises cpu/render of at most 3 for a small module: it
// is compiled once, and a fill of it costs less than the start of the process does. Of our
// largest module, a fill is a tenth of a render.
func BenchmarkFiftyCases(b *testing.B) {
	p := find(b)
	for name, from := range map[string]string{
		"small": "../../cue/template/modules/hello", "large": "../../cue/modules/webservice",
	} {
		dir := b.TempDir()
		require.NoError(b, os.CopyFS(dir, os.DirFS(from)))
		require.NoError(b, os.RemoveAll(filepath.Join(dir, "test")))
		require.NoError(b, os.Mkdir(filepath.Join(dir, "test"), 0o750))
		for i := range 50 {
			input := fmt.Sprintf("greeting: hello %d", i)
			if name == "large" {
				input = fmt.Sprintf("image: \"registry.example/web:1.%d\", ports: {http: {port: 8080}}, env: {LEVEL: debug}", i)
			}
			text := "input: {" + input + "}\nexpect:\n  objects: [{apiVersion: v1, kind: " + map[string]string{"small": "ConfigMap", "large": "Service"}[name] + ", metadata: {name: app}}]\n"
			require.NoError(b, os.WriteFile(filepath.Join(dir, "test", fmt.Sprintf("c%02d.yaml", i)), []byte(text), 0o600))
		}
		one := []string{"render", ".", "--set", "greeting=hello"}
		if name == "large" {
			one = []string{"render", ".", "--set", "image=registry.example/web:1", "--set", "ports.http.port=8080", "--set", "env.LEVEL=debug"}
		}
		for _, command := range []string{"test", "vet"} {
			b.Run(name+"/"+command, func(b *testing.B) {
				var ours, render costs
				for b.Loop() {
					render = append(render, run(b, dir, nil, p.ropewalk, one...))
					ours = append(ours, run(b, dir, nil, p.ropewalk, "module", command))
				}
				for what, of := range map[string]func(cost) float64{"cpu": cpu, "wall": wall} {
					b.ReportMetric(ours.median(of)/render.median(of), what+"/render")
				}
				b.ReportMetric(ours.median(cpu), "cpu-ms")
			})
		}
	}
}
