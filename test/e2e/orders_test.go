// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/check/schemas"
)

// ordersPath is where the example is in this repository, and in that of the test.
const ordersPath = "cue/examples/orders"

// orders is the example for production with one target of its Gateway, in a namespace of a
// test. Its operators do not run here: the test writes what they would.
type orders struct {
	*Cluster
	t         *testing.T
	namespace string
	graph     graph
	versions  map[identity]string
	// url is that of a repository that has it.
	url string
}

// newOrders commits the example, and has the server know its kinds by the definitions that
// Ropewalk checks by.
func newOrders(t *testing.T, c *Cluster, namespace, target, dialect string) *orders {
	t.Helper()
	o := &orders{Cluster: c, t: t, namespace: namespace, versions: map[identity]string{}}
	root := t.TempDir()
	dir := filepath.Join(root, ordersPath)
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(c.modules.Root, "..", "..", ordersPath))))
	o.edit(filepath.Join(dir, "ropewalk.yaml"), "namespace: orders-prod", "namespace: "+namespace)
	// Nothing serves metrics, without which an autoscaler is never healthy.
	o.edit(filepath.Join(dir, "storefront.yaml"), "replicas: {min: 2, max: 10}", "replicas: 2")
	c.Ropewalk(t, "lock", dir)
	repository := c.Git(t)
	repository.Commit(contents(t, dir, ordersPath))
	o.url = repository.URL

	args := []string{"--env", "prod", "--values", "gateway:" + filepath.Join(dir, "targets", target+".yaml")}
	o.graph = c.graphOf(t, dir, dialect, args...)
	defined := false
	for _, object := range decode(t, []byte(c.Ropewalk(t, append([]string{"render", dir, "--dialect", dialect, "--argocd-health"}, args...)...))) {
		o.versions[identify(object)] = object.GroupVersionKind().Version
		kind := object.GroupVersionKind()
		data, err := fs.ReadFile(schemas.Definitions(), "crds/"+kind.Group+"/"+kind.Kind+".json")
		if err == nil {
			definition := &unstructured.Unstructured{}
			require.NoError(t, json.Unmarshal(data, &definition.Object))
			// A group of Kubernetes itself has to say that its definitions are approved.
			definition.SetAnnotations(map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"})
			c.apply(t, definition)
			defined = true
		}
	}
	require.True(t, defined)
	c.awaitDefinitions()
	return o
}

func (o *orders) edit(file, before, after string) {
	o.t.Helper()
	data, err := os.ReadFile(file) //nolint:gosec // a file of the test
	require.NoError(o.t, err)
	require.Contains(o.t, string(data), before)
	require.NoError(o.t, os.WriteFile(file, []byte(strings.Replace(string(data), before, after, 1)), 0o600)) //nolint:gosec // a file of the test
}

// fromReadme is a block of YAML of the README of the example, with what readers put in.
func (o *orders) fromReadme(begins string, replacements ...string) string {
	o.t.Helper()
	data, err := os.ReadFile(filepath.Join(o.modules.Root, "..", "..", ordersPath, "README.md"))
	require.NoError(o.t, err)
	block := regexp.MustCompile("(?s)```yaml\n(" + begins + ".*?)```").FindStringSubmatch(string(data))
	require.NotNil(o.t, block, begins)
	for i := 0; i < len(replacements); i += 2 {
		require.Contains(o.t, block[1], replacements[i])
	}
	return strings.NewReplacer(replacements...).Replace(block[1])
}

// there are the objects of a wave that the server has.
func (o *orders) there(wave int) (out []identity) {
	o.t.Helper()
	for _, n := range o.graph.Nodes {
		if n.Wave != wave {
			continue
		}
		object := o.object(n.Object)
		err := o.Client.Get(o.t.Context(), client.ObjectKeyFromObject(object), object)
		require.True(o.t, err == nil || apierrors.IsNotFound(err), "%v", err)
		if err == nil {
			out = append(out, n.Object)
		}
	}
	return out
}

func (o *orders) object(of identity) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(strings.TrimPrefix(of.Group+"/"+o.versions[of], "/"))
	object.SetKind(of.Kind)
	object.SetNamespace(of.Namespace)
	object.SetName(of.Name)
	return object
}

// operated are the kinds whose controllers write that they are ready, in the order in which
// the test does, and whether both engines wait for them.
func operated() []struct {
	kind       string
	waited     bool
	conditions []string
} {
	return []struct {
		kind       string
		waited     bool
		conditions []string
	}{
		{"Service.serving.knative.dev", false, []string{"ConfigurationsReady", "RoutesReady", "Ready"}},
		{"ScaledObject.keda.sh", false, []string{"Ready"}},
		{"ClusterSecretStore.external-secrets.io", true, []string{"Ready"}},
		{"ExternalSecret.external-secrets.io", true, []string{"Ready"}},
		{"Cluster.postgresql.cnpg.io", true, []string{"Ready"}},
	}
}

