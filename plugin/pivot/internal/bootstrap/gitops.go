// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"encoding/json"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// Name is the name of the GitOps objects that the agent creates.
const Name = "ropewalk-bootstrap"

// Namespaces of the engines.
const (
	fluxNamespace   = "flux-system"
	argocdNamespace = "argocd"
)

// objects returns the first objects of the child's GitOps. The objects that they deliver may replace
// them.
func (b *Bootstrap) objects() []*unstructured.Unstructured {
	g := b.Spec.GitOps
	if g.Engine == v1alpha1.EngineArgoCD {
		return b.argocd()
	}

	// Flux reads an artifact by digest, or the source that the spec has.
	source := newObject("source.toolkit.fluxcd.io/v1", "OCIRepository", fluxNamespace, nil)
	if g.Artifact != nil {
		spec := map[string]any{
			"url": g.Artifact.Repository, "ref": map[string]any{"digest": g.Artifact.Digest}, "interval": "10m0s",
		}
		if g.Artifact.Insecure {
			spec["insecure"] = true
		}
		if g.PullSecretRef != nil {
			spec["secretRef"] = map[string]any{"name": g.PullSecretRef.Name}
		}
		source.Object["spec"] = spec
	} else {
		var spec map[string]any
		// The API server has read it before.
		_ = json.Unmarshal(g.Source.Spec.Raw, &spec)
		source.SetKind(g.Source.Kind)
		source.Object["spec"] = spec
	}

	// A Kustomization applies its objects.
	kustomization := newObject("kustomize.toolkit.fluxcd.io/v1", "Kustomization", fluxNamespace, map[string]any{
		"sourceRef": map[string]any{"kind": source.GetKind(), "name": Name},
		"path":      "./" + folder(g.Path),
		"prune":     true, "interval": "10m0s", "retryInterval": "30s", "timeout": "10m0s", "wait": true,
	})
	return []*unstructured.Unstructured{source, kustomization}
}

// argocd returns the Application of Argo CD.
func (b *Bootstrap) argocd() []*unstructured.Unstructured {
	g := b.Spec.GitOps
	source := map[string]any{
		"repoURL":        g.Artifact.Repository,
		"targetRevision": g.Artifact.Digest,
		"path":           cmp.Or(folder(g.Path), "."),
	}
	backoff := map[string]any{"duration": "5s", "factor": int64(2), "maxDuration": "1m"}
	return []*unstructured.Unstructured{newObject("argoproj.io/v1alpha1", "Application", argocdNamespace, map[string]any{
		"project":     "default",
		"source":      source,
		"destination": map[string]any{"server": "https://kubernetes.default.svc"},
		"syncPolicy": map[string]any{
			"automated":   map[string]any{"prune": true, "selfHeal": true},
			"syncOptions": []any{"CreateNamespace=true", "ServerSideApply=true"},
			"retry":       map[string]any{"limit": int64(-1), "backoff": backoff},
		},
	})}
}

// folder returns a path below the root; "" is the root.
func folder(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }

// newObject returns a GitOps object that the agent manages.
func newObject(version, kind, namespace string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	o.SetNamespace(namespace)
	o.SetName(Name)
	o.SetLabels(map[string]string{ManagedLabel: "true"})
	if spec != nil {
		o.Object["spec"] = spec
	}
	return o
}
