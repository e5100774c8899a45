// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package validators

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// cluster is what KEDA's webhooks need of a manager: a client with indexes over objects, and
// a server. Its other methods are not called.
type cluster struct {
	manager.Manager
	scheme  *runtime.Scheme
	builder *fake.ClientBuilder
	client  client.WithWatch
	server  webhook.Server
}

func (c *cluster) GetConfig() *rest.Config                      { return &rest.Config{} }
func (c *cluster) GetScheme() *runtime.Scheme                   { return c.scheme }
func (c *cluster) GetFieldIndexer() client.FieldIndexer         { return indexer{c.builder} }
func (c *cluster) GetRESTMapper() meta.RESTMapper               { return c.client.RESTMapper() }
func (c *cluster) GetEventRecorder(string) events.EventRecorder { return &events.FakeRecorder{} }
func (c *cluster) GetWebhookServer() webhook.Server             { return c.server }
func (c *cluster) GetClient() client.Client {
	if c.client == nil {
		c.client = c.builder.Build()
	}
	return c.client
}

// indexer puts indexes into a client that is not built yet.
type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, o client.Object, field string, values client.IndexerFunc) error {
	i.WithIndex(o, field, values)
	return nil
}

// webhooks are those of KEDA, beside the workloads and autoscalers of a render.
func webhooks(t *testing.T, r Rendered) (*cluster, string) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, kubernetes.AddToScheme(scheme))
	require.NoError(t, keda.AddToScheme(scheme))
	c := &cluster{scheme: scheme, builder: fake.NewClientBuilder().WithScheme(scheme), server: webhook.NewServer(webhook.Options{})}
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		for _, o := range r.Of("apps", kind) {
			c.builder.WithObjects(o)
		}
	}
	for _, o := range r.Of("autoscaling", "HorizontalPodAutoscaler") {
		c.builder.WithObjects(o)
	}
	require.NoError(t, (&keda.ScaledObject{}).SetupWebhookWithManager(c, false))
	require.NoError(t, (&keda.TriggerAuthentication{}).SetupWebhookWithManager(c))
	server := httptest.NewServer(c.server.WebhookMux())
	t.Cleanup(server.Close)
	return c, server.URL + "/validate-keda-sh-v1alpha1-"
}

func TestKEDATakesScaledObjects(t *testing.T) {
	found := 0
	for _, r := range Examples(t) {
		c, url := webhooks(t, r)
		for _, kind := range []string{"TriggerAuthentication", "ScaledObject"} {
			for _, o := range r.Of("keda.sh", kind) {
				require.Empty(t, Review(t, http.DefaultClient, url+strings.ToLower(kind), o), "%s %s", r.Name, o.GetName())
				require.NoError(t, c.client.Create(t.Context(), o.DeepCopy()))
				found++
			}
		}
	}
	require.Greater(t, found, 10)
}

// What KEDA refuses is refused by Ropewalk before, at the line of the author.
func TestWhatKEDARefusesIsAMistakeOfTheAuthor(t *testing.T) {
	const workload = "apiVersion: ropewalk.dev/v1alpha1\nkind: Workload\nmetadata: {name: worker}\nspec:\n  replicas: REPLICAS\n" +
		"  containers: {worker: {image: example.com/worker:1, resources: {requests: {CPU}}}}\n"
	const good = `{min: 0, max: 5, cpu: 70, queue: {name: jobs, address: "valkey.shop:6379"}}`
	folder := t.TempDir()
	render := func(replicas, requests string) ([]byte, string) {
		text := strings.NewReplacer("REPLICAS", replicas, "CPU", requests).Replace(workload)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "worker.yaml"), []byte(text), 0o600))
		stdout, stderr, _ := Render(t, filepath.Join(folder, "worker.yaml"))
		return stdout, string(stderr)
	}
	stream, mistakes := render(good, "cpu: 1")
	require.Empty(t, mistakes)
	r := Rendered{"good", Objects(t, stream)}
	for _, c := range []struct {
		name, replicas, requests string
		// want is what Ropewalk reports, and refused what KEDA does of the object after change.
		want, refused string
		change        func(*keda.ScaledObject, *apps.Deployment)
	}{
		{
			"max below min", `{min: 9, max: 5, queue: {name: jobs, address: "valkey.shop:6379"}}`, "cpu: 1",
			"max is 5, less than min, which is 9", "MinReplicaCount=9 must be less than MaxReplicaCount=5",
			func(o *keda.ScaledObject, _ *apps.Deployment) { o.Spec.MinReplicaCount = new(int32(9)) },
		},
		{
			"no pod, and only the processor to start one", `{min: 0, max: 5, cpu: 70}`, "cpu: 1",
			"an autoscaler keeps one pod at least", "scale to zero doesn't work",
			func(o *keda.ScaledObject, _ *apps.Deployment) { o.Spec.Triggers = o.Spec.Triggers[1:] },
		},
		{
			"a share of a request that is not there", good, "", "request", "doesn't have the cpu request defined",
			func(_ *keda.ScaledObject, d *apps.Deployment) {
				d.Spec.Template.Spec.Containers[0].Resources.Requests = nil
			},
		},
		{
			"no trigger", `{min: 0, max: 5}`, "cpu: 1", "an autoscaler keeps one pod at least", "no triggers defined",
			func(o *keda.ScaledObject, _ *apps.Deployment) { o.Spec.Triggers = nil },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, mistakes := render(c.replicas, c.requests)
			require.Contains(t, mistakes, c.want)
			require.Regexp(t, `worker.yaml:\d+:\d+: spec`, mistakes)
			o, d := As[keda.ScaledObject](t, r.Of("keda.sh", "ScaledObject")[0]), As[apps.Deployment](t, r.Of("apps", "Deployment")[0])
			c.change(o, d)
			_, url := webhooks(t, Rendered{"changed", []*unstructured.Unstructured{untyped(t, d)}})
			require.Contains(t, Review(t, http.DefaultClient, url+"scaledobject", untyped(t, o)), c.refused)
		})
	}
	t.Run("two for one workload", func(t *testing.T) {
		c, url := webhooks(t, r)
		first := r.Of("keda.sh", "ScaledObject")[0]
		require.NoError(t, c.client.Create(t.Context(), first.DeepCopy()))
		second := first.DeepCopy()
		second.SetName("other")
		require.Contains(t, Review(t, http.DefaultClient, url+"scaledobject", second), "is already managed by the ScaledObject")
	})
}

func untyped(t *testing.T, o runtime.Object) *unstructured.Unstructured {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	require.NoError(t, err)
	return &unstructured.Unstructured{Object: fields}
}
