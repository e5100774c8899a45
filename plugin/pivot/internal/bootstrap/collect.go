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

// outputName names the repository of Argo CD with the rendered objects of the cluster.
const outputName = "ropewalk-output"

// Collect reads the bootstrap of c's child on the parent. Its error lists all Secrets that are
// missing, that no child gets, or that the engine of the child cannot log in with. The error is
// Wrong then: it shows no values, because a user who may edit PivotClusters may not be allowed to
// read all Secrets. The controller of the parent is in namespace own.
func Collect(ctx context.Context, reader client.Reader, c *v1alpha1.PivotCluster, identity, own string) (*Bootstrap, error) {
	out := &Bootstrap{Identity: identity, Name: c.Name, Labels: c.Labels, Spec: *c.Spec.DeepCopy()}
	r := &collector{reader: reader, namespace: c.ClusterNamespace()}

	// The credentials of the provider keep their namespaces.
	for _, key := range c.Spec.Provider.Credentials {
		k := client.ObjectKey{Namespace: key.Namespace, Name: key.Name}
		if err := checkSendable(k, c, own); err != nil {
			r.mistakes = append(r.mistakes, err)
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
		refs := []*v1alpha1.LocalObjectReference{output.PushSecretRef, output.PullSecretRef, output.CertSecretRef, output.SigningKeyRef}
		for _, ref := range refs {
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
	if len(r.mistakes) > 0 {
		return nil, Wrong{errors.Join(r.mistakes...)}
	}
	out.Secrets = r.secrets
	return out, nil
}

// collector reads Secrets.
type collector struct {
	reader client.Reader
	// namespace of the cluster's objects.
	namespace string
	secrets   []Secret
	// mistakes are errors that a user has to correct.
	mistakes []error
	// failed is the error of a server that does not answer.
	failed error
}

// key returns the key of a Secret in the namespace of the cluster.
func (r *collector) key(ref *v1alpha1.LocalObjectReference) client.ObjectKey {
	return client.ObjectKey{Namespace: r.namespace, Name: ref.Name}
}

// read returns a Secret of the parent; nil if it cannot be read.
func (r *collector) read(ctx context.Context, key client.ObjectKey) *corev1.Secret {
	s := &corev1.Secret{}
	switch err := r.reader.Get(ctx, key, s); {
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
	if !slices.ContainsFunc(r.mistakes, func(e error) bool { return e.Error() == err.Error() }) {
		r.mistakes = append(r.mistakes, err)
	}
}

// copy sends a Secret as it is, unless it comes with the pivot.
func (r *collector) copy(ctx context.Context, key client.ObjectKey, namespace string) {
	s := r.read(ctx, key)
	if s == nil {
		return
	}
	if namespace != r.namespace || !moves(s) {
		r.secrets = append(r.secrets, Secret{Namespace: namespace, Name: s.Name, Type: s.Type, Data: s.Data})
	}
}

// moves reports whether a Secret of the namespace of the cluster is labelled so that it moves
// with the cluster: the pivot would find it on the child already.
func moves(s *corev1.Secret) bool {
	labels := []string{
		"clusterctl.cluster.x-k8s.io/move",
		"clusterctl.cluster.x-k8s.io/move-hierarchy",
		"cluster.x-k8s.io/cluster-name",
	}
	for _, label := range labels {
		if _, has := s.Labels[label]; has {
			return true
		}
	}
	return false
}

// addRepository adds a repository as a Secret of Argo CD. A repository that is read without
// credentials, by https, is not sent, and no repository is sent twice.
//
// See https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#repositories,
// and secretToRepository in util/db/repository_secrets.go of Argo CD.
func (r *collector) addRepository(ctx context.Context, name, url string, insecure bool, ref *v1alpha1.LocalObjectReference) {
	isSame := func(s Secret) bool { return s.repository() && strings.EqualFold(string(s.Data["url"]), url) }
	needed := ref != nil || insecure
	if !needed || slices.ContainsFunc(r.secrets, isSame) {
		return
	}

	// Argo CD logs in by name and password.
	data := map[string][]byte{"type": []byte("oci"), "url": []byte(url)}
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
			const format = "secret %s has no name and password for %s, with which Argo CD logs in: a token alone is not enough"
			r.refuse(format, r.key(ref), host)
			return
		}
		data["username"] = []byte(credential.Username)
		data["password"] = []byte(credential.Password)
	}
	r.secrets = append(r.secrets, Secret{Namespace: argocdNamespace, Name: name, Type: corev1.SecretTypeOpaque, Data: data})
}

// repository reports whether Argo CD reads a Secret as a repository. The parent cannot choose labels
// or names that would make it something else, such as a cluster.
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
