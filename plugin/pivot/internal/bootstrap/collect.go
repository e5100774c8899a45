// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
)

// outputName is that of the repository of Argo CD with the rendered objects of the cluster.
const outputName = "ropewalk-output"

// Collect reads on the parent what the child of c gets. The error has all Secrets that are
// missing, that no child gets, or that the engine of the child cannot log in with. It is Wrong
// then, because a user who may edit PivotClusters may not see all Secrets by that. The controller
// of the parent is in namespace own.
func Collect(ctx context.Context, from client.Reader, c *v1alpha1.PivotCluster, identity, own string) (*Bootstrap, error) {
	out := &Bootstrap{Identity: identity, Name: c.Name, Labels: c.Labels, Spec: *c.Spec.DeepCopy()}
	r := &collector{from: from, namespace: c.ClusterNamespace()}

	// The credentials of the provider keep their namespaces.
	for _, key := range c.Spec.Provider.Credentials {
		k := client.ObjectKey{Namespace: key.Namespace, Name: key.Name}
		if err := checkSendable(k, c, own); err != nil {
			r.wrong = append(r.wrong, err)
			continue
		}
		r.copy(ctx, k, k.Namespace)
	}

	// The engine of the child logs in at the registries.
	g := c.Spec.GitOps
	output := c.Spec.Output.OCI
	switch {
	case g.Engine == v1alpha1.EngineArgoCD:
		r.addRepository(ctx, Name, g.Artifact.Repository, g.Artifact.Insecure, g.PullSecretRef)
		if output != nil {
			r.addRepository(ctx, outputName, output.Repository, output.Insecure, output.PullSecretRef)
		}
	case g.PullSecretRef != nil:
		r.copy(ctx, r.key(g.PullSecretRef), fluxNamespace)
	}
	// The child publishes, and reads, as its parent does.
	if output != nil {
		names := map[string]bool{}
		for _, ref := range []*v1alpha1.LocalObjectReference{output.PushSecretRef, output.PullSecretRef, output.CertSecretRef, output.SigningKeyRef} {
			if ref != nil {
				names[ref.Name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			r.copy(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, r.namespace)
		}
	}

	// A server that does not answer is no mistake of the user.
	if r.failed != nil {
		return nil, r.failed
	}
	if len(r.wrong) > 0 {
		return nil, Wrong{errors.Join(r.wrong...)}
	}
	out.Secrets = r.out
	return out, nil
}

// collector reads Secrets.
type collector struct {
	from client.Reader
	// namespace is that of the cluster.
	namespace string
	out       []Secret
	// wrong is what a user has to put right, and failed is a server that does not answer.
	wrong  []error
	failed error
}

func (r *collector) key(ref *v1alpha1.LocalObjectReference) client.ObjectKey {
	return client.ObjectKey{Namespace: r.namespace, Name: ref.Name}
}

// read returns a Secret of the parent; nil if it cannot be read.
func (r *collector) read(ctx context.Context, key client.ObjectKey) *corev1.Secret {
	s := &corev1.Secret{}
	switch err := r.from.Get(ctx, key, s); {
	case apierrors.IsNotFound(err):
		r.refuse("secret %s does not exist on the parent, and the PivotCluster names it", key)
		return nil
	case err != nil:
		r.failed = err
		return nil
	case !slices.Contains(secretTypes(), s.Type):
		r.refuse("secret %s is of type %q: no child gets one of that", key, s.Type)
		return nil
	}
	return s
}

// refuse keeps an error, once.
func (r *collector) refuse(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if !slices.ContainsFunc(r.wrong, func(e error) bool { return e.Error() == err.Error() }) {
		r.wrong = append(r.wrong, err)
	}
}

// copy sends a Secret as it is, unless it comes with the pivot.
func (r *collector) copy(ctx context.Context, key client.ObjectKey, to string) {
	if s := r.read(ctx, key); s != nil && (to != r.namespace || !moves(s)) {
		r.out = append(r.out, Secret{Namespace: to, Name: s.Name, Type: s.Type, Data: s.Data})
	}
}

// moves reports whether a Secret of the namespace of the cluster is labelled so that it moves
// with the cluster: the pivot would find it on the child already.
func moves(s *corev1.Secret) bool {
	for _, label := range []string{"clusterctl.cluster.x-k8s.io/move", "clusterctl.cluster.x-k8s.io/move-hierarchy", "cluster.x-k8s.io/cluster-name"} {
		if _, has := s.Labels[label]; has {
			return true
		}
	}
	return false
}

// addRepository sends a repository in the form in which Argo CD reads it. A repository that is
// read without credentials, by https, is not sent; nor is one that was sent before.
//
// See https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#repositories,
// and secretToRepository in util/db/repository_secrets.go of Argo CD.
func (r *collector) addRepository(ctx context.Context, name, url string, insecure bool, ref *v1alpha1.LocalObjectReference) {
	data := map[string][]byte{"type": []byte("oci"), "url": []byte(url)}
	known := slices.ContainsFunc(r.out, func(s Secret) bool { return s.repository() && strings.EqualFold(string(s.Data["url"]), url) })
	if known || ref == nil && !insecure {
		return
	}
	if insecure {
		data["insecureOCIForceHttp"] = []byte("true")
	}
	if ref != nil {
		s := r.read(ctx, r.key(ref))
		if s == nil {
			return
		}
		host := strings.TrimPrefix(url, "oci://")
		credential, err := remote.SecretCredential(s.Data, host)
		switch {
		case err != nil:
			r.refuse("secret %s: %w", r.key(ref), err)
			return
		case credential.Username == "" || credential.Password == "":
			r.refuse("secret %s has no name and password for %s, with which Argo CD logs in: a token alone is not enough", r.key(ref), host)
			return
		}
		data["username"], data["password"] = []byte(credential.Username), []byte(credential.Password)
	}
	r.out = append(r.out, Secret{Namespace: argocdNamespace, Name: name, Type: corev1.SecretTypeOpaque, Data: data})
}

// repository reports whether Argo CD reads a Secret as a repository. The parent chooses neither
// labels nor names by which it would be another thing, such as a cluster.
func (s Secret) repository() bool {
	return s.Namespace == argocdNamespace && (s.Name == Name || s.Name == outputName)
}

// labels returns the labels of the Secret on the child.
func (s Secret) labels() map[string]string {
	out := map[string]string{ManagedLabel: "true"}
	if s.repository() {
		out["argocd.argoproj.io/secret-type"] = "repository"
	}
	return out
}