// operate goes through the waves. In each it waits until all of it is made, and writes as the
// controllers would that one kind after the other is ready. Before it does so for a kind that
// is waited for, nothing of a later wave may be there. It gives the kinds that held a wave.
func (o *orders) operate() (held []string) {
	o.t.Helper()
	began := time.Now()
	say := func(format string, args ...any) {
		o.t.Logf("%6.2f s: "+format, append([]any{time.Since(began).Seconds()}, args...)...)
	}
	for wave := range o.graph.Waves {
		var all []identity
		for _, n := range o.graph.Nodes {
			if n.Wave == wave {
				all = append(all, n.Object)
			}
		}
		o.Await(o.t, time.Minute, fmt.Sprintf("wave %d is made", wave), func() bool { return len(o.there(wave)) == len(all) })
		say("wave %d is made: %d objects", wave, len(all))
		for _, kind := range operated() {
			objects := slices.DeleteFunc(slices.Clone(all), func(i identity) bool { return i.Kind+"."+i.Group != kind.kind })
			if len(objects) == 0 {
				continue
			}
			if kind.waited && wave+1 < o.graph.Waves {
				time.Sleep(3 * time.Second) // which is how long an engine needs to go on, and more
				require.Empty(o.t, o.there(wave+1), "they are made before %s of wave %d is ready", kind.kind, wave)
				say("nothing follows while %d of %s are not ready", len(objects), kind.kind)
				held = append(held, fmt.Sprintf("%d %s", wave, kind.kind))
			}
			for _, of := range objects {
				o.report(of, kind.conditions)
			}
		}
	}
	return held
}

// report writes the status of an object that is ready.
func (o *orders) report(of identity, types []string) {
	o.t.Helper()
	conditions := []any{}
	for _, name := range types {
		conditions = append(conditions, map[string]any{
			"type": name, "status": "True", "reason": "Done", "message": "it is", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		})
	}
	text, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions}})
	require.NoError(o.t, err)
	require.NoError(o.t, o.Client.Status().Patch(o.t.Context(), o.object(of), client.RawPatch("application/merge-patch+json", text)))
}

// gates are the kinds that have to hold a wave.
func gates() []string {
	return []string{
		"0 ClusterSecretStore.external-secrets.io", "0 ExternalSecret.external-secrets.io", "0 Cluster.postgresql.cnpg.io",
		"1 ExternalSecret.external-secrets.io",
	}
}

// TestFluxAppliesTheOrdersInWaves has a Transform, as in the README of the example, applied
// by Flux for Envoy Gateway.
func TestFluxAppliesTheOrdersInWaves(t *testing.T) {
	n := newTenant(t)
	n.Flags(t, n.KustomizeController, "--requeue-dependency=1s")
	n.deployer()
	o := newOrders(t, n.Cluster, n.namespace, "envoy-gateway", "flux")
	n.gitRepository(t, n.namespace, "orders", o.url)
	n.Kubectl(t, "-n", n.namespace, "create", "configmap", "target",
		"--from-file=values.yaml="+filepath.Join(n.modules.Root, "..", "..", ordersPath, "targets", "envoy-gateway.yaml"))
	n.Apply(t, o.fromReadme("apiVersion", "namespace: orders", "namespace: "+n.namespace, "\nspec:\n", fmt.Sprintf(`
spec:
  serviceAccountName: deployer
  output: {oci: {repository: "oci://%s/%s/orders", insecure: true}}
`, n.Registry, n.namespace)))
	require.Equal(t, gates(), o.operate())
	done := n.settled("orders", v1alpha1.SucceededReason, nil)
	require.Len(t, done.Status.Layers, o.graph.Waves)
	allowed(t, n.controller)
}

// TestArgoCDAppliesTheOrdersInWaves has an Application, as in the README of the example,
// render by the plugin for Traefik, with the health checks of the component.
func TestArgoCDAppliesTheOrdersInWaves(t *testing.T) {
	c := Shared(t)
	a := c.ArgoCD(t)
	a.Plugin(t)
	a.configure(t, "../../deploy/argocd/health/argocd-cm.yaml")
	o := newOrders(t, c, c.Namespace(t), "traefik", "argocd")
	a.Application(t, "orders", o.fromReadme("source", "https://git.example.com/orders.git", o.url)+fmt.Sprintf(`
project: default
destination: {server: "https://kubernetes.default.svc", namespace: %s}
syncPolicy: {automated: {prune: true, selfHeal: true}}
`, o.namespace))
	require.Equal(t, gates(), o.operate())
	a.AwaitSynced(t, soon, "orders")
	a.AwaitHealthy(t, soon, "orders")
}
