// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Open is the plane that a kubeconfig file points to, at its current context, or at the
// one that is named. Where path is "", the file is that of kubectl. No request is made.
func Open(path, kubeContext string, o Options) (*Plane, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	if path == "" {
		rules = clientcmd.NewDefaultClientConfigLoadingRules()
	}
	loading := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: kubeContext})
	config, err := loading.ClientConfig()
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
	config = rest.CopyConfig(config)
	// The server has its own fairness, and a client limit would add to the pause.
	config.QPS = -1
	config.Timeout = 30 * time.Second
	config.UserAgent = "ropewalk-pivot"
	config.WarningHandler = rest.NoWarnings{} // Such as that a version which both planes serve is deprecated.
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
	o.Server = address(config.Host)
	return New(client, o), nil
}

// address is a server without a password in its URL, as it is kept and printed.
func address(host string) string {
	u, err := url.Parse(host)
	if err != nil || u.User == nil {
		return host
	}
	u.User = nil
	return u.String()
}
