// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// scaled is what was measured of a number of Transforms: times in seconds, those of processors
// too, and memory in MiB.
type scaled struct {
	Count int
	Load  string
	// Published and Ready are until all are; Replicas, Flux and Plane are times of processors
	// until then, and Requests those of our controllers to the API server.
	Published, Ready, Replicas, Flux, Plane, Requests, All, Registry float64
	// Memory is that of each replica with its workers, at most.
	Memory []float64
	// IdleCores, IdleRequests and IdleAll are what is used while nothing changes, a second.
	IdleCores, IdleRequests, IdleAll float64
	// Again is until all are rendered once more, and AgainReplicas what our controllers take.
	Again, AgainReplicas float64
	// Edits were made meanwhile; EditPublished and EditReady are the 95th percentiles.
	Edits                    int
	EditPublished, EditReady float64
	// Killed is from a kill of a replica to an edit that the next one has delivered, and
	// Others that of an edit in another shard meanwhile.
	Killed, Others float64
	// Slow is the 95th percentile of an edit until it is published while each request to the
	// registry takes half a second more.
	Slow float64
}

// TestTransformsOfFourShards measures one number of Transforms; make scale does for each.
func TestTransformsOfFourShards(t *testing.T) {
	count, err := strconv.Atoi(os.Getenv("ROPEWALK_SCALE"))
	if err != nil || count < 2*shardCount {
		t.Skip("ROPEWALK_SCALE is how many Transforms, 8 or more: make scale runs it")
	}
	dir := cmp.Or(os.Getenv("ROPEWALK_SCALE_DIR"), t.TempDir())
	s := newScale(t, count)
	out := scaled{Count: count, Load: load()}
	s.first(&out)
	s.idle(&out)
	s.again(&out)
	s.killed(&out)
	s.slow(&out)
	for i, g := range s.gauges {
		most, _ := g.read()
		require.NotZero(t, most)
		out.Memory = append(out.Memory, float64(most)/(1<<20))
		allowed(t, s.replicas[i])
	}
	data, err := json.MarshalIndent(out, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(count)+".json"), data, 0o600))
	writeScale(t, dir)
}

// first makes all of them, and measures until they are published and Ready.
func (s *scale) first(out *scaled) {
	s.t.Helper()
	before := s.take()
	s.each(func(i int) error { return s.Client.Create(s.t.Context(), s.transform(i)) })
	s.t.Logf("%d Transforms made in %s", s.count, time.Since(before.at).Round(time.Millisecond))
	out.Published = s.await("published", before.at, s.limit(), func(_ types.NamespacedName, is sight) time.Time { return is.published }).Seconds()
	published := s.take()
	s.t.Logf("published: %s of CPU of our controllers, %s of Flux, %s of the API server and etcd", published.replicas-before.replicas, published.flux-before.flux, published.plane-before.plane)
	s.profile(fmt.Sprintf("scale-%d-heap", s.count), "heap")
	s.profile(fmt.Sprintf("scale-%d-allocs", s.count), "allocs")
	s.profile(fmt.Sprintf("scale-%d-cpu", s.count), "profile?seconds=20")
	out.Ready = s.await("Ready", before.at, s.limit(), func(_ types.NamespacedName, is sight) time.Time { return is.ready }).Seconds()
	after := s.take()
	out.Replicas, out.Flux, out.Plane = (after.replicas - before.replicas).Seconds(), (after.flux - before.flux).Seconds(), (after.plane - before.plane).Seconds()
	out.Requests, out.All, out.Registry = after.requests-before.requests, after.all-before.all, float64(after.asked-before.asked)
	s.since(before, after)
	for _, r := range s.replicas {
		text, _ := page(s.t.Context(), r.metrics, "/metrics")
		s.t.Logf("%s: %.0f reconciliations, %.0f requests: %.0f GET, %.0f POST, %.0f PATCH, %.0f PUT", r.Name,
			sumOf(s.t, text, "controller_runtime_reconcile_total", `controller="transform"`), sumOf(s.t, text, "rest_client_requests_total", ""),
			sumOf(s.t, text, "rest_client_requests_total", `method="GET"`), sumOf(s.t, text, "rest_client_requests_total", `method="POST"`),
			sumOf(s.t, text, "rest_client_requests_total", `method="PATCH"`), sumOf(s.t, text, "rest_client_requests_total", `method="PUT"`))
	}
}

