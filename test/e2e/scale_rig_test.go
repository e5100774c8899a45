// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

const (
	// shardKey is the label by which Transforms are shared, and shardCount is how many
	// controllers do.
	shardKey   = "sharding.fluxcd.io/key"
	shardCount = 4
	// perNamespace is how many Transforms a namespace has: namespaces are many where
	// Transforms are.
	perNamespace = 50
)

// scaleModule is inline CUE: a ConfigMap with a text of the Transform and one that all of a
// namespace share, and a Deployment of one pod.
const scaleModule = `package m

ropewalk: apiVersion: "v1alpha1"
#Input: {text: string, shared: string}
input: #Input
context: {name: string, namespace: string, ...}
graph: nodes: config: object: {
	apiVersion: "v1", kind: "ConfigMap"
	metadata: {name: context.name, namespace: context.namespace}
	data: {text: input.text, shared: input.shared}
}
graph: nodes: app: object: {
	apiVersion: "apps/v1", kind: "Deployment"
	metadata: {name: context.name, namespace: context.namespace}
	spec: {
		replicas: 1
		selector: matchLabels: app: context.name
		template: {
			metadata: labels: app: context.name
			spec: containers: [{name: "a", image: "registry.example/a:1"}]
		}
	}
}
`

// shardOf is the shard of a Transform by its number.
func shardOf(i int) string { return fmt.Sprintf("shard%d", i%shardCount+1) }

// startShard starts the controller of a shard and waits until it leads: it is Ready then. Its
// lease lasts as long as by default, so that a busy machine does not end it.
func startShard(t *testing.T, c *Cluster, shard string, more ...string) replica {
	t.Helper()
	r := startReplica(t, c, "ropewalk-controller-"+shard, append([]string{
		"--memory-total=896MiB", "--watch-label-selector=" + shardKey + "=" + shard,
		"--leader-election-lease-duration=35s", "--leader-election-renew-deadline=30s", "--leader-election-retry-period=5s",
	}, more...)...)
	r.awaitLead(t, c)
	return r
}

func (r replica) awaitLead(t *testing.T, c *Cluster) {
	t.Helper()
	c.Await(t, startup, r.Name+" leads", func() bool { _, ok := page(t.Context(), r.health, "/readyz"); return ok })
}

// sumOf is the sum of a metric over those of its labels that have a text in them.
func sumOf(t *testing.T, metrics, name, label string) float64 {
	t.Helper()
	sum := 0.0
	for _, line := range regexp.MustCompile(`(?m)^`+name+`\{([^}]*)\} (\S+)$`).FindAllStringSubmatch(metrics, -1) {
		if strings.Contains(line[1], label) {
			value, err := strconv.ParseFloat(line[2], 64)
			require.NoError(t, err)
			sum += value
		}
	}
	return sum
}

// sight is what a watch has told of a Transform.
type sight struct {
	generation int64
	digest     string
	// published and ready are since when it is, for its generation and digest; ready is zero
	// while it is not.
	published, ready time.Time
}

// scale is many Transforms in several shards.
type scale struct {
	*Cluster
	t        *testing.T
	count    int
	replicas []replica
	gauges   []*gauge
	// asked counts requests to the registry, each of which takes delay longer.
	asked, delay atomic.Int64

	mu     sync.Mutex
	seen   map[types.NamespacedName]sight
	broken error
}

// newScale starts the controllers, and makes the namespaces.
func newScale(t *testing.T, count int) *scale {
	t.Helper()
	s := &scale{Cluster: Shared(t), t: t, count: count, seen: map[types.NamespacedName]sight{}}
	install(t, s.Cluster)
	// These are what Flux advises where there is much to do.
	for _, controller := range []*Process{s.SourceController, s.KustomizeController} {
		s.Flags(t, controller, "--concurrent=20", "--kube-api-qps=500", "--kube-api-burst=1000", "--requeue-dependency=5s")
	}
	s.OCI.Fault(func(r *http.Request) (http.Handler, bool) {
		s.asked.Add(1)
		select {
		case <-time.After(time.Duration(s.delay.Load())):
		case <-r.Context().Done():
		}
		return nil, false
	})
	t.Cleanup(func() { s.OCI.Fault(nil) })
	for i := range shardCount {
		r, g := startShard(t, s.Cluster, shardOf(i)), &gauge{}
		g.watch(t, r.Process)
		s.replicas, s.gauges = append(s.replicas, r), append(s.gauges, g)
	}
	for i := 0; i < count; i += perNamespace {
		s.namespace(t, s.space(i))
		s.share(i, "first")
	}
	s.watch()
	return s
}

