// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Command deliver delivers layers from a file to a cluster, and says after each step
// how far it is: for the tests in test/e2e, which kill it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/render/emit"
)

// request is what is to be delivered.
type request struct {
	Transform  v1alpha1.Transform
	Withdraw   bool
	Namespaces []string
	Layers     []struct {
		Name, Layer string
		After       []string
		Files       map[string]string
		Objects     []delivery.ObjectRef
		Checks      []meta.NamespacedObjectKindReference
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	kubeconfig := flag.String("kubeconfig", "", "of the cluster")
	file := flag.String("request", "", "what is to be delivered")
	within := flag.Duration("within", 2*time.Minute, "how long it may take")
	flag.Parse()
	data, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	var r request
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), *within)
	defer cancel()
	c, err := connect(*kubeconfig)
	if err != nil {
		return err
	}
	t := &r.Transform
	store, err := publish.OCI{Registries: func(bool) (*remote.Registries, error) {
		return &remote.Registries{PlainHTTP: func(string) bool { return true }}, nil
	}}.Open(ctx, t, c)
	if err != nil {
		return err
	}
	engine := &delivery.Flux{Client: c, Artifacts: store}
	if r.Withdraw {
		return withdraw(ctx, engine, t)
	}
	published, err := store.Release(ctx, render(r))
	if err != nil {
		return err
	}
	for {
		p, err := engine.Deliver(ctx, t, published.Desired)
		say(map[string]any{"progress": p, "error": fmt.Sprint(err), "time": time.Now()})
		if err == nil && p.Ready {
			return nil
		}
		if err == nil && p.Stalled {
			return fmt.Errorf("stalled: %s", p.Message)
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("%w: %s", err, p.Message)
		}
	}
}

func withdraw(ctx context.Context, engine delivery.Engine, t *v1alpha1.Transform) error {
	for {
		done, waiting, err := engine.Withdraw(ctx, t)
		say(map[string]any{"waiting": waiting, "error": fmt.Sprint(err), "time": time.Now()})
		if done && err == nil {
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(50 * time.Millisecond):
		return nil
	}
}

func say(v any) { _ = json.NewEncoder(os.Stdout).Encode(v) }

func render(r request) publish.Render {
	var out publish.Render
	for _, in := range r.Layers {
		u := delivery.Layer{Name: in.Name, Barrier: in.Layer, After: in.After, Objects: in.Objects, HealthChecks: in.Checks}
		names := make([]string, 0, len(in.Files))
		for name := range in.Files {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			f := emit.File{Path: path.Base(name), Data: []byte(in.Files[name])}
			u.Files = append(u.Files, f)
			out.Files = append(out.Files, f)
		}
		out.Layers = append(out.Layers, u)
	}
	return out
}

func connect(kubeconfig string) (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 500, 500
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, sourcev1.AddToScheme, kustomizev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.New(config, client.Options{Scheme: scheme})
}
