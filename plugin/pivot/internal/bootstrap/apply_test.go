// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// counted counts writes, and lets them through.
func counted(n *int) interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			err := c.Create(ctx, o, opts...)
			if err == nil {
				*n++
			}
			return err
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			*n++
			return c.Update(ctx, o, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			*n++
			return c.Apply(ctx, o, opts...)
		},
	}
}

func TestWhatIsAppliedAgainIsNotWritten(t *testing.T) {
	for _, engine := range []v1alpha1.Engine{v1alpha1.EngineFlux, v1alpha1.EngineArgoCD} {
		writes := 0
		c := server(t, counted(&writes), engine)
		a := &Applier{Client: c, Namespace: "ropewalk-system"}
		require.NoError(t, a.Apply(t.Context(), sent(engine)))
		var s corev1.Secret
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "capa-system", Name: "cloud"}, &s))
		require.Equal(t, canary, string(s.Data["key"]))
		require.Equal(t, corev1.SecretTypeOpaque, s.Type)
		var own v1alpha1.PivotCluster
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: "blue"}, &own))
		require.Equal(t, identity, own.Annotations[SelfAnnotation])
		require.Equal(t, "sea", own.Labels["team"])
		require.Equal(t, "v1.36.3", own.Spec.KubernetesVersion)
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: "rw-blue"}, &corev1.Namespace{}))

		first := writes
		require.NoError(t, a.Apply(t.Context(), sent(engine)))
		require.Equal(t, first, writes)

		changed := sent(engine)
		changed.Secrets[0].Data["key"] = []byte("rotated")
		changed.Spec.KubernetesVersion, changed.Labels["team"] = "v1.37.0", "land"
		changed.Spec.GitOps.Path = "clusters/blue"
		require.NoError(t, a.Apply(t.Context(), changed))
		require.Equal(t, first+3, writes, "the Secret, the PivotCluster and one object of the engine")
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(&s), &s))
		require.Equal(t, "rotated", string(s.Data["key"]))
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: "blue"}, &own))
		require.Equal(t, "v1.37.0", own.Spec.KubernetesVersion)
		require.Equal(t, "land", own.Labels["team"])
	}
}

func TestWhatIsRefusedIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	flux := newObject("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "flux-system", map[string]any{"path": "./mine"})
	flux.SetLabels(nil)
	other := sent(v1alpha1.EngineFlux).pivotCluster()
	other.Annotations = map[string]string{SelfAnnotation: "parent-uid/pc-9"}
	for name, c := range map[string]struct {
		there  client.Object
		change func(*Bootstrap)
		says   string
	}{
		"a Secret of the system": {
			change: func(b *Bootstrap) { b.Secrets[0].Namespace = "kube-system" },
			says:   `Secret kube-system/cloud: credentials may not be in namespace "kube-system"`,
		},
		"a Secret of the namespace default": {
			change: func(b *Bootstrap) { b.Secrets[0].Namespace = "default" },
			says:   `Secret default/cloud: credentials may not be in namespace "default"`,
		},
		"a Secret beside that of the agent": {
			change: func(b *Bootstrap) { b.Secrets[0].Namespace = "ropewalk-system" },
			says:   `Secret ropewalk-system/cloud: credentials may not be in namespace "ropewalk-system"`,
		},
		"a token of a ServiceAccount": {
			change: func(b *Bootstrap) { b.Secrets[0].Type = corev1.SecretTypeServiceAccountToken },
			says:   `Secret capa-system/cloud: credentials may not be of type "kubernetes.io/service-account-token"`,
		},
		"a token of the bootstrap of nodes, and a namespace": {
			change: func(b *Bootstrap) {
				b.Secrets[0].Namespace, b.Secrets[0].Type = "kube-public", corev1.SecretTypeBootstrapToken
			},
			says: "Secret kube-public/cloud: credentials may not be in namespace \"kube-public\"\nSecret kube-public/cloud: credentials may not be of type \"bootstrap.kubernetes.io/token\"",
		},
		"a Secret of the child with that name": {
			there: secret("capa-system", "cloud", "mine"),
			says:  "Secret capa-system/cloud is on the child already, with other data, and is not of the parent: delete it, or take it away from the PivotCluster",
		},
		"another PivotCluster": {there: other, says: `PivotCluster "blue" is on the child already, and is another one: delete it`},
		"GitOps of the child": {
			there: flux, says: "Kustomization flux-system/ropewalk-bootstrap is on the child already, and is not of the parent: delete it",
		},
		"an engine that is not there": {
			change: func(b *Bootstrap) { b.Spec.GitOps.Engine = v1alpha1.EngineArgoCD },
			says:   `ArgoCD is not installed on the child: the manifest of agents must have it: no matches for kind "Application" in version "argoproj.io/v1alpha1"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			writes := 0
			to := server(t, counted(&writes), v1alpha1.EngineFlux)
			if c.there != nil {
				require.NoError(t, to.Create(t.Context(), c.there.DeepCopyObject().(client.Object)))
				writes = 0
			}
			b := sent(v1alpha1.EngineFlux)
			if c.change != nil {
				c.change(b)
			}
			err := (&Applier{Client: to, Namespace: "ropewalk-system"}).Apply(t.Context(), b)
			require.EqualError(t, err, c.says)
			require.Zero(t, writes)
			showsNo(t, err.Error())
		})
	}
}

func TestASecretOfTheChildWithTheSameDataStaysItsOwn(t *testing.T) {
	c := server(t, interceptor.Funcs{}, v1alpha1.EngineFlux)
	require.NoError(t, c.Create(t.Context(), secret("capa-system", "cloud", canary)))
	require.NoError(t, (&Applier{Client: c, Namespace: "ropewalk-system"}).Apply(t.Context(), sent(v1alpha1.EngineFlux)))
	var s corev1.Secret
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "capa-system", Name: "cloud"}, &s))
	require.Empty(t, s.Labels)
}

func TestANamespaceIsMadeForASecret(t *testing.T) {
	var to client.Client
	to = server(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if s, ok := o.(*corev1.Secret); ok && to.Get(ctx, client.ObjectKey{Name: s.Namespace}, &corev1.Namespace{}) != nil {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, s.Namespace)
		}
		return c.Create(ctx, o, opts...)
	}}, v1alpha1.EngineFlux)
	require.NoError(t, (&Applier{Client: to, Namespace: "ropewalk-system"}).Apply(t.Context(), sent(v1alpha1.EngineFlux)))
	require.NoError(t, to.Get(t.Context(), client.ObjectKey{Namespace: "capa-system", Name: "cloud"}, &corev1.Secret{}))
}

// TestAServerThatQuotesARequest: what admission says of a Secret may hold its values.
func TestAServerThatQuotesARequest(t *testing.T) {
	for name, c := range map[string]struct {
		with interceptor.Funcs
		says string
	}{
		"a Secret that is not admitted": {
			interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, o.GetName(), errors.New("denied: "+canary))
			}},
			"Secret capa-system/cloud on the child: Forbidden",
		},
		"a server that is away": {
			interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return context.DeadlineExceeded
			}},
			"Secret capa-system/cloud on the child: context deadline exceeded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := (&Applier{Client: server(t, c.with, v1alpha1.EngineFlux), Namespace: "ropewalk-system"}).Apply(t.Context(), sent(v1alpha1.EngineFlux))
			require.ErrorContains(t, err, c.says)
			showsNo(t, err.Error())
		})
	}
}

func TestTheFirstObjectsOfFlux(t *testing.T) {
	c := server(t, interceptor.Funcs{}, v1alpha1.EngineFlux)
	b := sent(v1alpha1.EngineFlux)
	b.Spec.GitOps.Path, b.Spec.GitOps.Artifact.Insecure, b.Spec.GitOps.PullSecretRef = "/clusters/blue/", true, &v1alpha1.LocalObjectReference{Name: "pull"}
	require.NoError(t, (&Applier{Client: c, Namespace: "ropewalk-system"}).Apply(t.Context(), b))
	golden(t, get(t, c, "source.toolkit.fluxcd.io/v1", "OCIRepository", "flux-system", Name), `
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: ropewalk-bootstrap, namespace: flux-system, labels: {pivot.ropewalk.dev/bootstrap: "true"}}
spec:
  url: oci://registry.test/child
  ref: {digest: "sha256:0000000000000000000000000000000000000000000000000000000000000001"}
  interval: 10m0s
  insecure: true
  secretRef: {name: pull}
`)
	golden(t, get(t, c, "kustomize.toolkit.fluxcd.io/v1", "Kustomization", "flux-system", Name), `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: ropewalk-bootstrap, namespace: flux-system, labels: {pivot.ropewalk.dev/bootstrap: "true"}}
spec:
  sourceRef: {kind: OCIRepository, name: ropewalk-bootstrap}
  path: ./clusters/blue
  prune: true
  interval: 10m0s
  retryInterval: 30s
  timeout: 10m0s
  wait: true
`)
}

func TestFluxMayBeginWithASourceOfItsOwn(t *testing.T) {
	c := server(t, interceptor.Funcs{}, v1alpha1.EngineFlux)
	b := sent(v1alpha1.EngineFlux)
	b.Spec.GitOps.Artifact = nil
	b.Spec.GitOps.Source = &v1alpha1.GitOpsSource{Kind: "GitRepository", Spec: apiextensionsv1.JSON{Raw: []byte(`{"url":"https://git.test/fleet","ref":{"branch":"main"},"interval":"1m"}`)}}
	a := &Applier{Client: c, Namespace: "ropewalk-system"}
	require.NoError(t, a.Apply(t.Context(), b))
	golden(t, get(t, c, "source.toolkit.fluxcd.io/v1", "GitRepository", "flux-system", Name), `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: ropewalk-bootstrap, namespace: flux-system, labels: {pivot.ropewalk.dev/bootstrap: "true"}}