// space is the namespace of a Transform by its number, and key its name in that.
func (*scale) space(i int) string { return fmt.Sprintf("scale-%d", i/perNamespace) }

func (s *scale) key(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: s.space(i), Name: fmt.Sprintf("app-%05d", i)}
}

// share sets what the Transforms of the namespace of one of them share.
func (s *scale) share(i int, text string) {
	s.t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shared", Namespace: s.space(i)}, Data: map[string]string{"text": text}}
	if text == "first" {
		require.NoError(s.t, s.Client.Create(s.t.Context(), m))
		return
	}
	require.NoError(s.t, s.Client.Update(s.t.Context(), m))
}

// transform is the one of a number.
func (s *scale) transform(i int) client.Object {
	key := s.key(i)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Transform",
		"metadata": map[string]any{"name": key.Name, "namespace": key.Namespace, "labels": map[string]any{shardKey: shardOf(i)}},
		"spec": map[string]any{
			"cueRef":     map[string]any{"type": "inline", "ref": scaleModule},
			"input":      map[string]any{"text": "first"},
			"inputsFrom": []any{map[string]any{"kind": "ConfigMap", "name": "shared", "key": "text", "targetPath": "shared"}},
			"output":     map[string]any{"oci": map[string]any{"repository": fmt.Sprintf("oci://%s/%s/%s", s.Registry, key.Namespace, key.Name), "insecure": true}},
		},
	}}
}

// each calls f for each Transform by its number, eight at a time.
func (s *scale) each(f func(i int) error) {
	s.t.Helper()
	var wait sync.WaitGroup
	failures := make([]error, 8)
	for w := range failures {
		wait.Go(func() {
			for i := w; i < s.count && failures[w] == nil; i += len(failures) {
				failures[w] = f(i)
			}
		})
	}
	wait.Wait()
	require.NoError(s.t, errors.Join(failures...))
}

// watch follows all Transforms until the test ends: to list them again and again would take
// more than what is measured.
func (s *scale) watch() {
	s.t.Helper()
	watcher, err := client.NewWithWatch(s.Config, client.Options{Scheme: s.Client.Scheme(), Mapper: s.Client.RESTMapper()})
	require.NoError(s.t, err)
	follow := func() error {
		changes, err := watcher.Watch(s.t.Context(), &v1alpha1.TransformList{}, client.HasLabels{shardKey})
		if err != nil {
			return err
		}
		for event := range changes.ResultChan() {
			t, ok := event.Object.(*v1alpha1.Transform)
			if !ok {
				return fmt.Errorf("the watch says %v", event.Object)
			}
			s.see(t)
		}
		return nil // The server ends a watch that is slow; the next one begins with all there is.
	}
	go func() {
		for s.t.Context().Err() == nil {
			if err := follow(); err != nil {
				s.mu.Lock()
				s.broken = err
				s.mu.Unlock()
				return
			}
		}
	}()
}

// see takes down what a Transform says now.
func (s *scale) see(t *v1alpha1.Transform) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, now := client.ObjectKeyFromObject(t), time.Now()
	is := s.seen[key]
	rendered := apimeta.FindStatusCondition(t.Status.Conditions, v1alpha1.RenderedCondition)
	if t.Generation != is.generation {
		is = sight{generation: t.Generation, digest: is.digest}
	}
	isRendered := rendered != nil && rendered.Status == metav1.ConditionTrue && rendered.ObservedGeneration == t.Generation
	if isRendered && t.Status.Artifact != nil && (is.published.IsZero() || t.Status.Artifact.Digest != is.digest) {
		is.published, is.digest, is.ready = now, t.Status.Artifact.Digest, time.Time{}
	}
	isReady := t.Status.ObservedGeneration == t.Generation && apimeta.IsStatusConditionTrue(t.Status.Conditions, meta.ReadyCondition)
	switch {
	case !isReady || is.published.IsZero():
		is.ready = time.Time{}
	case is.ready.IsZero():
		is.ready = now
	}
	s.seen[key] = is
}

// look is a copy of what is known of all Transforms.
func (s *scale) look() map[types.NamespacedName]sight {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NoError(s.t, s.broken)
	out := make(map[types.NamespacedName]sight, len(s.seen))
	for key, is := range s.seen {
		out[key] = is
	}
	return out
}

