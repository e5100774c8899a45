// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// tick is the unit of times in /proc (proc(5), sysconf(_SC_CLK_TCK)): a hundredth of a
// second on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// cpuOf is the time of processors that a process and its children take, with those that
// have ended.
func cpuOf(pid int) (out time.Duration) {
	for _, id := range append(children(pid), pid) {
		fields := stat(id)
		for _, field := range fields[min(11, len(fields)):min(15, len(fields))] {
			out += time.Duration(number(field)) * tick
		}
	}
	return out
}

// stat is /proc/PID/stat from the state of the process on; nil where it has ended.
func stat(pid int) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	// The name of the program is in parentheses, and may have spaces.
	return strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
}

// ownCPU is that of a process without its children.
func ownCPU(pid int) (out time.Duration) {
	if fields := stat(pid); fields != nil {
		out = time.Duration(number(fields[11])+number(fields[12])) * tick
	}
	return out
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // what the kernel writes is one
	return n
}

// kibibytes is a line of a file of a process, in bytes; 0 where it has ended.
func kibibytes(pid int, file, line string) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	for text := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(text, line); ok {
			return int64(number(strings.Fields(rest)[0])) << 10
		}
	}
	return 0
}

// gauge watches the memory of a controller and its workers, in bytes: most is that by
// proportional sets (PSS), in which what several share counts once, and peak the sum of the
// highest resident sets, in which it counts for each.
type gauge struct {
	mu         sync.Mutex
	most, peak int64
}

// watch looks at the memory of a process until the test ends or the process does.
func (g *gauge) watch(t *testing.T, p *Process) {
	pid := p.Pid()
	go func() {
		for p.Running() && p.Pid() == pid && t.Context().Err() == nil {
			memory, peak := int64(0), int64(0)
			for _, id := range append(children(pid), pid) {
				memory += kibibytes(id, "smaps_rollup", "Pss:")
				peak += kibibytes(id, "status", "VmHWM:")
			}
			g.mu.Lock()
			g.most, g.peak = max(g.most, memory), max(g.peak, peak)
			g.mu.Unlock()
			time.Sleep(250 * time.Millisecond)
		}
	}()
}

func (g *gauge) read() (most, peak int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most, g.peak
}

// children are those of a process: workers have none of their own.
func children(pid int) (out []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is good
	for _, name := range tasks {
		data, _ := os.ReadFile(name) //nolint:gosec // of the kernel, and it may have ended
		for _, field := range strings.Fields(string(data)) {
			out = append(out, number(field))
		}
	}
	return out
}

// mebibytes for people.
func mebibytes(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

// many makes Transforms of a module of the program that differ in their input, and
// returns when the API server has them.
func (n *tenant) many(count int, engine v1alpha1.Engine) {
	n.t.Helper()
	var (
		wait     sync.WaitGroup
		failures = make([]error, 8)
	)
	for w := range failures {
		wait.Go(func() {
			for i := w; i < count && failures[w] == nil; i += len(failures) {
				failures[w] = n.Client.Create(n.t.Context(), n.one(i, engine))
			}
		})
	}
	wait.Wait()
	require.NoError(n.t, errors.Join(failures...))
}

func (n *tenant) one(i int, engine v1alpha1.Engine) client.Object {
	name := fmt.Sprintf("web-%04d", i)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Transform",
		"metadata": map[string]any{"name": name, "namespace": n.namespace},
		"spec": map[string]any{
			"cueRef": map[string]any{"type": "embedded", "ref": "webservice"},
			"input": map[string]any{
				"image": "registry.example/web:1." + strconv.Itoa(i),
				"ports": map[string]any{"http": map[string]any{"port": int64(8080), "expose": int64(80)}},
			},
			"output":   map[string]any{"oci": map[string]any{"repository": "oci://" + n.Registry + "/" + n.namespace + "/" + name, "insecure": true}},
			"delivery": map[string]any{"type": string(engine)},
		},
	}}
}

// crowd is the Transforms of a tenant as a watch tells of them: to list them all again and
// again takes more than what is measured.
type crowd struct {
	*tenant
	mu     sync.Mutex
	latest map[string]*v1alpha1.Transform
	broken error
}

// crowd begins to watch, until the test ends.
func (n *tenant) crowd() *crowd {
	n.t.Helper()
	watcher, err := client.NewWithWatch(n.Config, client.Options{Scheme: n.Client.Scheme(), Mapper: n.Client.RESTMapper()})
	require.NoError(n.t, err)
	c := &crowd{tenant: n, latest: map[string]*v1alpha1.Transform{}}
	watch := func() error {
		changes, err := watcher.Watch(n.t.Context(), &v1alpha1.TransformList{}, client.InNamespace(n.namespace))
		if err != nil {
			return err
		}
		for event := range changes.ResultChan() {
			t, ok := event.Object.(*v1alpha1.Transform)
			if !ok {
				return fmt.Errorf("the watch says %v", event.Object)
			}
			c.mu.Lock()
			c.latest[t.Name] = t
			c.mu.Unlock()
		}
		return nil // The server ends a watch that is slow; the next one begins with all there is.
	}
	go func() {
		for n.t.Context().Err() == nil {
			if err := watch(); err != nil {
				c.mu.Lock()
				c.broken = err
				c.mu.Unlock()
				return
			}
		}
	}()
	return c
}

