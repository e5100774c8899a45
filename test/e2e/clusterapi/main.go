// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Command capi-cloud is the in-memory cloud of Cluster API's own tests, for several
// management clusters at once: for each --plane it runs the reconcilers of DevCluster and
// DevMachine with their webhooks, and all of them share the machines of one cloud. So the
// machines outlive the management cluster that made them, as those of a real cloud do.
//
// GET /clusters/NAMESPACE/NAME on --listen is what the cloud has of a Cluster: its
// machines with the time that each was created, and a journal of every creation and
// deletion. DELETE /clusters/NAMESPACE/NAME/MACHINE deletes a machine behind the back of
// Cluster API.
//
// Callers: test/pivot, which starts it and reads the machines from it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/test/infrastructure/container"
	infrav1 "sigs.k8s.io/cluster-api/test/infrastructure/docker/api/v1beta2"
	"sigs.k8s.io/cluster-api/test/infrastructure/docker/controllers"
	infrawebhooks "sigs.k8s.io/cluster-api/test/infrastructure/docker/webhooks"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryserver "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// loopback is the only address that anything here listens on.
const loopback = "127.0.0.1"

// plane is one management cluster that the cloud serves.
type plane struct {
	kubeconfig, certificates string
	webhookPort              int
}

// parsePlane reads KUBECONFIG,PORT,DIR: the webhooks listen on the port with tls.crt and
// tls.key of the folder.
func parsePlane(text string) (plane, error) {
	parts := strings.Split(text, ",")
	if len(parts) != 3 {
		return plane{}, fmt.Errorf("a plane is KUBECONFIG,PORT,DIR, not %q", text)
	}
	port, err := strconv.Atoi(parts[1])
	return plane{parts[0], parts[2], port}, err
}

func main() {
	klog.InitFlags(nil)
	var planes []plane
	flag.Func("plane", "KUBECONFIG,PORT,DIR of a management cluster and of its webhooks; repeated", func(text string) error {
		p, err := parsePlane(text)
		planes = append(planes, p)
		return err
	})
	listen := flag.String("listen", "", "the address that tells what machines there are")
	port := flag.Int("workload-port", 0, "the first of 100 ports for the API servers of workload clusters")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), planes, *listen, int32(*port)); err != nil { //nolint:gosec // a port
		klog.Error(err, "the cloud ends")
		os.Exit(1)
	}
}

// run ends with the first of the planes that ends.
func run(ctx context.Context, planes []plane, listen string, port int32) error {
	inside, err := schemeOf(cloudv1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme,
		storagev1.AddToScheme, apiextensionsv1.AddToScheme, policyv1.AddToScheme)
	if err != nil {
		return err
	}
	machines := inmemoryruntime.NewManager(inside)
	if err := machines.Start(ctx); err != nil {
		return err
	}
	// The port before the first one is that of a debugging endpoint, which is not wanted
	// but cannot be turned off.
	mux, err := inmemoryserver.NewWorkloadClustersMux(machines, loopback,
		inmemoryserver.CustomPorts{MinPort: port + 1, MaxPort: port + 99, DebugPort: port})
	if err != nil {
		return err
	}
	ended := make(chan error)
	for _, p := range planes {
		manager, err := newManager(ctx, p, machines, mux)
		if err != nil {
			return fmt.Errorf("%s: %w", p.kubeconfig, err)
		}
		go func() { ended <- manager.Start(ctx) }()
	}
	go func() { ended <- serve(ctx, listen, machines.GetCache()) }()
	return <-ended
}

// newManager makes the reconcilers and webhooks of one plane. It talks to no container
// runtime: the client for one is only asked for by what has no machines in memory.
func newManager(ctx context.Context, p plane, machines inmemoryruntime.Manager, mux *inmemoryserver.WorkloadClustersMux) (ctrl.Manager, error) {
	scheme, err := schemeOf(clientgoscheme.AddToScheme, infrav1.AddToScheme, clusterv1.AddToScheme)
	if err != nil {
		return nil, err
	}
	rest, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		return nil, err
	}
	rest.QPS = -1 // tests do not wait for each other
	anyName := true
	manager, err := ctrl.NewManager(rest, ctrl.Options{
		Scheme:        scheme,
		Controller:    config.Controller{SkipNameValidation: &anyName}, // there is one of each for every plane
		Metrics:       metricsserver.Options{BindAddress: "0"},
		Client:        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}}, Unstructured: true}},
		WebhookServer: webhook.NewServer(webhook.Options{Host: loopback, Port: p.webhookPort, CertDir: p.certificates}),
	})
	if err != nil {
		return nil, err
	}
	clusters, err := clustercache.SetupWithManager(ctx, manager, clustercache.Options{
		SecretClient: manager.GetClient(), Client: clustercache.ClientOptions{UserAgent: "capi-cloud"},
	}, controller.Options{})
	if err != nil {
		return nil, err
	}
	containers, err := container.NewDockerClient()
	if err != nil {
		return nil, err
	}
	return manager, errors.Join(
		(&controllers.DevMachineReconciler{
			Client: manager.GetClient(), ContainerRuntime: containers, ClusterCache: clusters, InMemoryManager: machines, APIServerMux: mux,
		}).SetupWithManager(ctx, manager, controller.Options{MaxConcurrentReconciles: 10}),
		(&controllers.DevClusterReconciler{
			Client: manager.GetClient(), ContainerRuntime: containers, InMemoryManager: machines, APIServerMux: mux,
		}).SetupWithManager(ctx, manager, controller.Options{MaxConcurrentReconciles: 10}),
		(&infrawebhooks.DevMachine{}).SetupWebhookWithManager(manager),
		(&infrawebhooks.DevMachineTemplate{}).SetupWebhookWithManager(manager),
		(&infrawebhooks.DevCluster{}).SetupWebhookWithManager(manager),
		(&infrawebhooks.DevClusterTemplate{}).SetupWebhookWithManager(manager),
	)
}

func schemeOf(add ...func(*runtime.Scheme) error) (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, one := range add {
		if err := one(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}
