// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/component/helm"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// program builds a program and returns its path.
func program(t testing.TB, dir, name string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(name))
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", out, name)
	build.Dir = dir
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return out
}

// charts are the chart of the tests, and the folders in ROPEWALK_CHARTS; FOLDER.values.yaml
// has the values of one.
func charts() []string {
	return append([]string{"../../render/component/helm/testdata/shop"}, strings.Fields(os.Getenv("ROPEWALK_CHARTS"))...)
}

func template(t testing.TB, program, chart string) *exec.Cmd {
	t.Helper()
	args := []string{"template", "shop", chart, "--include-crds", "--namespace", "apps", "--kube-version", "1.33"}
	if _, err := os.Stat(chart + ".values.yaml"); err == nil {
		args = append(args, "--values", chart+".values.yaml")
	}
	return exec.CommandContext(t.Context(), program, args...) //nolint:gosec // of the test
}

func values(t testing.TB, chart string) []helm.Values {
	t.Helper()
	data, err := os.ReadFile(chart + ".values.yaml")
	if err != nil {
		return nil
	}
	v, err := helm.ReadValues("values.yaml", data)
	require.NoError(t, err)
	return []helm.Values{v}
}

// TestChartsAreThoseOfHelm compares the objects of charts with those of helm template, as
// JSON: only hooks that nothing runs are left out, and the annotations of the others.
func TestChartsAreThoseOfHelm(t *testing.T) {
	real := program(t, ".", "helm.sh/helm/v4/cmd/helm")
	for _, chart := range charts() {
		t.Run(filepath.Base(chart), func(t *testing.T) {
			out, err := helm.Template(t.Context(), os.DirFS(chart), ".", helm.Options{
				ReleaseName: "shop", Namespace: "apps", KubeVersion: "1.33", Values: values(t, chart),
			})
			require.NoError(t, err)
			text, err := template(t, real, chart).Output()
			require.NoError(t, err)
			want, got := map[string]int{}, map[string]int{}
			for _, doc := range regexp.MustCompile(`(?m)^---[ \t]*`).Split(string(text), -1) {
				o := object.Object{}
				require.NoError(t, yaml.Unmarshal([]byte(doc), &o))
				hook := o.Annotations()["helm.sh/hook"]
				if len(o) == 0 || hook != "" && !strings.Contains(hook, "install") && !strings.Contains(hook, "upgrade") {
					continue
				}
				notes := o.Map("metadata", "annotations")
				for name := range notes {
					if strings.HasPrefix(name, "helm.sh/hook") {
						delete(notes, name)
					}
				}
				if hook != "" && len(notes) == 0 {
					delete(o.Map("metadata"), "annotations")
				}
				want[inJSON(t, o)]++
			}
			for _, o := range out.Objects {
				got[inJSON(t, o.Object)]++
			}
			require.Equal(t, want, got)
		})
	}
}

func inJSON(t *testing.T, o object.Object) string {
	t.Helper()
	data, err := json.Marshal(o)
	require.NoError(t, err)
	var plain any
	require.NoError(t, json.Unmarshal(data, &plain))
	data, err = json.Marshal(plain)
	require.NoError(t, err)
	return string(data)
}

// children is what ended processes have computed.
func children(t testing.TB) time.Duration {
	t.Helper()
	var r syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkFiftyCharts renders fifty charts by a pool, its start included, and by fifty runs
// of helm template; times are those of processors.
func BenchmarkFiftyCharts(b *testing.B) {
	const charts50 = 50
	all := charts()
	real, ours := program(b, ".", "helm.sh/helm/v4/cmd/helm"), program(b, "../..", "./cmd/ropewalk-components")
	var helms, pools time.Duration
	for range b.N {
		began := children(b)
		for i := range charts50 {
			_, err := template(b, real, all[i%len(all)]).Output()
			require.NoError(b, err)
		}
		helms += children(b) - began
		began = children(b)
		pool, err := worker.NewPool(worker.Options{Command: []string{ours, worker.Arg}, Release: "(devel)", Size: 1, Memory: 512 << 20, Timeout: time.Minute})
		require.NoError(b, err)
		for i := range charts50 {
			chart := all[i%len(all)]
			merged := object.Value{}
			for _, v := range values(b, chart) {
				merged = merged.Merge(v.Places)
			}
			_, err := pool.Evaluate(context.Background(), evaluate.Request{
				Spec: "shop", Context: object.Context{Namespace: "apps", KubeVersion: "1.33"},
				Module:    evaluate.Module{FS: os.DirFS(chart), Digest: fmt.Sprint(i), Dir: "."},
				Operation: evaluate.OpBuild, Component: &spec.Component{Helm: &spec.Helm{Chart: spec.Text{Text: "."}, Values: merged}},
			})
			require.NoError(b, err)
		}
		b.ReportMetric(float64(pool.Stats().LiveHeap)/(1<<20), "MiB-live")
		require.NoError(b, pool.Close())
		b.ReportMetric(float64(pool.Stats().PeakMemory)/(1<<20), "MiB-peak")
		pools += children(b) - began
	}
	b.ReportMetric(float64(pools)/float64(helms), "x-of-helm")
	b.ReportMetric(float64(helms.Milliseconds())/float64(b.N), "helm-ms")
	b.ReportMetric(float64(pools.Milliseconds())/float64(b.N), "pool-ms")
}
