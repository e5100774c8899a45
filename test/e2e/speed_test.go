// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// The tests of speed print figures with the load of the machine. ROPEWALK_SPEED=1 has
// them measure as much as the bounds are of, and hold them to the bounds, which are those
// of a machine with two cores and nothing else to do; without it they measure a little.

// thorough says that the bounds count.
func thorough() bool { return os.Getenv("ROPEWALK_SPEED") == "1" }

// figure prints what was measured, and fails where it is over its bound and that counts;
// the test goes on to its other figures.
func figure(t *testing.T, what string, took, bound time.Duration) {
	t.Helper()
	t.Logf("%s: %s, of %s at most; load %s", what, took.Round(time.Millisecond), bound, load())
	if thorough() && took > bound {
		t.Errorf("%s: %s", what, took)
	}
}

// newLeader is a tenant whose controller leads: what is measured is not how long it takes
// to get the lease.
func newLeader(t *testing.T, flags ...string) *tenant {
	t.Helper()
	n := newTenant(t, flags...)
	n.Await(t, startup, "the controller leads", func() bool { return n.controller.leads(t) })
	return n
}

// load is how many processes have wanted to run in the last minute.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(data))[0]
}

// percentile is the value that so many hundredths do not exceed.
func percentile(all []time.Duration, hundredths int) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)*hundredths+99)/100-1]
}

// fluxProject is the project with a text, whose object says where it is, as Flux wants.
func fluxProject(text string) map[string]string {
	files := project(text)
	for name, content := range files {
		files[name] = strings.NewReplacer("#Input: text", "context: {namespace: string, ...}\n#Input: text",
			`metadata: name: "greeting"`, `metadata: {name: "greeting", namespace: context.namespace}`).Replace(content)
	}
	return files
}

// sent is when the registry was sent a manifest last. That is before what belongs to the
// manifest is attached, and before a tag leads to it.
func (n *tenant) sent() (last func() time.Time) {
	var at atomic.Pointer[time.Time]
	n.OCI.Fault(func(r *http.Request) (http.Handler, bool) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/rw") {
			now := time.Now()
			at.Store(&now)
		}
		return nil, false
	})
	n.t.Cleanup(func() { n.OCI.Fault(nil) })
	return func() time.Time { return *at.Load() }
}

