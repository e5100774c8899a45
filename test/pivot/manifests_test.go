// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

const (
	schemas = "../../render/check/schemas/crds/"
	module  = "../../cue/modules/cluster"
)

// rendered is what the command renders of a document for Flux, strictly.
func rendered(t *testing.T, w *harness.World, document string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), w.Program(t, "ropewalk"), "render", "--strict", "--dialect", "flux", document) //nolint:gosec // a command of ours
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	require.NoError(t, err, "%s", said.String())
	return out
}

// TestTheServerTakesTheManifestsOfEveryProvider: those of the examples, in a dry run with
// strict fields, by the definitions of the providers and the webhooks of Cluster API. The
// server takes the documents too, and what it adds to them by default changes no manifest.
func TestTheServerTakesTheManifestsOfEveryProvider(t *testing.T) {
	w := harness.Start(t)
	clouds, err := filepath.Glob(schemas + "infrastructure.cluster.x-k8s.io/[AG]*.json")
	require.NoError(t, err)
	require.Len(t, clouds, 10)
	w.A.Define(t, append(clouds, schemas+"cilium.io/CiliumLoadBalancerIPPool.json", "../../deploy/crds/ropewalk.dev_pivotclusters.yaml")...)
	examples, err := filepath.Glob("../../cue/examples/cluster-*/cluster.yaml")
	require.NoError(t, err)
	require.Len(t, examples, 4)
	for _, file := range examples {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			document := w.A.Judge(t, data)[0]
			w.A.Ensure(t, "{apiVersion: v1, kind: Namespace, metadata: {name: rw-"+document.GetName()+"}}")
			manifests := rendered(t, w, file)
			took := w.A.Judge(t, manifests)
			require.GreaterOrEqual(t, len(took), 7)

			spec, _, err := unstructured.NestedMap(document.Object, "spec")
			require.NoError(t, err)
			require.Contains(t, spec["controlPlane"], "replicas")
			require.Equal(t, string(manifests), string(rendered(t, w, written(t, document.GetName(), spec))))

			// The cluster itself has its pools of addresses beside them.
			spec["self"] = true
			spec["networking"].(map[string]any)["loadBalancerPools"] = []any{map[string]any{"name": "public", "cidrs": []any{"192.0.2.0/28"}}}
			self := w.A.Judge(t, rendered(t, w, transform(t, document.GetName(), spec)))
			require.Len(t, self, len(took)+1)
			require.True(t, slices.ContainsFunc(self, func(o *unstructured.Unstructured) bool { return o.GetKind() == "CiliumLoadBalancerIPPool" }))
		})
	}
}

// TestTheServerRefusesWhatTheModuleRefusesOfPools, by the rules of the definition, with the
// words by which the module refuses it at its line.
func TestTheServerRefusesWhatTheModuleRefusesOfPools(t *testing.T) {
	w := harness.Start(t)
	w.A.Define(t, "../../deploy/crds/ropewalk.dev_pivotclusters.yaml")
	const head = "apiVersion: ropewalk.dev/v1alpha1\nkind: PivotCluster\nmetadata: {name: loft}\nspec:\n" +
		"  provider: {type: docker, docker: {}}\n  kubernetesVersion: v1.36.3\n" +
		"  gitOps: {source: {kind: GitRepository, spec: {url: https://git.example.com/base}}}\n" +
		"  output: {oci: {repository: oci://registry.example.com/loft}}\n"
	for fields, says := range map[string]string{
		"autoscale: {min: 0, max: 3}, healthCheck: {}":                                       "",
		"healthCheck: {maxUnhealthy: 100%, unhealthyTimeout: 1m30s, nodeStartupTimeout: 0s}": "",
		"autoscale: {min: 4, max: 3}":                                                        "min is greater than max",
		"autoscale: {min: 0, max: 0}":                                                        "should be greater than or equal to 1",
		"replicas: 1, autoscale: {min: 1, max: 3}":                                           "the autoscaler sets how many machines there are: remove replicas, or autoscale",
		"healthCheck: {maxUnhealthy: -1}":                                                    "expected 0 to 1000 machines, or a percentage such as 40%",
		"healthCheck: {maxUnhealthy: 140%}":                                                  "should match '^(100|[0-9]{1,2})%$'",
		"healthCheck: {unhealthyTimeout: 29s}":                                               "expected a duration from 30s to 24h",
		"healthCheck: {nodeStartupTimeout: 24h1s}":                                           "expected 0s, or a duration from 30s to 24h",
		"healthCheck: {unhealthyTimeout: 99999999h}":                                         "spec.workers[0].healthCheck.unhealthyTimeout",
	} {
		o := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(head+"  workers: [{name: md, "+fields+"}]\n"), &o.Object))
		_, err := w.A.Resource(t, o).Create(t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
		if says == "" {
			require.NoError(t, err, fields)
		} else {
			require.ErrorContains(t, err, says, fields)
		}
	}
}

