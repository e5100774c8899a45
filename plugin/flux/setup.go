// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/ropewalk/ropewalk/internal/limiter"
	"github.com/ropewalk/ropewalk/internal/lru"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/renders"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/request"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/storage"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/plugin/host/service"
	"github.com/ropewalk/ropewalk/plugin/host/tracing"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Defaults of Options.
const (
	DefaultConcurrent        = 8
	DefaultDependencyRequeue = 30 * time.Second
	DefaultPlanCacheBytes    = 32 << 20
	DefaultFetchTimeout      = 5 * time.Minute
)

// kubeVersionFor is the time for which the version of the API server is believed.
const kubeVersionFor = 10 * time.Minute

// SetupWithManager adds the controller of Transforms to a manager: the indexes, the watches, and
// the server of artifacts if Options.Storage is set. The manager must have Scheme, Cache and
// Uncached.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, opts Options) error {
	// The zero value of an option is its default.
	if opts.Renderer.Evaluator == nil || opts.Events == nil {
		return errors.New("Options.Renderer.Evaluator and Options.Events are required")
	}
	opts.Concurrent = cmp.Or(opts.Concurrent, DefaultConcurrent)
	opts.DependencyRequeue = cmp.Or(opts.DependencyRequeue, DefaultDependencyRequeue)
	opts.PlanCacheBytes = cmp.Or(opts.PlanCacheBytes, DefaultPlanCacheBytes)
	opts.FetchTimeout = cmp.Or(opts.FetchTimeout, DefaultFetchTimeout)
	if opts.RateLimiter == nil {
		opts.RateLimiter = runtimectrl.GetDefaultRateLimiter()
	}

	// Clients for the accounts, and the memory of this process.
	uncached, err := newClient(mgr.GetConfig(), mgr.GetHTTPClient(), mgr.GetRESTMapper(), mgr.GetScheme())
	if err != nil {
		return err
	}
	r.Client = mgr.GetClient()
	r.opts = opts
	r.cache = mgr.GetCache()
	r.direct = uncached
	r.now = time.Now
	r.accounts = &accounts{
		usual:   opts.DefaultServiceAccount,
		own:     uncached,
		config:  mgr.GetConfig(),
		mapper:  mgr.GetRESTMapper(),
		scheme:  mgr.GetScheme(),
		clients: lru.New[string, client.Client](maxAccounts),
	}
	r.plans = newPlans(opts.PlanCacheBytes)
	r.attempts = &renders.Attempts{}
	r.slots = renders.NewSlots(opts.Concurrent)
	r.counters, err = newCounters(metrics.Registry, mgr.GetClient())
	if err != nil {
		return err
	}

	// The service that renders for all Transforms, and counts evaluations.
	renderer := opts.Renderer
	renderer.Evaluator = tracing.Evaluator{Next: renderer.Evaluator, Observe: r.counters.evaluations.Observe}
	r.service = service.New(service.Options{
		Renderer:    renderer,
		Slots:       limiter.New(limiter.Options{Slots: opts.Workers}),
		Working:     opts.Working,
		Evaluations: opts.Evaluations,
		Stores:      opts.Stores,
		Version:     opts.Version,
		Report:      opts.Modules.Report,
	})

	// Modules and outputs share the connections to registries.
	modules := opts.Modules
	modules.Registries = connectOnce(modules.Registries)
	if modules.Client == nil {
		modules.Client = direct()
	}
	r.oci = publish.OCI{
		Registries: modules.Registries, DefaultServiceAccount: opts.DefaultServiceAccount,
		Identity: publish.NewIdentity(uncached, opts.WorkloadIdentity),
	}

	// The loader makes the requests of Transforms.
	version, err := kubeVersion(mgr.GetConfig(), mgr.GetHTTPClient(), opts.KubeVersion)
	if err != nil {
		return err
	}
	r.loader = &request.Loader{
		Modules: modules, Evaluation: opts.Limits, KubeVersion: version, NoCrossNamespaceRefs: opts.NoCrossNamespaceRefs,
	}

	// A Transform whose artifacts are lost, or whose neighbour changed, is reconciled by an event.
	lost := make(chan event.GenericEvent)
	r.claims = delivery.NewClaims(delivery.ClaimOptions{
		Isolated: opts.NoCrossNamespaceRefs, Settle: delivery.DefaultSettle, Wake: func(name types.NamespacedName) {
			t := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
			select {
			case lost <- event.GenericEvent{Object: t}:
			case <-ctx.Done():
			}
		},
	})
	if err := r.serve(mgr, lost); err != nil {
		return err
	}
	return r.watch(ctx, mgr, lost)
}

// connectOnce returns connect so that it is called once for each kind of connection.
func connectOnce(connect func(plain bool) (*remote.Registries, error)) func(plain bool) (*remote.Registries, error) {
	if connect == nil {
		connect = func(plain bool) (*remote.Registries, error) {
			return &remote.Registries{PlainHTTP: func(string) bool { return plain }}, nil
		}
	}
	safe := sync.OnceValues(func() (*remote.Registries, error) { return connect(false) })
	plain := sync.OnceValues(func() (*remote.Registries, error) { return connect(true) })
	return func(insecure bool) (*remote.Registries, error) {
		if insecure {
			return plain()
		}
		return safe()
	}
}

// direct returns a client for servers of the cluster, which no proxy of the environment is for.
func direct() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is never replaced
	transport.Proxy = nil
	return &http.Client{Transport: transport}
}

// kubeVersion returns a function that asks the API server for its version, and keeps the answer
// for a while. The argument fixed is a version that does not change.
func kubeVersion(config *rest.Config, web *http.Client, fixed string) (func(context.Context) (string, error), error) {
	if fixed != "" {
		version, ok := spec.ParseKubeVersion(fixed)
		if !ok {
			return nil, fmt.Errorf("%q is not a version of Kubernetes: expected one such as v1.36.3", fixed)
		}
		return func(context.Context) (string, error) { return version, nil }, nil
	}

	// The answer is kept, because an API server is upgraded seldom.
	asks, err := discovery.NewDiscoveryClientForConfigAndClient(config, web)
	if err != nil {
		return nil, err
	}
	var (
		mu    sync.Mutex
		known string
		until time.Time
	)
	return func(context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Now().Before(until) {
			return known, nil
		}
		info, err := asks.ServerVersion()
		if err != nil {
			return "", fmt.Errorf("the version of the API server: %w", err)
		}
		known = plainVersion(info.GitVersion)
		until = time.Now().Add(kubeVersionFor)
		return known, nil
	}, nil
}

// plainVersion returns a version without what vendors add to it, as in v1.36.2-gke.100.
func plainVersion(text string) string {
	v, err := version.ParseGeneric(text)
	if err != nil {
		return text
	}
	return v.String()
}

// serve adds the storage and its server, if Options.Storage is set. The channel lost gets the
// Transforms whose artifacts are gone.
func (r *Reconciler) serve(mgr ctrl.Manager, lost chan<- event.GenericEvent) error {
	o := r.opts.Storage
	if o == nil {
		return nil
	}
	files, err := storage.Open(*o)
	if err != nil {
		return err
	}
	r.storage = files
	if err := mgr.Add(storage.NewServer(files, o.Address)); err != nil {
		return err
	}
	return mgr.Add(&storage.Sweeper{Storage: files, Reader: r.direct, Lost: func(t *v1alpha1.Transform) {
		r.plans.forget(t, t.Status.Artifact.Digest)
		lost <- event.GenericEvent{Object: t}
	}})
}
