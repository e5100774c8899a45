// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/stretchr/testify/require"
)

// BenchmarkRepoServer is an application of five objects through the repo-server, as the
// controller requests it, and how much of that is the plugin: the repo-server resolves the
// revision, checks out, packs, dials, and splits the manifests, whatever renders.
func BenchmarkRepoServer(b *testing.B) {
	server, config := stockPlugin(b)
	r := newRigWith(b, []string{"--plugin-use-manifest-generate-paths"})
	work := filepath.Join(r.dir, "stock")
	write(b, work, map[string]string{"keep": ""})
	start(b, append(r.env("stock"), "ARGOCD_PLUGINSOCKFILEPATH="+filepath.Dir(r.socket), "ARGOCD_CMP_WORKDIR="+work),
		server, "--config-dir-path", config, "--loglevel", "error").
		ready(b, func() bool { return listens("unix", filepath.Join(filepath.Dir(r.socket), stock+".sock")) })
	start(b, r.env("bare"), os.Args[0], bareServer, filepath.Dir(r.socket)).
		ready(b, func() bool { return listens("unix", filepath.Join(filepath.Dir(r.socket), none+".sock")) })
	small, full := b.TempDir(), b.TempDir()
	write(b, small, service("apps/web", "web"))
	size := large(b, full, "other", 3000)
	repositories := map[bool]*v1alpha1.Repository{false: commit(b, small).file(), true: commit(b, full).file()}

	var f figures
	for b.Loop() {
		for _, large := range []bool{false, true} {
			for _, paths := range []string{".", ""} {
				for _, clients := range []int{1, together} {
					for _, name := range []string{none, ours, stock} {
						// cue export takes minutes of a processor for all requests of the large one.
						if large && name == stock && clients > 1 {
							continue
						}
						a := application{repo: repositories[large], path: "apps/web", revision: "main", plugin: &v1alpha1.ApplicationSourcePlugin{Name: name}, hard: true, generatePaths: paths}
						if name == stock {
							a.path += "/module"
						}
						what := map[bool]string{true: "3,010 files, ", false: "4 files, "}[large]
						r.measure(b, &f, fmt.Sprintf("%s%s, annotation %q, %d at once", what, name, paths, clients), a, clients)
					}
				}
			}
		}
	}
	f.print(b, fmt.Sprintf("one application of five objects through the repo-server, in repositories of 4 files, and of 3,010 and %.1f MB; nothing of it cached", float64(size)/1e6))
}

// requests is how many measure makes.
const requests = 24

// measure requests manifests several at a time, each of another namespace, so that each is
// rendered.
func (r *rig) measure(b *testing.B, f *figures, what string, a application, clients int) {
	b.Helper()
	var next, failed atomic.Int64
	one := func() time.Duration {
		a := a
		a.name = fmt.Sprint("app-", next.Add(1))
		a.namespace = fmt.Sprintf("%s-%d", a.name, time.Now().UnixNano())
		begin := time.Now()
		if _, err := r.generate(b.Context(), a); err != nil {
			failed.Add(1)
			b.Log(err)
		}
		return time.Since(begin)
	}
	for range 4 {
		one()
	}
	took := make(series, requests)
	seconds, count := r.spent(b)
	plugin, server := cpu(r.sidecar.cmd.Process.Pid), cpu(r.server.cmd.Process.Pid)
	begin := time.Now()
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := c; i < requests; i += clients {
				took[i] = one()
			}
		})
	}
	all.Wait()
	wall := time.Since(begin)
	require.Zero(b, failed.Load())
	f.plain(what+": median", took.median(), "ms")
	f.plain(what+": a second", requests/wall.Seconds(), "")
	f.plain(what+": CPU of the repo-server", (cpu(r.server.cmd.Process.Pid)-server).Seconds()*1000/requests, "ms")
	if after, n := r.spent(b); n > count {
		f.plain(what+": in the sidecar, with receiving the archive", (after-seconds)*1000/float64(n-count), "ms")
		f.plain(what+": CPU of the sidecar and its workers", (cpu(r.sidecar.cmd.Process.Pid)-plugin).Seconds()*1000/requests, "ms")
	}
}

// spent is how long all requests for manifests took in the sidecar, and their number.
func (r *rig) spent(b *testing.B) (seconds float64, count int) {
	b.Helper()
	response, err := http.Get(r.web + "/metrics")
	require.NoError(b, err)
	defer func() { _ = response.Body.Close() }()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if !strings.Contains(name, `"GenerateManifest"`) {
			continue
		}
		switch {
		case strings.HasPrefix(name, "ropewalk_argocd_request_seconds_sum"):
			seconds, err = strconv.ParseFloat(value, 64)
		case strings.HasPrefix(name, "ropewalk_argocd_request_seconds_count"):
			count, err = strconv.Atoi(value)
		}
		require.NoError(b, err)
	}
	return seconds, count
}
