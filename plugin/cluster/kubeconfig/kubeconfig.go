// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig finds the API server that a kubeconfig file leads to, and says how requests to it
// are made. No request is made here, and no error holds a credential.
package kubeconfig

import (
	"cmp"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Timeout bounds a request, a watch too.
const Timeout = 30 * time.Second

// Context is a context of a kubeconfig file. Its name is "" without a file, as in a pod.
type Context struct{ Name, Namespace string }

// Load returns the configuration of a kubeconfig file at one of its contexts, and that context. The
// current context is used for "". If path is "", it reads the file that kubectl reads.
func Load(path, context string) (*rest.Config, Context, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	if path == "" {
		rules = clientcmd.NewDefaultClientConfigLoadingRules()
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: context}
	loading := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loading.ClientConfig()
	if err != nil {
		return nil, Context{}, err
	}
	raw, err := loading.RawConfig()
	if err != nil {
		return nil, Context{}, err
	}
	namespace, _, err := loading.Namespace()
	return config, Context{Name: cmp.Or(context, raw.CurrentContext), Namespace: namespace}, err
}

// Tuned returns a copy of a configuration for the requests of a program; agent is the name of the
// program in them.
func Tuned(config *rest.Config, agent string) *rest.Config {
	config = rest.CopyConfig(config)
	// The server has its own fairness, and a client limit would only add to the waiting.
	config.QPS = -1
	config.Timeout = Timeout
	config.UserAgent = agent
	config.WarningHandler = rest.NoWarnings{} // They are about deprecated versions.
	return config
}

// Address returns a server without a password in its URL, as it is kept and printed.
func Address(host string) string {
	u, err := url.Parse(host)
	if err != nil || u.User == nil {
		return host
	}
	u.User = nil
	return u.String()
}