// one is what is known of one of them.
func (s *scale) one(i int) sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[s.key(i)]
}

// await waits until all are as is says, which gives since when. It prints how far they are every
// ten seconds, and the result is how long it took from a start until the last one was.
func (s *scale) await(what string, start time.Time, within time.Duration, is func(types.NamespacedName, sight) time.Time) time.Duration {
	s.t.Helper()
	for told := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		done, last := 0, start
		for key, at := range s.look() {
			if since := is(key, at); !since.IsZero() {
				done++
				if since.After(last) {
					last = since
				}
			}
		}
		if done >= s.count {
			return last.Sub(start)
		}
		for _, r := range s.replicas {
			require.True(s.t, r.Running(), "%s has ended at the stage %q: the machine may be too busy for its lease", r.Name, what)
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			s.OCI.Reset() // It remembers every request.
			s.t.Logf("%s: %d of %d after %s; load %s", what, done, s.count, time.Since(start).Round(time.Second), load())
		}
		require.Less(s.t, time.Since(start), within, "the stage %q has its limit: %d of %d Transforms got there", what, done, s.count)
	}
}

// limit is how long a stage may take, that of a busy machine.
func (s *scale) limit() time.Duration { return 3*time.Minute + time.Duration(s.count)*time.Second }

// edit changes the text of a Transform, and returns how long it takes until it is published and
// until it is Ready.
func (s *scale) edit(i int, text string) (published, ready time.Duration) {
	s.t.Helper()
	before, start := s.one(i), time.Now()
	o := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: s.key(i).Namespace, Name: s.key(i).Name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"input":{"text":"`+text+`"}}}`))
	require.NoError(s.t, s.Client.Patch(s.t.Context(), o, patch))
	var is sight
	s.Await(s.t, 5*time.Minute, s.key(i).String()+" is edited and Ready", func() bool {
		is = s.one(i)
		return is.generation > before.generation && !is.ready.IsZero()
	})
	return is.published.Sub(start), is.ready.Sub(start)
}

// taken is what the programs have taken until now.
type taken struct {
	at time.Time
	// replicas, flux and plane are times of processors: of our controllers, of Flux, and of the
	// API server with etcd.
	replicas, flux, plane time.Duration
	// requests are those of our controllers to the API server, and all those that it got.
	requests, all float64
	asked         int64
	// kinds are the requests that the API server got, by verb and resource.
	kinds map[string]float64
}

// since prints how many requests of each kind the API server got for each Transform, where that
// is one for two of them at least.
func (s *scale) since(before, after taken) {
	for _, kind := range slices.Sorted(maps.Keys(after.kinds)) {
		if each := (after.kinds[kind] - before.kinds[kind]) / float64(s.count); each >= 0.5 {
			s.t.Logf("%5.1f %s for each", each, kind)
		}
	}
}

// take reads it.
func (s *scale) take() taken {
	s.t.Helper()
	out := taken{at: time.Now(), asked: s.asked.Load()}
	for _, r := range s.replicas {
		out.replicas += cpuOf(r.Pid())
		text, _ := page(s.t.Context(), r.metrics, "/metrics")
		out.requests += sumOf(s.t, text, "rest_client_requests_total", "")
	}
	out.flux = ownCPU(s.SourceController.Pid()) + ownCPU(s.KustomizeController.Pid())
	out.plane = ownCPU(s.APIServer.Pid()) + ownCPU(s.Etcd.Pid())
	text := s.Kubectl(s.t, "get", "--raw", "/metrics")
	out.all, out.kinds = sumOf(s.t, text, "apiserver_request_total", ""), map[string]float64{}
	for _, m := range regexp.MustCompile(`(?m)^apiserver_request_total\{.*resource="([^"]*)".*subresource="([^"]*)",verb="([^"]*)".*\} (\S+)$`).FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(m[4], 64)
		require.NoError(s.t, err)
		out.kinds[strings.TrimSuffix(m[3]+" "+m[1]+"/"+m[2], "/")] += value
	}
	return out
}

// profile keeps a profile of the first controller in the folder ROPEWALK_SPEED_PROFILES, where
// that is set.
func (s *scale) profile(name, path string) {
	s.t.Helper()
	n := &tenant{Cluster: s.Cluster, t: s.t, controller: s.replicas[0]}
	if os.Getenv("ROPEWALK_SPEED_PROFILES") != "" {
		n.profile(name, path)
	}
}
