// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// probeTimeout bounds the wait of a probe; the Deployment gives up after 3 s.
const probeTimeout = time.Second

// addProbes adds the checks of liveness and of readiness. A controller is alive when it answers:
// it must not be restarted because the API server is away. It is ready when it reads the API
// server, its cache has all watched objects, and, if it serves, when it leads.
func addProbes(mgr ctrl.Manager, serves bool) error {
	asks, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	ready := map[string]healthz.Checker{"api-server": answers(asks), "cache": synced(mgr.GetCache())}
	if serves {
		ready["leader"] = leads(mgr.Elected())
	}
	errs := []error{mgr.AddHealthzCheck("ping", healthz.Ping)}
	for name, check := range ready {
		errs = append(errs, mgr.AddReadyzCheck(name, check))
	}
	return errors.Join(errs...)
}

// answers returns a check that the API server answers.
func answers(asks discovery.DiscoveryInterface) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
		defer cancel()
		if err := asks.RESTClient().Get().AbsPath("/version").Do(ctx).Error(); err != nil {
			return fmt.Errorf("the API server does not answer: %w", err)
		}
		return nil
	}
}

// synced returns a check that a cache has all watched objects. The check fails for a cache that has
// not started, or may not list a kind.
func synced(cache interface {
	WaitForCacheSync(ctx context.Context) bool
}) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
		defer cancel()
		if !cache.WaitForCacheSync(ctx) {
			return errors.New("the cache does not have all that is watched yet: the log says which kind cannot be listed")
		}
		return nil
	}
}

// leads returns a check of readiness for a controller that serves artifacts, or children: only the
// leader does, and a Service must not lead Flux, or an agent, to another controller.
func leads(elected <-chan struct{}) healthz.Checker {
	return func(*http.Request) error {
		select {
		case <-elected:
			return nil
		default:
			return errors.New("another controller leads, which serves artifacts and children")
		}
	}
}
