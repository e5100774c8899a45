// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ropewalk/ropewalk/plugin/cluster/kubeconfig"
)

// Open is the plane that a kubeconfig file points to, at its current context, or at the
// one that is named. Where path is "", the file is that of kubectl. No request is made.
func Open(path, kubeContext string, o Options) (*Plane, error) {
	config, _, err := kubeconfig.Load(path, kubeContext)
	if err != nil {
		return nil, fmt.Errorf("%s plane: kubeconfig %q: %w", o.Name, path, err)
	}
	out, err := Connect(config, o)
	if err != nil {
		return nil, fmt.Errorf("%s plane: kubeconfig %q: %w", o.Name, path, err)
	}
	return out, nil
}

// Connect is the plane that a configuration leads to. No request is made.
func Connect(config *rest.Config, o Options) (*Plane, error) {
	config = kubeconfig.Tuned(config, "ropewalk-pivot")
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if o.Metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion() // Of errors.
	raw, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	o.Discover = func(ctx context.Context, path string) ([]byte, error) { return raw.Get().AbsPath(path).Do(ctx).Raw() }
	o.Server = kubeconfig.Address(config.Host)
	return New(client, o), nil
}
