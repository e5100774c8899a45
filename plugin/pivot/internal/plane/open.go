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

// Open returns the plane of a kubeconfig file, at the named context or at the current context. If
// path is "", it reads the file that kubectl reads. It makes no request.
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

// Connect returns the plane of a configuration. It makes no request.
func Connect(config *rest.Config, o Options) (*Plane, error) {
	config = kubeconfig.Tuned(config, "ropewalk-pivot")
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	o.Metadata, err = metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}

	// Discovery reads JSON; the serializer is for its errors.
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	raw, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	o.Discover = func(ctx context.Context, path string) ([]byte, error) {
		return raw.Get().AbsPath(path).Do(ctx).Raw()
	}
	o.Server = kubeconfig.Address(config.Host)
	return New(client, o), nil
}
