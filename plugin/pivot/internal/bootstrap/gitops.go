// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// Name is that of the GitOps objects that the agent makes.
const Name = "ropewalk-bootstrap"

// Namespaces of the engines.
const (
	fluxNamespace   = "flux-system"
	argocdNamespace = "argocd"
)

// objects returns the first objects of the child's GitOps. What they lead to may replace them.
func (b *Bootstrap) objects() []*unstructured.Unstructured {
	g := b.Spec.GitOps
	if g.Engine == v1alpha1.EngineArgoCD {
		return b.argocd()
	}

	// Flux reads an artifact by digest, or the source that the spec has.
	source := made("source.toolkit.fluxcd.io/v1", "OCIRepository", fluxNamespace, nil)
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

	// One Kustomization applies what is in it.
	kustomization := made("kustomize.toolkit.fluxcd.io/v1", "Kustomization", fluxNamespace, map[string]any{
		"sourceRef": map[string]any{"kind": source.GetKind(), "name": Name},
		"path":      "./" + folder(g.Path),
		"prune":     true, "interval": "10m0s", "retryInterval": "30s", "timeout": "10m0s", "wait": true,
	})
	return []*unstructured.Unstructured{source, kustomization}
}

func (b *Bootstrap) argocd() []*unstructured.Unstructured {
	g := b.Spec.GitOps
	return []*unstructured.Unstructured{made("argoproj.io/v1alpha1", "Application", argocdNamespace, map[string]any{
		"project":     "default",
		"source":      map[string]any{"repoURL": g.Artifact.Repository, "targetRevision": g.Artifact.Digest, "path": cmp.Or(folder(g.Path), ".")},
		"destination": map[string]any{"server": "https://kubernetes.default.svc"},
		"syncPolicy": map[string]any{
			"automated":   map[string]any{"prune": true, "selfHeal": true},
			"syncOptions": []any{"CreateNamespace=true", "ServerSideApply=true"},
			"retry":       map[string]any{"limit": int64(-1), "backoff": map[string]any{"duration": "5s", "factor": int64(2), "maxDuration": "1m"}},
		},
	})}
}

// folder returns a path below the root; "" is the root.
func folder(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }

func made(version, kind, namespace string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	o.SetNamespace(namespace)
	o.SetName(Name)
	o.SetLabels(map[string]string{ManagedLabel: "true"})
	if spec != nil {
		o.Object["spec"] = spec
	}
	return o
}

// State reports whether the GitOps of the child has applied what it begins with. If it has not,
// the message is that of the engine.
func (a *Applier) State(ctx context.Context, b *Bootstrap) (begun bool, message string, err error) {
	objects := b.objects()
	last := objects[len(objects)-1]
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(last.GroupVersionKind())
	switch err := a.Client.Get(ctx, client.ObjectKeyFromObject(last), live); {
	case apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err):
		return false, fmt.Sprintf("%s %s/%s is not there yet", last.GetKind(), last.GetNamespace(), last.GetName()), nil
	case err != nil:
		return false, "", err
	}
	if b.Spec.GitOps.Engine == v1alpha1.EngineArgoCD {
		begun, message = synced(live, b.Spec.GitOps.Artifact.Digest)
	} else {
		begun, message = applied(live, b.Spec.GitOps.Artifact)
	}
	return begun, message, nil
}

// applied reports whether a Kustomization is Ready at its generation and at the digest. It returns
// the message of Flux too.
func applied(k *unstructured.Unstructured, artifact *v1alpha1.GitOpsArtifact) (bool, string) {
	generation, _, _ := unstructured.NestedInt64(k.Object, "status", "observedGeneration")
	revision, _, _ := unstructured.NestedString(k.Object, "status", "lastAppliedRevision")
	conditions, _, _ := unstructured.NestedSlice(k.Object, "status", "conditions")
	status := ""
	message := "Flux has not looked at it yet"
	for _, c := range conditions {
		c, _ := c.(map[string]any)
		if c["type"] == "Ready" {
			status, _ = c["status"].(string)
			message, _ = c["message"].(string)
		}
	}
	current := generation == k.GetGeneration() && (artifact == nil || strings.HasSuffix(revision, artifact.Digest))
	return status == "True" && current, message
}

// synced reports whether an Application is Synced and Healthy at the digest, and no operation
// there is under way or has failed. It returns the messages of Argo CD too.
func synced(app *unstructured.Unstructured, digest string) (bool, string) {
	text := func(path ...string) string {
		s, _, _ := unstructured.NestedString(app.Object, path...)
		return s
	}
	sync, health := text("status", "sync", "status"), text("status", "health", "status")
	phase := text("status", "operationState", "phase")
	ended := phase == "" || phase == "Succeeded" || text("status", "operationState", "operation", "sync", "revision") != digest
	compared := text("status", "sync", "revision") == digest && text("status", "sync", "comparedTo", "source", "path") == text("spec", "source", "path")
	message := fmt.Sprintf("sync %s, health %s: %s", cmp.Or(sync, "Unknown"), cmp.Or(health, "Unknown"), text("status", "operationState", "message"))
	// What keeps Argo CD from reading the artifact is in a condition.
	conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions")
	for _, c := range conditions {
		if c, _ := c.(map[string]any); c["message"] != nil {
			message += fmt.Sprintf("; %v", c["message"])
		}
	}
	return sync == "Synced" && health == "Healthy" && compared && ended, message
}
