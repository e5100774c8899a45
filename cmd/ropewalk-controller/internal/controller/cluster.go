// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fluxcd/pkg/runtime/events"
	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/fluxcd/pkg/runtime/pprof"
	"github.com/go-logr/logr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux"
	pivot "github.com/ropewalk/ropewalk/plugin/pivot/controller"
)

// serve runs the controller until ctx ends.
func (f *flags) serve(ctx context.Context) error {
	log := safeLog(logger.NewLogger(f.log))
	logger.SetLogger(log)
	log.Info("starting", "version", process.CurrentRelease().String())
	if f.pivot.requireFIPS {
		if err := pivot.RequireFIPS(); err != nil {
			return fmt.Errorf("--require-fips: %w", err)
		}
	}

	// The parts are made before the manager, which runs them.
	connection, err := f.connection()
	if err != nil {
		return err
	}
	p, err := f.newParts(log)
	if err != nil {
		return err
	}
	p.shares.hold()
	mgr, err := f.manager(connection, log)
	if err == nil {
		err = f.run(ctx, mgr, p, log)
	}

	// Workers end last: renders in progress may need them while the manager drains.
	return errors.Join(err, p.close())
}

// connection returns the connection to the API server: from inside of the cluster, or by KUBECONFIG.
func (f *flags) connection() (*rest.Config, error) {
	c, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: run it in a cluster, or set KUBECONFIG", err)
	}
	c.UserAgent = flux.Name + "/" + process.CurrentRelease().Version
	c.QPS = f.qps
	c.Burst = max(f.burst, int(f.qps))
	if f.qps == 0 {
		c.QPS = -1
	}
	return c, nil
}

// manager returns the manager, which watches the API server, takes part in the election of a
// leader, and serves health and metrics.
func (f *flags) manager(connection *rest.Config, log logr.Logger) (ctrl.Manager, error) {
	// Watch only objects that the controller has rights to.
	watched := flux.Cache()
	if err := f.narrow(&watched); err != nil {
		return nil, err
	}
	recoverPanic := true
	lease := flux.Name + "-leader-election"
	if f.watch.LabelSelector != "" {
		// Shards do not wait for one another.
		lease = leaderelection.GenerateID(lease, f.watch.LabelSelector)
	}

	// A leader that lost its lease must not write any more.
	if f.leader.Enable {
		(&fence{lease: lease, lasts: f.leader.LeaseDuration}).wrap(connection)
	}
	mgr, err := ctrl.NewManager(connection, ctrl.Options{
		Scheme: flux.Scheme(), Logger: log, Cache: watched, NewCache: knownKinds,
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: flux.Uncached()}},
		Controller: config.Controller{RecoverPanic: &recoverPanic, MaxConcurrentReconciles: f.concurrent},
		Metrics:    server.Options{BindAddress: f.metrics, ExtraHandlers: pprof.GetHandlers()}, HealthProbeBindAddress: f.health,
		LeaderElection: f.leader.Enable, LeaderElectionID: lease, LeaderElectionNamespace: f.namespace,
		LeaderElectionReleaseOnCancel: f.leader.ReleaseOnCancel,
		LeaseDuration:                 &f.leader.LeaseDuration, RenewDeadline: &f.leader.RenewDeadline, RetryPeriod: &f.leader.RetryPeriod,
		GracefulShutdownTimeout: &f.drain,
	})
	if err != nil {
		return nil, err
	}
	return mgr, addProbes(mgr, f.serves() || f.pivot.has(partPivot))
}

// narrow limits the cache to the objects that this controller works on, and has rights to.
func (f *flags) narrow(watched *cache.Options) error {
	if !f.watch.AllNamespaces {
		watched.DefaultNamespaces = map[string]cache.Config{f.namespace: {}}
	}
	if namespaces := f.argocdNamespaces; len(namespaces) > 0 && !slices.Contains(namespaces, "*") {
		// The controller has no rights to look at other namespaces.
		app := &unstructured.Unstructured{}
		allowed := map[string]cache.Config{}
		app.SetGroupVersionKind(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"})
		for _, name := range namespaces {
			allowed[name] = cache.Config{}
		}
		watched.ByObject[app] = cache.ByObject{Namespaces: allowed}
	}
	if f.watch.LabelSelector == "" {
		return nil
	}
	selector, err := labels.Parse(f.watch.LabelSelector)
	if err != nil {
		return fmt.Errorf("--watch-label-selector: %w", err)
	}
	watched.ByObject[&v1alpha1.Transform{}] = cache.ByObject{Label: selector}
	return nil
}

// knownKinds returns a cache without limits for kinds that the cluster does not have: the kinds of
// Flux do not exist if Argo CD delivers, and nothing watches them then.
func knownKinds(connection *rest.Config, o cache.Options) (cache.Cache, error) {
	o.ByObject = maps.Clone(o.ByObject)
	for object := range o.ByObject {
		gvk, err := apiutil.GVKForObject(object, o.Scheme)
		if err == nil {
			_, err = o.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		}
		switch {
		case apimeta.IsNoMatchError(err):
			delete(o.ByObject, object)
		case err != nil:
			return nil, err
		}
	}
	return cache.New(connection, o)
}

// run adds the reconciler to a manager, and runs it. Its work ends with the manager, and so with the
// lease.
func (f *flags) run(ctx context.Context, mgr ctrl.Manager, p *parts, log logr.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := f.interval.SetGlobalJitter(nil); err != nil {
		return err
	}

	// Events and metrics need the manager.
	recorder, err := events.NewRecorder(mgr, log, f.events, flux.Name)
	if err != nil {
		return fmt.Errorf("--events-addr: %w", err)
	}
	condition, unregister, err := p.register(metrics.Registry)
	if err != nil {
		return err
	}
	defer unregister()

	// Each part adds its controllers.
	o := f.options(p)
	o.Events = recorder
	o.Metrics = f.observe(mgr, condition)
	transforms := &flux.Reconciler{}
	if f.pivot.has(partTransforms) {
		if err := transforms.SetupWithManager(ctx, mgr, o); err != nil {
			return err
		}
	}
	if err := f.setupPivot(ctx, mgr, transforms, recorder); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