// all are the Transforms, by their names.
func (c *crowd) all() map[string]*v1alpha1.Transform {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NoError(c.t, c.broken)
	return maps.Clone(c.latest)
}

// await waits until there are so many, all of them Ready and as is says.
func (c *crowd) await(count int, within time.Duration, what string, is func(*v1alpha1.Transform) bool) {
	c.t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		all := c.all()
		maps.DeleteFunc(all, func(_ string, t *v1alpha1.Transform) bool {
			return t.Status.Artifact == nil || t.Status.ObservedGeneration != t.Generation || !is(t) ||
				!apimeta.IsStatusConditionTrue(t.Status.Conditions, meta.ReadyCondition)
		})
		if len(all) == count {
			return
		}
		require.True(c.t, time.Now().Before(deadline), "%d of %d are %s within %s", len(all), count, what, within)
	}
}

// metric is the sum of a metric of the controller over those of its labels that have a
// text in them.
func (n *tenant) metric(name, label string) float64 {
	n.t.Helper()
	text, ok := page(n.t.Context(), n.controller.metrics, "/metrics")
	if !ok {
		return 0
	}
	return sumOf(n.t, text, name, label)
}

// looked waits until the controller has reconciled so many times since it was started,
// and has nothing to do.
func (n *tenant) looked(count int, within time.Duration) {
	n.t.Helper()
	n.Await(n.t, within, "all of them are looked at", func() bool {
		time.Sleep(100 * time.Millisecond)
		return n.metric("controller_runtime_reconcile_total", `controller="transform"`) >= float64(count) &&
			n.metric("workqueue_depth", `controller="transform"`) == 0 && n.metric("controller_runtime_active_workers", `controller="transform"`) == 0
	})
}

// profile keeps a profile of the controller in the folder ROPEWALK_SPEED_PROFILES, where
// that is set.
func (n *tenant) profile(name, path string) {
	n.t.Helper()
	dir := os.Getenv("ROPEWALK_SPEED_PROFILES")
	if dir == "" {
		return
	}
	text, ok := page(n.t.Context(), n.controller.metrics, "/debug/pprof/"+path)
	require.True(n.t, ok)
	require.NoError(n.t, os.WriteFile(filepath.Join(dir, name+".pprof"), []byte(text), 0o600))
}

// TestAThousandTransforms measures with the flags of deploy/flux. Nobody delivers, so
// that what is measured is the controller and not Flux.
func TestAThousandTransforms(t *testing.T) {
	if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
		t.Skip("what a process takes is read from /proc of Linux")
	}
	count, idle := 50, 5*time.Second
	if thorough() {
		count, idle = 1000, time.Minute
	}
	n, g := newLeader(t, "--memory-total=896MiB"), &gauge{}
	c := n.crowd()
	g.watch(t, n.controller.Process)
	c.first(count)
	n.looked(count, time.Minute)
	n.profile("heap", "heap")
	c.steady(idle)
	c.restarted(count, g)
	c.rounds(count)
	n.memory(g)
}

// anyway is what await is asked where Ready is all that counts.
func anyway(*v1alpha1.Transform) bool { return true }

// first measures how long it takes until all are rendered and pushed, and who takes the
// processors for that.
func (c *crowd) first(count int) {
	c.t.Helper()
	start, asked := time.Now(), len(c.OCI.Requests())
	programs := map[string]int{"the API server": c.APIServer.Pid(), "etcd": c.Etcd.Pid(), "the test, which stands before the registry,": os.Getpid()}
	for _, child := range children(os.Getpid()) {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", child)); err == nil && strings.HasPrefix(string(name), "docker-registry") {
			programs["the registry"] = child
		}
	}
	controller, before := cpuOf(c.controller.Pid()), map[string]time.Duration{}
	for name, pid := range programs {
		before[name] = ownCPU(pid)
	}
	c.many(count, v1alpha1.EngineNone)
	c.t.Logf("%d Transforms made in %s", count, time.Since(start).Round(10*time.Millisecond))
	c.await(count, 15*time.Minute, "published", anyway)
	took := time.Since(start)
	c.t.Logf("the controller and its workers took %s of CPU", cpuOf(c.controller.Pid())-controller)
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		c.t.Logf("%s took %s of CPU", name, ownCPU(programs[name])-before[name])
	}
	c.t.Logf("%.1f requests to the registry for each", float64(len(c.OCI.Requests())-asked)/float64(count))
	figure(c.t, fmt.Sprintf("%d Transforms rendered and pushed", count), took, 2*time.Minute)
	for i := range min(count, 100) {
		c.requirePushed(fmt.Sprintf("web-%04d", i))
	}
}

