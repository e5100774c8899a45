// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

const (
	digest   = "sha256:0000000000000000000000000000000000000000000000000000000000000001"
	identity = "parent-uid/pc-1"
	// canary is the value of a Secret.
	canary = "canary-5c1d7e"
)

// server is an API server in memory, with the kinds of the engines that are named.
func server(t *testing.T, with interceptor.Funcs, engines ...v1alpha1.Engine) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), apimeta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), apimeta.RESTScopeRoot)
	mapper.Add(v1alpha1.GroupVersion.WithKind(v1alpha1.PivotClusterKind), apimeta.RESTScopeRoot)
	kinds := map[v1alpha1.Engine][]schema.GroupVersionKind{
		v1alpha1.EngineFlux: {
			{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"}, {Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"},
			{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"},
		},
		v1alpha1.EngineArgoCD: {{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}},
	}
	for _, engine := range engines {
		for _, k := range kinds[engine] {
			mapper.Add(k, apimeta.RESTScopeNamespace)
		}
	}
	if with.Get == nil {
		// The fake client serves all kinds that have objects, and a server those that are installed.
		with.Get = func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if kind := o.GetObjectKind().GroupVersionKind(); kind.Kind != "" {
				if _, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, o, opts...)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithInterceptorFuncs(with).Build()
}

func secret(namespace, name, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"key": []byte(value)}}
}

// sent is a bootstrap with all parts.
func sent(engine v1alpha1.Engine) *Bootstrap {
	return &Bootstrap{
		Identity: identity, Name: "blue", Labels: map[string]string{"team": "sea"},
		Spec: v1alpha1.PivotClusterSpec{
			KubernetesVersion: "v1.36.3",
			GitOps:            v1alpha1.GitOps{Engine: engine, Artifact: &v1alpha1.GitOpsArtifact{Repository: "oci://registry.test/child", Digest: digest}},
		},
		Secrets: []Secret{{Namespace: "capa-system", Name: "cloud", Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"key": []byte(canary)}}},
	}
}

// get reads an object as JSON has it.
func get(t *testing.T, c client.Client, version, kind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(version)
	o.SetKind(kind)
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o))
	return o
}

// showsNo fails where a text has the canary, in any encoding.
func showsNo(t *testing.T, text string) {
	t.Helper()
	for _, form := range []string{
		canary, base64.StdEncoding.EncodeToString([]byte(canary)), base64.RawURLEncoding.EncodeToString([]byte(canary)), hex.EncodeToString([]byte(canary)),
	} {
		require.NotContains(t, text, form)
	}
}