spec: {url: "https://git.test/fleet", ref: {branch: main}, interval: 1m}
`)
	k := get(t, c, "kustomize.toolkit.fluxcd.io/v1", "Kustomization", "flux-system", Name)
	kind, _, _ := unstructured.NestedString(k.Object, "spec", "sourceRef", "kind")
	require.Equal(t, "GitRepository", kind)

	// There is no digest to wait for.
	status(t, c, k, map[string]any{"observedGeneration": k.GetGeneration(), "lastAppliedRevision": "main@sha1:1", "conditions": conditions("True", "applied")})
	begun, _, err := a.State(t.Context(), b)
	require.NoError(t, err)
	require.True(t, begun)
}

func TestTheFirstObjectOfArgoCD(t *testing.T) {
	for path, want := range map[string]string{"": ".", "/": ".", "clusters/blue/": "clusters/blue", "/clusters/../blue": "blue"} {
		c := server(t, interceptor.Funcs{}, v1alpha1.EngineArgoCD)
		b := sent(v1alpha1.EngineArgoCD)
		b.Spec.GitOps.Path = path
		require.NoError(t, (&Applier{Client: c, Namespace: "ropewalk-system"}).Apply(t.Context(), b))
		golden(t, get(t, c, "argoproj.io/v1alpha1", "Application", "argocd", Name), `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: ropewalk-bootstrap, namespace: argocd, labels: {pivot.ropewalk.dev/bootstrap: "true"}}
spec:
  project: default
  source:
    repoURL: oci://registry.test/child
    targetRevision: sha256:0000000000000000000000000000000000000000000000000000000000000001
    path: `+want+`
  destination: {server: "https://kubernetes.default.svc"}
  syncPolicy:
    automated: {prune: true, selfHeal: true}
    syncOptions: [CreateNamespace=true, ServerSideApply=true]
    retry: {limit: -1, backoff: {duration: 5s, factor: 2, maxDuration: 1m}}