// steady measures while nothing changes.
func (c *crowd) steady(idle time.Duration) {
	c.t.Helper()
	versions, asked, reconciled := c.versions(), len(c.OCI.Requests()), c.metric("controller_runtime_reconcile_total", `controller="transform"`)
	before := cpuOf(c.controller.Pid())
	time.Sleep(idle)
	used := cpuOf(c.controller.Pid()) - before
	cores := used.Seconds() / idle.Seconds()
	c.t.Logf("nothing changes for %s: %.4f cores, of 0.05 at most; %.0f reconciliations, %d requests to the registry; load %s", idle, cores,
		c.metric("controller_runtime_reconcile_total", `controller="transform"`)-reconciled, len(c.OCI.Requests())-asked, load())
	require.Equal(c.t, versions, c.versions(), "nothing is written")
	if thorough() && cores > 0.05 {
		c.t.Errorf("%.4f cores", cores)
	}
}

// versions are those of the Transforms.
func (c *crowd) versions() map[string]string {
	c.t.Helper()
	out := map[string]string{}
	for name, t := range c.all() {
		out[name] = t.ResourceVersion
	}
	return out
}

// restarted measures a restart with what is in the cache.
func (c *crowd) restarted(count int, g *gauge) {
	c.t.Helper()
	versions, asked := c.versions(), len(c.requests())
	start := time.Now()
	c.controller.Interrupt()
	require.NoError(c.t, c.controller.Wait(time.Minute))
	c.t.Logf("the controller ended within %s", time.Since(start).Round(time.Millisecond))
	c.controller.Restart(c.t)
	g.watch(c.t, c.controller.Process)
	c.looked(count, 5*time.Minute)
	figure(c.t, fmt.Sprintf("after a restart all of %d are looked at", count), time.Since(start), 20*time.Second)
	c.await(count, time.Minute, "Ready", anyway)
	c.t.Logf("that took %s of CPU", cpuOf(c.controller.Pid()))
	require.Equal(c.t, versions, c.versions(), "nothing is written")
	require.Len(c.t, c.requests(), asked, "nothing is asked of the registry")
}

// rounds measures what an interval costs: in each, every Transform is rendered and compared
// with the registry once, which asking for a reconciliation does too. It is what the steady
// state takes beyond a quiet minute.
func (c *crowd) rounds(count int) {
	c.t.Helper()
	const interval = 10 * time.Minute // the default
	asked, done := len(c.OCI.Requests()), c.metric("controller_runtime_reconcile_total", `controller="transform"`)
	start, before := time.Now(), cpuOf(c.controller.Pid())
	c.Kubectl(c.t, "annotate", "-n", c.namespace, "transform", "--all", "reconcile.fluxcd.io/requestedAt=now", "--overwrite")
	c.await(count, 15*time.Minute, "looked at", func(t *v1alpha1.Transform) bool { return t.Status.LastHandledReconcileAt == "now" })
	c.looked(int(done)+count, time.Minute)
	used := cpuOf(c.controller.Pid()) - before
	c.profile("rounds-heap", "heap")
	cores := used.Seconds() / interval.Seconds()
	c.t.Logf("each of %d asked for, as at an interval: %s, %s of CPU, %.1f requests to the registry for each; over %s %.4f cores, of 0.05 at most; load %s", count,
		time.Since(start).Round(10*time.Millisecond), used, float64(len(c.OCI.Requests())-asked)/float64(count), interval, cores, load())
	if thorough() && cores > 0.05 {
		c.t.Errorf("%.4f cores", cores)
	}
}

// memory prints what the controller and its workers have taken at most.
func (n *tenant) memory(g *gauge) {
	n.t.Helper()
	const bound = 400 << 20
	most, peak := g.read()
	n.t.Logf("memory of the controller and its workers: %s at most (PSS), of %s; %s by the peaks of each, where what they share counts for each; load %s",
		mebibytes(most), mebibytes(bound), mebibytes(peak), load())
	require.NotZero(n.t, most)
	if thorough() && most > bound {
		n.t.Errorf("%s", mebibytes(most))
	}
}

// TestManyTransformsAreDelivered is the same with Flux, and of fewer, because Flux has its
// own work with each.
func TestManyTransformsAreDelivered(t *testing.T) {
	count := 10
	if thorough() {
		count = 200
	}
	n, g := newLeader(t, "--memory-total=896MiB"), &gauge{}
	g.watch(t, n.controller.Process)
	c, start, before := n.crowd(), time.Now(), cpuOf(n.controller.Pid())
	n.many(count, v1alpha1.EngineFlux)
	c.await(count, 20*time.Minute, "delivered", anyway)
	took, after := time.Since(start), cpuOf(n.controller.Pid())
	t.Logf("%d Transforms rendered, pushed and Ready by Flux: %s, %s of CPU of the controller, %.1f reconciliations each; load %s", count,
		took.Round(10*time.Millisecond), after-before, n.metric("controller_runtime_reconcile_total", `controller="transform"`)/float64(count), load())
	n.memory(g)
}