// written is a file with a PivotCluster.
func written(t *testing.T, name string, spec map[string]any) string {
	t.Helper()
	return document(t, map[string]any{
		"apiVersion": "ropewalk.dev/v1alpha1", "kind": "PivotCluster", "metadata": map[string]any{"name": name}, "spec": spec,
	})
}

// transform is a file with the Transform by which a controller renders it.
func transform(t *testing.T, name string, spec map[string]any) string {
	t.Helper()
	return document(t, map[string]any{
		"apiVersion": "ropewalk.dev/v1alpha1", "kind": "Transform", "metadata": map[string]any{"name": name, "namespace": "rw-" + name},
		"spec": map[string]any{"cueRef": map[string]any{"type": "embedded", "ref": "cluster"}, "input": spec},
	})
}

func document(t *testing.T, o map[string]any) string {
	t.Helper()
	data, err := json.Marshal(o)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	return file
}

// inMemory is a cluster, with what changes in a test.
const inMemory = `
apiVersion: ropewalk.dev/v1alpha1
kind: PivotCluster
metadata: {name: loft}
spec:
  provider: {type: docker, docker: {backend: inMemory}}
  kubernetesVersion: VERSION
  workers: [{name: md, replicas: REPLICAS, labels: {node.cluster.x-k8s.io/size: small}}]
  gitOps: {source: {kind: GitRepository, spec: {url: https://git.example.com/base}}}
  output: {oci: {repository: oci://registry.example.com/loft}}
`

// loft is such a cluster as the parent has it.
type loft struct {
	*harness.Cluster

	world   *harness.World
	dir     string
	applied []*unstructured.Unstructured
}

// apply renders the document and does as an engine: it applies what is rendered, and deletes
// what was before.
func (l *loft) apply(t *testing.T, version, replicas, more string) {
	t.Helper()
	file := filepath.Join(l.dir, "cluster.yaml")
	text := strings.NewReplacer("VERSION", version, "REPLICAS", replicas).Replace(inMemory) + more
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	before := l.applied
	l.applied = l.world.A.Manage(t, rendered(t, l.world, file))
	l.world.A.Prune(t, before, l.applied)
}

// names are those of its machines.
func (l *loft) names(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, m := range l.Machines(t, l.world.A) {
		out = append(out, m.GetName())
	}
	slices.Sort(out)
	return out
}