`)
	}
}

func TestTheGitOpsOfAChildHasBegun(t *testing.T) {
	const applied = "latest@" + digest
	for name, c := range map[string]struct {
		engine v1alpha1.Engine
		status map[string]any
		begun  bool
		says   string
	}{
		"Flux has applied the digest": {v1alpha1.EngineFlux, map[string]any{
			"observedGeneration": int64(1), "lastAppliedRevision": applied, "conditions": conditions("True", "applied"),
		}, true, "applied"},
		"Flux is at work": {v1alpha1.EngineFlux, map[string]any{
			"observedGeneration": int64(1), "lastAppliedRevision": applied, "conditions": conditions("Unknown", "waiting for Deployment capi"),
		}, false, "waiting for Deployment capi"},
		"Flux has applied another digest": {v1alpha1.EngineFlux, map[string]any{
			"observedGeneration": int64(1), "lastAppliedRevision": "latest@sha256:2", "conditions": conditions("True", "applied"),
		}, false, "applied"},
		"Flux has applied an object of before": {v1alpha1.EngineFlux, map[string]any{
			"observedGeneration": int64(0), "lastAppliedRevision": applied, "conditions": conditions("True", "applied"),
		}, false, "applied"},
		"Flux has done nothing":      {v1alpha1.EngineFlux, nil, false, "Flux has not looked at it yet"},
		"Argo CD has synced":         {v1alpha1.EngineArgoCD, application("Synced", "Healthy", digest, ""), true, ""},
		"Argo CD waits":              {v1alpha1.EngineArgoCD, application("Synced", "Progressing", digest, ""), false, "sync Synced, health Progressing: "},
		"Argo CD has another digest": {v1alpha1.EngineArgoCD, application("Synced", "Healthy", "sha256:2", ""), false, "sync Synced, health Healthy: "},
		"Argo CD cannot apply it":    {v1alpha1.EngineArgoCD, application("OutOfSync", "Missing", digest, "denied"), false, "sync OutOfSync, health Missing: denied"},
		"Argo CD cannot read it": {v1alpha1.EngineArgoCD, map[string]any{
			"sync": map[string]any{"status": "Unknown"}, "conditions": []any{map[string]any{"type": "ComparisonError", "message": "response status code 401"}},
		}, false, "sync Unknown, health Unknown: ; response status code 401"},
		"Argo CD has compared another folder": {v1alpha1.EngineArgoCD, with(application("Synced", "Healthy", digest, ""), "before", "sync", "comparedTo", "source", "path"), false, "sync Synced, health Healthy: "},
		"Argo CD is syncing":                  {v1alpha1.EngineArgoCD, with(application("Synced", "Healthy", digest, "waiting for a hook"), "Running", "operationState", "phase"), false, "sync Synced, health Healthy: waiting for a hook"},
		"Argo CD has failed at it":            {v1alpha1.EngineArgoCD, with(application("Synced", "Healthy", digest, "a hook has failed"), "Failed", "operationState", "phase"), false, "sync Synced, health Healthy: a hook has failed"},
		"Argo CD had failed before": {v1alpha1.EngineArgoCD, with(with(application("Synced", "Healthy", digest, ""), "Failed", "operationState", "phase"),
			"sha256:2", "operationState", "operation", "sync", "revision"), true, ""},
		"Argo CD had nothing to do": {v1alpha1.EngineArgoCD, with(application("Synced", "Healthy", digest, ""), "", "operationState", "phase"), true, ""},
		"Argo CD has done nothing":  {v1alpha1.EngineArgoCD, nil, false, "sync Unknown, health Unknown: "},
	} {
		t.Run(name, func(t *testing.T) {
			to := server(t, interceptor.Funcs{}, c.engine)
			a, b := &Applier{Client: to, Namespace: "ropewalk-system"}, sent(c.engine)
			objects := b.objects()
			last := objects[len(objects)-1]
			begun, message, err := a.State(t.Context(), b)
			require.NoError(t, err)
			require.False(t, begun)
			require.Equal(t, last.GetKind()+" "+last.GetNamespace()+"/ropewalk-bootstrap is not there yet", message)
			last.SetGeneration(1)
			require.NoError(t, to.Create(t.Context(), last))
			if c.status != nil {
				status(t, to, last, c.status)
			}
			begun, message, err = a.State(t.Context(), b)
			require.NoError(t, err)
			require.Equal(t, c.begun, begun, message)
			if c.says != "" {
				require.Equal(t, c.says, message)
			}
		})
	}
}

func TestTheGitOpsOfAChildIsNotThereWithoutItsEngine(t *testing.T) {
	begun, message, err := (&Applier{Client: server(t, interceptor.Funcs{})}).State(t.Context(), sent(v1alpha1.EngineFlux))
	require.NoError(t, err)
	require.False(t, begun)
	require.Equal(t, "Kustomization flux-system/ropewalk-bootstrap is not there yet", message)
}

func conditions(ready, message string) []any {
	return []any{map[string]any{"type": "Healthy", "status": "False", "message": "other"}, map[string]any{"type": "Ready", "status": ready, "message": message}}
}

func application(sync, health, revision, message string) map[string]any {
	return map[string]any{
		"sync":           map[string]any{"status": sync, "revision": revision, "comparedTo": map[string]any{"source": map[string]any{"path": "."}}},
		"health":         map[string]any{"status": health},
		"operationState": map[string]any{"phase": "Succeeded", "message": message, "operation": map[string]any{"sync": map[string]any{"revision": revision}}},
	}
}

// with is a status with another value at a path.
func with(status map[string]any, value string, path ...string) map[string]any {
	_ = unstructured.SetNestedField(status, value, path...) // They are maps.
	return status
}

func status(t *testing.T, c client.Client, o *unstructured.Unstructured, status map[string]any) {
	t.Helper()
	o.Object["status"] = status
	require.NoError(t, c.Update(t.Context(), o))
}

// golden compares what a server has, without what is its own.
func golden(t *testing.T, o *unstructured.Unstructured, want string) {
	t.Helper()
	o.SetResourceVersion("")
	o.SetManagedFields(nil)
	o.SetCreationTimestamp(metav1.Time{})
	unstructured.RemoveNestedField(o.Object, "metadata", "generation")
	unstructured.RemoveNestedField(o.Object, "metadata", "uid")
	unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
	got, err := yaml.Marshal(o.Object)
	require.NoError(t, err)
	require.YAMLEq(t, want, string(got))
}
