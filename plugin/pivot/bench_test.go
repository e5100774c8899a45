// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

// planeEnv makes the test program an API server: its memory is not that of a pivot.
const planeEnv = "ROPEWALK_TEST_PLANE"

func TestMain(m *testing.M) {
	if spec := os.Getenv(planeEnv); spec != "" {
		bePlane(spec)
		return
	}
	os.Exit(m.Run())
}

// bePlane serves an API server until stdin ends. The spec is its name, and for the source the
// count of workers and the bytes of the bootstrap file of each.
func bePlane(spec string) {
	name, size, isSource := strings.Cut(spec, " ")
	s := planetest.New(name, planetest.ClusterAPI()...)
	if isSource {
		var workers, file int
		if _, err := fmt.Sscan(size, &workers, &file); err != nil {
			panic(err)
		}
		s.Put(atRest(workers, file)...)
	}
	s.After = observeClusters(s)
	mux := http.NewServeMux()
	mux.Handle("/", s.Handler())
	mux.HandleFunc("/requests", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, len(s.Requests())) // The client is gone.
	})
	server := httptest.NewServer(mux)
	fmt.Println(server.URL)
	_, _ = bufio.NewReader(os.Stdin).ReadString(0)
}

// atRest is a cluster that can be moved.
func atRest(workers, file int) []*unstructured.Unstructured {
	objects := planetest.Cluster("apps", "blue", workers)
	for _, o := range objects {
		switch o.GetKind() {
		case "Machine":
			o.Object["status"].(map[string]any)["nodeRef"] = map[string]any{"name": o.GetName()}
		case "KubeadmConfig":
			o.Object["spec"].(map[string]any)["files"] = []any{map[string]any{"path": "/etc/file", "content": strings.Repeat(o.GetName()+"\n", file/(len(o.GetName())+1))}}
		}
	}
	return objects
}

// observeClusters lets controllers look at a server after each write, and before each list, of
// Clusters.
func observeClusters(s *planetest.Server) func(planetest.Request) error {
	return func(r planetest.Request) error {
		if r.Ref.Kind == "Cluster" && (r.Write() || r.Verb == "list") {
			s.Observe()
		}
		return nil
	}
}

// process is an API server in a process of its own.
func process(b *testing.B, spec string) (k Kubeconfig, requests func() int) {
	b.Helper()
	self, err := os.Executable()
	require.NoError(b, err)
	command := exec.Command(self)
	command.Env = append(os.Environ(), planeEnv+"="+spec)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	require.NoError(b, err)
	out, err := command.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, command.Start())
	b.Cleanup(func() {
		require.NoError(b, in.Close())
		require.NoError(b, command.Wait())
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(b, err)
	url := strings.TrimSpace(line)
	return kubeconfig(b, url, ""), func() int {
		response, err := http.Get(url + "/requests")
		require.NoError(b, err)
		defer func() { _ = response.Body.Close() }()
		var n int
		require.NoError(b, json.NewDecoder(response.Body).Decode(&n))
		return n
	}
}

// heap samples the heap of this process until the context ends, and returns the peaks of what
// is allocated, and of what is live, above what is live now.
func heap(ctx context.Context) func() (allocated, live uint64) {
	runtime.GC()
	read := func() (allocated, live uint64) {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64(), sample[1].Value.Uint64()
	}
	_, before := read()
	var peak, peakLive uint64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(time.Millisecond); ; {
			allocated, live := read()
			peak, peakLive = max(peak, allocated), max(peakLive, live)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() (uint64, uint64) {
		<-done
		return peak - before, peakLive - before
	}
}

// BenchmarkPivot moves clusters between two API servers in memory, each in a process of its
// own, and reports the requests to both, and the peak of the heap against the size of the
// snapshot: of all that is allocated, and of what the garbage collector found to be live.
func BenchmarkPivot(b *testing.B) {
	for _, c := range []struct{ workers, file int }{{2, 0}, {495, 0}, {495, 21 << 10}} {
		objects := atRest(c.workers, c.file)
		b.Run(strconv.Itoa(len(objects))+"objects-"+strconv.Itoa((c.workers+1)*c.file>>20)+"MiB", func(b *testing.B) {
			var requests int
			var size, peak, live, pause float64
			for b.Loop() {
				b.StopTimer()
				from, asked := process(b, fmt.Sprintf("source %d %d", c.workers, c.file))
				to, askedTo := process(b, "target")
				o := Options{From: from, To: to, Cluster: types.NamespacedName{Namespace: "apps", Name: "blue"}}
				plan, err := Look(b.Context(), o)
				require.NoError(b, err)
				require.Empty(b, plan.Findings)
				before := asked() + askedTo()
				ctx, cancel := context.WithCancel(b.Context())
				peaks := heap(ctx)
				b.StartTimer()
				receipt, err := Run(b.Context(), o)
				b.StopTimer()
				cancel()
				require.NoError(b, err)
				allocated, alive := peaks()
				requests += asked() + askedTo() - before
				size, peak, live = float64(plan.Bytes), max(peak, float64(allocated)), max(live, float64(alive))
				pause += receipt.When("Activated").Sub(receipt.Paused).Seconds()
				b.StartTimer()
			}
			b.ReportMetric(float64(requests)/float64(b.N), "requests/op")
			b.ReportMetric(pause/float64(b.N), "s-paused/op")
			b.ReportMetric(size/(1<<20), "MiB-snapshot")
			b.ReportMetric(peak/(1<<20), "MiB-peak")
			b.ReportMetric(live/(1<<20), "MiB-live")
			b.ReportMetric(live/size, "live/snapshot")
			if size > 8<<20 { // A small snapshot is less than what a client needs of its own.
				require.LessOrEqual(b, live, 3*size, "the bytes of a snapshot that a pivot keeps at once")
			}
		})
	}
}
