// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// request is what every way is asked for.
type request struct {
	// repository is the name of one, and dir the folder of a project in it.
	repository, dir string
	// environment is "" for none, and dialect one of emit.
	environment, dialect string
	// values are files, relative to dir, and set is values, as the flags take them.
	values, set []string
	// namespace and kubeVersion are those of the cluster; "" is not said.
	namespace, kubeVersion string
	// bare says that the folder holds no document of ours, and is a module itself.
	bare bool
	// what is said of the case in its name.
	what string
}

func (r request) name() string {
	parts := []string{r.dir, r.environment, r.what, r.dialect}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

// Repositories that requests are about.
const (
	examples = "examples"
	projects = "projects"
)

// requests are the cases: every example that renders, as its users would, and what
// the examples lack.
func requests() []request {
	var out []request
	for _, dialect := range []string{"plain", "argocd", "flux"} {
		for _, r := range []request{
			{repository: examples, dir: "shop"},
			{repository: examples, dir: "environments", environment: "staging"},
			{repository: examples, dir: "environments", environment: "prod"},
			{repository: examples, dir: "workloads"},
			{repository: examples, dir: "workloads", environment: "dev"},
			{repository: examples, dir: "workloads", environment: "prod"},
			{repository: projects, dir: "secrets"},
			{repository: projects, dir: "plain", environment: "prod"},
		} {
			r.dialect = dialect
			out = append(out, r)
		}
	}
	shop := []string{"storefront:autoscaling.max=12", `storefront:ingress.hosts=["a.example", "b.example"]`, "catalog:env.NOTE=a: b=c"}
	for _, r := range []request{
		{dir: "plain"},
		{dir: "timoni"},
		{dir: "timoni/module", bare: true, set: []string{"replicas=3"}},
		{dir: "shared/web", bare: true, set: []string{"name=web", "tag=1.29-alpine"}},
		{dir: "timoni", what: "set", set: []string{"replicas=5", "image=registry.example/app:2.0"}},
		{dir: "plain", what: "files of values", values: []string{"values/more.yaml", "web:values/web.yaml"}},
		{
			dir: "plain", what: "environment, values and set", environment: "prod", values: []string{"values/more.yaml"},
			set: []string{"web:replicas=7", `api:notes["a.example"]=x y`},
		},
		{dir: "plain", what: "namespace and version of the cluster", namespace: "other", kubeVersion: "1.34"},
		{repository: examples, dir: "shop", what: "set", set: shop},
		{repository: examples, dir: "workloads", what: "set", environment: "prod", set: []string{"frontend:metadata.replicas=4"}},
	} {
		if r.repository == "" {
			r.repository = projects
		}
		r.dialect = "argocd"
		out = append(out, r)
	}
	return out
}

// prepare writes the files of requests to disk, locks what needs a lock (the modules
// that are part of the command too), and starts the plugin of Argo CD.
func prepare(t *testing.T) bench {
	t.Helper()
	b := bench{command: install(t), repositories: repositories(t)}
	for _, dir := range []string{"examples/shop", "examples/environments", "examples/workloads", "projects/secrets"} {
		repository, project := path.Split(dir)
		run(t, filepath.Join(b.repositories[path.Clean(repository)], project), "", b.command, "lock", "--cache-dir", t.TempDir())
	}
	b.socket = b.serve(t)
	return b
}

func repositories(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{examples, projects} {
		// As argocd-cmp-server names it, so that the stock way works in it.
		dir := filepath.Join(t.TempDir(), "_cmp_server", name)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o755))
		out[name] = dir
	}
	require.NoError(t, os.CopyFS(out[examples], os.DirFS("../../cue/examples")))
	extract(t, "testdata/projects.txtar", out[projects])
	return out
}

// TestEveryWayGivesTheSameObjects renders each case in every way.
func TestEveryWayGivesTheSameObjects(t *testing.T) {
	b := prepare(t)
	all := ways()
	table := [][]string{{"case"}}
	for _, way := range all {
		table[0] = append(table[0], way.name)
	}
	for _, r := range requests() {
		row := []string{r.name()}
		t.Run(r.name(), func(t *testing.T) {
			var want []string
			for _, way := range all {
				if why := way.missing(r); why != "" {
					row = append(row, "-")
					t.Logf("%s is left out: %s", way.name, why)
					continue
				}
				got := way.render(t, b, r)
				require.NotEmpty(t, got, way.name)
				if want == nil {
					want = got
				}
				require.Equal(t, want, got, way.name)
				row = append(row, fmt.Sprintf("%d same", len(got)))
			}
		})
		table = append(table, row)
	}
	t.Logf("objects of each case in each way, in their order (-: the way cannot do that):\n%s", columns(table))
}

// columns is a table as text.
func columns(table [][]string) string {
	widths := map[int]int{}
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range table {
		for i, cell := range row {
			fmt.Fprintf(&b, "%-*s  ", widths[i], cell)
		}
		b.WriteString("\n")
	}
	return b.String()
}