// TestANewRevisionIsPublishedAndApplied measures from the moment at which
// source-controller says that it has a revision, as watches tell it, to that at which the
// status names what was pushed: with all that belongs to it, and under its tag.
func TestANewRevisionIsPublishedAndApplied(t *testing.T) {
	n, revisions := newLeader(t), 5
	if thorough() {
		revisions = 30
	}
	repository := n.Git(t)
	repository.Commit(fluxProject("text-0"))
	n.appOf(repository.URL)
	n.ready("app")
	j := n.journal(t, n.namespace, sourcev1.GroupVersion.WithKind("GitRepository"), v1alpha1.GroupVersion.WithKind("Transform"), corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	var manifests, published, applied, ready []time.Duration
	sent := n.sent()
	for i := range revisions {
		text := "text-" + strconv.Itoa(i+1)
		hash := repository.Commit(fluxProject(text))
		n.fetch(t, n.namespace, "app", hash)
		is := func(of identity, want string, fields ...string) time.Time {
			var at *change
			n.Await(t, soon, of.String()+" has "+want, func() bool {
				at = j.first(t, of, func(o *unstructured.Unstructured) bool {
					value, _, _ := unstructured.NestedString(o.Object, fields...)
					return strings.Contains(value, want)
				})
				return at != nil
			})
			return at.at
		}
		stored := is(identity{sourcev1.GroupVersion.Group, "GitRepository", n.namespace, "app"}, hash, "status", "artifact", "revision")
		transform := identity{v1alpha1.GroupVersion.Group, "Transform", n.namespace, "app"}
		pushed := is(transform, hash, "status", "artifact", "revision")
		manifests = append(manifests, sent().Sub(stored))
		n.requirePushed("app")
		changed := is(identity{"", "ConfigMap", n.namespace, "greeting"}, text, "data", "text")
		n.ready("app")
		published, applied, ready = append(published, pushed.Sub(stored)), append(applied, changed.Sub(pushed)), append(ready, time.Since(stored))
	}
	t.Logf("%d revisions; source to Ready: %s median, %s at the 95th percentile", revisions, percentile(ready, 50).Round(time.Millisecond), percentile(ready, 95).Round(time.Millisecond))
	t.Logf("source to published: %s median; published to applied: %s median", percentile(published, 50).Round(time.Millisecond), percentile(applied, 50).Round(time.Millisecond))
	t.Logf("source to the manifest at the registry: %s median, %s at the 95th percentile", percentile(manifests, 50).Round(time.Millisecond), percentile(manifests, 95).Round(time.Millisecond))
	figure(t, "a revision in the source to published, 95th percentile", percentile(published, 95), time.Second)
	figure(t, "published to applied by Flux, 95th percentile", percentile(applied, 95), 2*time.Second)
}

// requirePushed asks the registry for what the status of a Transform names.
func (n *tenant) requirePushed(name string) {
	n.t.Helper()
	url := fmt.Sprintf("http://%s/v2/%s/%s/manifests/%s", n.Registry, n.namespace, name, n.get(name).Status.Artifact.Digest)
	request, err := http.NewRequestWithContext(n.t.Context(), http.MethodHead, url, nil)
	require.NoError(n.t, err)
	request.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json") // a registry has others in mind else
	answer, err := http.DefaultClient.Do(request)
	require.NoError(n.t, err)
	require.NoError(n.t, answer.Body.Close())
	require.Equal(n.t, http.StatusOK, answer.StatusCode, url)
}

// chainModule is five ConfigMaps, each of which comes after the one before is ready,
// which it is at once. The last one has the input.
const chainModule = `package chain

ropewalk: apiVersion: "v1alpha1"
#Input: leaf: string
input: #Input
context: {namespace: string, ...}
graph: nodes: {
	for i in [0, 1, 2, 3, 4] {
		"n\(i)": {
			object: {
				apiVersion: "v1", kind: "ConfigMap"
				metadata: {name: "n\(i)", namespace: context.namespace}
				data: value: [if i == 4 {input.leaf}, "same"][0]
			}
			if i < 4 {readyWhen: [{type: "CEL", expr: "has(object.data.value)"}]}
			if i > 0 {dependsOn: ["n\(i-1)"]}
		}
	}
}
`

// deployments is the same chain of Deployments, which have no word for when they are ready:
// Flux looks at them every few seconds.
func deployments() string {
	const configMap = `apiVersion: "v1", kind: "ConfigMap"
				metadata: {name: "n\(i)", namespace: context.namespace}
				data: value: [if i == 4 {input.leaf}, "same"][0]
`
	deployment := `apiVersion: "apps/v1", kind: "Deployment"
				metadata: {name: "n\(i)", namespace: context.namespace, annotations: value: [if i == 4 {input.leaf}, "same"][0]}
				spec: {
					selector: matchLabels: app: "n\(i)"
					template: {
						metadata: labels: app: "n\(i)"
						spec: containers: [{name: "a", image: "registry.example/a:1"}]
					}
				}
`
	return strings.NewReplacer(configMap, deployment, "\t\t\tif i < 4 {readyWhen: [{type: \"CEL\", expr: \"has(object.data.value)\"}]}\n", "").Replace(chainModule)
}

// value is what an object of the chain in a namespace says, "" where it is not there.
func (n *tenant) value(namespace, name string) string {
	m := &corev1.ConfigMap{}
	_ = n.Client.Get(n.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, m) // it may not be there
	return m.Data["value"]
}

// chain applies a chain as a Transform, and measures until it is Ready.
func (n *tenant) chain(name, module, leaf string) time.Duration {
	n.t.Helper()
	start := time.Now()
	n.Apply(n.t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: %s, namespace: %s}
spec:
  output: {oci: {repository: "oci://%s/%s/%s", insecure: true}}
  input: {leaf: %s}
  cueRef:
    type: inline
    ref: |
      %s
`, name, n.namespace, n.Registry, n.namespace, name, leaf, indented(module, 6)))
	n.ready(name)
	return time.Since(start)
}

// writes are the generation and the revision of each Kustomization of a Transform.
func (n *tenant) writes(name string) map[string]string {
	out := map[string]string{}
	for _, k := range n.kustomizations(name) {
		out[k.Labels[v1alpha1.LabelLayer]] = fmt.Sprintf("%d %s", k.Generation, k.Status.LastAppliedRevision)
	}
	return out
}

// TestAChainOfFiveLayersIsReadyFast is TestOnlyTheLayerThatChangedIsWritten with the
// controller, and with readiness that Flux has to look for. Flux has its default flags.
func TestAChainOfFiveLayersIsReadyFast(t *testing.T) {
	n := newLeader(t)
	require.NotContains(t, strings.Join(n.KustomizeController.Argv, " "), "requeue-dependency")
	figure(t, "five layers to Ready", n.chain("chain", chainModule, "one"), 10*time.Second)
	require.Equal(t, "one", n.value(n.namespace, "n4"))
	before := n.writes("chain")
	require.Len(t, before, 5)
	figure(t, "the last of five layers changed, to Ready", n.chain("chain", chainModule, "two"), 3*time.Second)
	require.Equal(t, "two", n.value(n.namespace, "n4"))
	after := n.writes("chain")
	require.NotEqual(t, before["layer-04"], after["layer-04"])
	delete(before, "layer-04")
	delete(after, "layer-04")
	require.Equal(t, before, after, "no other layer is written or applied")
	if !thorough() {
		return
	}
	t.Logf("five layers of a Deployment each, to Ready: %s; load %s", n.chain("workloads", deployments(), "one").Round(time.Millisecond), load())
	require.Len(t, n.writes("workloads"), 5)
	t.Logf("the last of them changed, to Ready: %s; load %s", n.chain("workloads", deployments(), "two").Round(time.Millisecond), load())
}

// TestAPlainChainOfKustomizationsIsSlow is what the chain is compared with: the same
// layers, as the command writes them, which Flux orders by dependsOn alone.
func TestAPlainChainOfKustomizationsIsSlow(t *testing.T) {
	if !thorough() {
		t.Skip("it takes four minutes: ROPEWALK_SPEED=1 runs it")
	}
	c := Shared(t)
	n := &tenant{Cluster: c, t: t, namespace: c.Namespace(t)}
	dir, out := filepath.Join(t.TempDir(), "plain"), filepath.Join(t.TempDir(), "out")
	build := func(leaf string) {
		for file, text := range map[string]string{
			"chain.yaml":                "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: plain}\nspec:\n  input: {leaf: " + leaf + "}\n  cueRef: {type: path, ref: ./module}\n",
			"module/cue.mod/module.cue": "module: \"example.com/chain@v0\"\nlanguage: version: \"v0.17.0\"\n",
			"module/chain.cue":          chainModule,
		} {
			path := filepath.Join(dir, file)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		c.Ropewalk(t, "build", dir, "--dialect", "flux", "--folders", "-n", n.namespace, "--plain-http", c.Registry,
			"--to", fmt.Sprintf("oci://%s/%s/plain:v1", c.Registry, n.namespace))
	}
	build("one")
	c.Ropewalk(t, "render", dir, "--dialect", "flux", "-n", n.namespace, "-o", out,
		"--repository", fmt.Sprintf("oci://%s/%s/plain:v1", c.Registry, n.namespace))
	start := time.Now()
	require.Len(t, c.deliver(t, out), 5)
	n.plainReady("plain-04", "")
	require.Equal(t, "one", n.value(n.namespace, "n4"))
	t.Logf("five Kustomizations with dependsOn, to Ready: %s; load %s", time.Since(start).Round(10*time.Millisecond), load())

	last := n.plainReady("plain-04", "")
	build("two")
	start = time.Now()
	c.Kubectl(t, "annotate", "-n", FluxNamespace, "ocirepository", "plain", "reconcile.fluxcd.io/requestedAt=two", "--overwrite")
	n.plainReady("plain-04", last)
	require.Equal(t, "two", n.value(n.namespace, "n4"))
	t.Logf("the last of five changed, to Ready: %s; load %s", time.Since(start).Round(10*time.Millisecond), load())
}

// plainReady waits until a Kustomization is Ready at a revision other than one, and gives
// it.
func (n *tenant) plainReady(name, other string) string {
	n.t.Helper()
	k := &kustomizev1.Kustomization{}
	k.Name, k.Namespace = name, FluxNamespace
	n.Await(n.t, 6*time.Minute, name+" has another revision", func() bool {
		return n.Client.Get(n.t.Context(), client.ObjectKeyFromObject(k), k) == nil && k.Status.LastAppliedRevision != other
	})
	n.AwaitReady(n.t, time.Minute, k)
	return k.Status.LastAppliedRevision
}