// TestARenderedClusterBecomesAvailableAndFollowsEdits by Cluster API itself, in memory. Its
// machines have the script and the token of the agent; another token replaces none of them, and
// a template of another content replaces all.
func TestARenderedClusterBecomesAvailableAndFollowsEdits(t *testing.T) {
	w := harness.Start(t)
	w.A.Ensure(t, "{apiVersion: v1, kind: Namespace, metadata: {name: rw-loft}}")
	l := &loft{Cluster: &harness.Cluster{Namespace: "rw-loft", Name: "loft", ControlPlanes: 1, Workers: 2}, world: w, dir: t.TempDir()}
	token := w.A.Ensure(t, `{apiVersion: v1, kind: Secret, metadata: {name: loft-enrol, namespace: rw-loft},
		stringData: {token: the-token-of-loft, endpoint: "https://parent.example.com:8443", ca.crt: the-authority}}`)

	began := time.Now()
	l.apply(t, "v1.35.0", "2", "")
	l.AwaitAvailable(t, w.A)
	t.Logf("available after %s", time.Since(began).Round(10*time.Millisecond))
	first := l.names(t)
	l.hasEnrolment(t)

	// Neither another token nor another number of workers replaces a machine.
	token.Object["data"].(map[string]any)["token"] = base64.StdEncoding.EncodeToString([]byte("another-token"))
	_, err := w.A.Resource(t, token).Update(t.Context(), token, metav1.UpdateOptions{})
	require.NoError(t, err)
	l.Workers = 3
	l.apply(t, "v1.35.0", "3", "")
	l.AwaitAvailable(t, w.A)
	require.Subset(t, l.names(t), first)

	// Machines of other templates replace all, though the templates of those are gone.
	own := filepath.Join(l.dir, "module")
	require.NoError(t, os.CopyFS(own, os.DirFS(module)))
	edit(t, filepath.Join(own, "infrastructure.cue"), "inMemory: {}", `inMemory: vm: provisioning: startupDuration: "1s"`)
	edit(t, filepath.Join(own, "infrastructure.cue"), "nodefs.available<0%", "nodefs.available<1%")
	began = time.Now()
	before := l.names(t)
	l.apply(t, "v1.35.0", "3", "  clusterModule: {type: path, ref: ./module}\n")
	harness.Await(t, 3*time.Minute, "all machines are replaced", func() bool {
		return !slices.ContainsFunc(l.names(t), func(name string) bool { return slices.Contains(before, name) })
	})
	l.AwaitAvailable(t, w.A)
	t.Logf("another module: all machines are replaced after %s", time.Since(began).Round(10*time.Millisecond))

	// A later version of Kubernetes upgrades.
	began = time.Now()
	before = l.names(t)
	l.apply(t, "v1.36.0", "3", "  clusterModule: {type: path, ref: ./module}\n")
	harness.Await(t, 3*time.Minute, "all machines are upgraded", func() bool {
		return !slices.ContainsFunc(l.names(t), func(name string) bool { return slices.Contains(before, name) })
	})
	l.AwaitAvailable(t, w.A)
	t.Logf("another version: all machines are replaced after %s", time.Since(began).Round(10*time.Millisecond))

	// All of it belongs to the Cluster, and goes with it when an engine deletes what it has applied.
	began = time.Now()
	w.A.Prune(t, l.applied, nil)
	harness.Await(t, 3*time.Minute, "nothing but the Secret is left", func() bool {
		return slices.Equal(w.A.Objects(t, l.Namespace), []string{"Secret/loft-enrol"})
	})
	t.Logf("deleted after %s", time.Since(began).Round(10*time.Millisecond))
}

func edit(t *testing.T, file, from, to string) {
	t.Helper()
	data, err := os.ReadFile(file) //nolint:gosec // a file of the test
	require.NoError(t, err)
	require.Contains(t, string(data), from)
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(data), from, to)), 0o600))
}

// hasEnrolment looks into what machines boot with: that of the control plane runs the script
// with the files of the Secret, and no other one has them.
func (l *loft) hasEnrolment(t *testing.T) {
	t.Helper()
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	found := 0
	for _, m := range l.Machines(t, l.world.A) {
		name, _, err := unstructured.NestedString(m.Object, "spec", "bootstrap", "dataSecretName")
		require.NoError(t, err)
		secret, err := l.world.A.Client.Resource(secrets).Namespace(l.Namespace).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		encoded, _, err := unstructured.NestedString(secret.Object, "data", "value")
		require.NoError(t, err)
		data, err := base64.StdEncoding.DecodeString(encoded)
		require.NoError(t, err)
		_, isControlPlane := m.GetLabels()["cluster.x-k8s.io/control-plane"]
		for _, part := range []string{"the-token-of-loft", "the-authority", "https://parent.example.com:8443", "path: /etc/ropewalk/enrol.sh", "/v1/manifest"} {
			require.Equal(t, isControlPlane, strings.Contains(string(data), part), "%s of %s", part, m.GetName())
		}
		if isControlPlane {
			found++
			_, commands, _ := strings.Cut(string(data), "runcmd:")
			require.Contains(t, commands, "/etc/ropewalk/enrol.sh")
		}
	}
	require.Equal(t, l.ControlPlanes, found)
}