// idle measures while nothing changes.
func (s *scale) idle(out *scaled) {
	s.t.Helper()
	time.Sleep(10 * time.Second) // What Flux repeats has ended.
	before := s.take()
	time.Sleep(30 * time.Second)
	after := s.take()
	seconds := after.at.Sub(before.at).Seconds()
	out.IdleCores = (after.replicas - before.replicas).Seconds() / seconds
	out.IdleRequests, out.IdleAll = (after.requests-before.requests)/seconds, (after.all-before.all)/seconds
}

// again changes what all of them share, and edits some of them while the others are rendered.
func (s *scale) again(out *scaled) {
	s.t.Helper()
	known, before := s.look(), s.take()
	for i := 0; i < s.count; i += perNamespace {
		s.share(i, "second")
	}
	isAgain := func(key types.NamespacedName, is sight) time.Time {
		if is.digest == known[key].digest {
			return time.Time{}
		}
		return is.ready
	}
	var published, ready []time.Duration
	for deadline := time.Now().Add(s.limit()); time.Now().Before(deadline); {
		left := 0
		for key, is := range s.look() {
			if isAgain(key, is).IsZero() {
				left++
			}
		}
		if left < s.count/20 && len(ready) > 0 || len(ready) == 100 {
			break
		}
		// Those at the end are rendered last.
		p, r := s.edit(s.count-1-len(ready)*7%(s.count/2), fmt.Sprintf("edit-%d", len(ready)))
		published, ready = append(published, p), append(ready, r)
	}
	out.Again = s.await("rendered again", before.at, s.limit(), isAgain).Seconds()
	out.AgainReplicas = (s.take().replicas - before.replicas).Seconds()
	out.Edits, out.EditPublished, out.EditReady = len(ready), percentile(published, 95).Seconds(), percentile(ready, 95).Seconds()
}

// killed kills the controller of the first shard, which is started again as the kubelet does.
func (s *scale) killed(out *scaled) {
	s.t.Helper()
	start := time.Now()
	s.replicas[0].Kill()
	_, others := s.edit(1, "while another controller is gone")
	out.Others = others.Seconds()
	s.replicas[0].Restart(s.t)
	s.gauges[0].watch(s.t, s.replicas[0].Process)
	s.replicas[0].awaitLead(s.t, s.Cluster)
	s.edit(0, "after a kill")
	out.Killed = time.Since(start).Seconds()
	s.await("Ready after a kill", start, s.limit(), func(_ types.NamespacedName, is sight) time.Time { return is.ready })
}

// slow has the registry take its time.
func (s *scale) slow(out *scaled) {
	s.t.Helper()
	s.delay.Store(int64(500 * time.Millisecond))
	defer s.delay.Store(0)
	var published []time.Duration
	for i := range shardCount {
		p, _ := s.edit(i, "slow")
		published = append(published, p)
	}
	out.Slow = percentile(published, 95).Seconds()
}

// writeScale writes all that was measured into a folder as a table and a picture.
func writeScale(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	var all []scaled
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var one scaled
		require.NoError(t, json.Unmarshal(data, &one))
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b scaled) int { return cmp.Compare(a.Count, b.Count) })
	table := tableOf(all)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "scale.md"), []byte(table), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "scale.svg"), []byte(pictureOf(all)), 0o600))
	fmt.Fprintf(os.Stdout, "\n%s\n%s\n", table, filepath.Join(dir, "scale.svg"))
}

// tableOf has a column for each number of Transforms.
func tableOf(all []scaled) string {
	per := func(total float64, one scaled) float64 { return 1000 * total / float64(one.Count) }
	rows := []struct {
		what   string
		figure func(scaled) string
	}{
		{"load of the machine at the start", func(o scaled) string { return o.Load }},
		{"all published", func(o scaled) string { return fmt.Sprintf("%.1f s", o.Published) }},
		{"all Ready", func(o scaled) string { return fmt.Sprintf("%.1f s", o.Ready) }},
		{"CPU of our controllers, for each", func(o scaled) string { return fmt.Sprintf("%.1f ms", per(o.Replicas, o)) }},
		{"CPU of Flux, for each", func(o scaled) string { return fmt.Sprintf("%.1f ms", per(o.Flux, o)) }},
		{"CPU of the API server and etcd, for each", func(o scaled) string { return fmt.Sprintf("%.1f ms", per(o.Plane, o)) }},
		{"requests of ours to the API server, for each", func(o scaled) string { return fmt.Sprintf("%.1f", o.Requests/float64(o.Count)) }},
		{"requests of ours to the API server, a second", func(o scaled) string { return fmt.Sprintf("%.1f of %.1f", o.Requests/o.Ready, o.All/o.Ready) }},
		{"requests to the registry, for each", func(o scaled) string { return fmt.Sprintf("%.1f", o.Registry/float64(o.Count)) }},
		{"memory of the largest replica with its workers", func(o scaled) string { return fmt.Sprintf("%.0f MiB", slices.Max(o.Memory)) }},
		{"idle: CPU of all replicas", func(o scaled) string { return fmt.Sprintf("%.4f cores", o.IdleCores) }},
		{"idle: requests of ours to the API server, a second", func(o scaled) string { return fmt.Sprintf("%.2f of %.1f", o.IdleRequests, o.IdleAll) }},
		{"all rendered and applied again", func(o scaled) string { return fmt.Sprintf("%.1f s", o.Again) }},
		{"CPU of our controllers for that, for each", func(o scaled) string { return fmt.Sprintf("%.1f ms", per(o.AgainReplicas, o)) }},
		{"an edit meanwhile to published, 95th percentile", func(o scaled) string { return fmt.Sprintf("%.2f s of %d", o.EditPublished, o.Edits) }},
		{"an edit meanwhile to Ready, 95th percentile", func(o scaled) string { return fmt.Sprintf("%.2f s of %d", o.EditReady, o.Edits) }},
		{"a killed replica to an edit that is Ready", func(o scaled) string { return fmt.Sprintf("%.1f s", o.Killed) }},
		{"an edit in another shard meanwhile to Ready", func(o scaled) string { return fmt.Sprintf("%.2f s", o.Others) }},
		{"an edit to published, each request to the registry 0.5 s slower", func(o scaled) string { return fmt.Sprintf("%.1f s", o.Slow) }},
	}
	var out strings.Builder
	out.WriteString("| Transforms in four shards |")
	for _, one := range all {
		fmt.Fprintf(&out, " %d |", one.Count)
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for _, row := range rows {
		out.WriteString("| " + row.what + " |")
		for _, one := range all {
			out.WriteString(" " + row.figure(one) + " |")
		}
		out.WriteString("\n")
	}
	return out.String()
}

// pictureOf has bars of what each Transform takes, which are as high as one another where the
// work grows with the number of Transforms.
func pictureOf(all []scaled) string {
	panels := []struct {
		title  string
		figure func(scaled) float64
	}{
		{"until published, ms each", func(o scaled) float64 { return 1000 * o.Published / float64(o.Count) }},
		{"until Ready, ms each", func(o scaled) float64 { return 1000 * o.Ready / float64(o.Count) }},
		{"CPU of ours, ms each", func(o scaled) float64 { return 1000 * o.Replicas / float64(o.Count) }},
		{"memory of a replica, MiB", func(o scaled) float64 { return slices.Max(o.Memory) }},
	}
	const panel, height, bar = 200, 160, 40
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", panel*len(panels), height+60)
	for i, p := range panels {
		most := 0.0
		for _, one := range all {
			most = max(most, p.figure(one))
		}
		fmt.Fprintf(&out, `<text x="%d" y="16">%s</text>`+"\n", i*panel+10, p.title)
		for j, one := range all {
			high, x := p.figure(one)/most*(height-20), i*panel+10+j*(bar+15)
			fmt.Fprintf(&out, `<rect x="%d" y="%.1f" width="%d" height="%.1f" fill="#3465a4"/>`+"\n", x, height+20-high, bar, high)
			fmt.Fprintf(&out, `<text x="%d" y="%.1f">%.0f</text><text x="%d" y="%d">%d</text>`+"\n", x, height+15-high, p.figure(one), x, height+40, one.Count)
		}
	}
	return out.String() + "</svg>\n"
}
