// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"oras.land/oras-go/v2/registry/remote/auth"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/plugin/host/remote"
)

// SecretError says that a Secret that the output names cannot be used as it is.
type SecretError struct{ message string }

// Error returns the fault of the Secret, and nothing of its content.
func (e *SecretError) Error() string { return e.message }

// secretError returns the error of a Secret that a field of the spec names.
func secretError(field, name, format string, args ...any) error {
	return &SecretError{message: fmt.Sprintf("%s: Secret %q: ", field, name) + fmt.Sprintf(format, args...)}
}

// credentials returns the credentials for a push: the content of pushSecretRef, else of an
// imagePullSecret of the service account that is for this registry, else the tokens of a cloud. Nil
// stands for the credentials of the controller itself.
func (r *repository) credentials(ctx context.Context) (map[string][]byte, error) {
	secret, err := r.login(ctx)
	if err != nil || r.out.CertSecretRef == nil {
		return secret, err
	}

	// The certificate of the registry is added to them.
	const field = "spec.output.oci.certSecretRef"
	certs, err := r.secret(ctx, r.out.CertSecretRef.Name, field)
	if err != nil {
		return nil, err
	}
	if len(certs["ca.crt"]) == 0 {
		return nil, secretError(field, r.out.CertSecretRef.Name, "it has no entry ca.crt")
	}
	secret = maps.Clone(secret)
	if secret == nil {
		secret = map[string][]byte{}
	}
	secret["ca.crt"] = certs["ca.crt"]
	return secret, nil
}

// login returns the credentials for a push, without the certificate of the registry.
func (r *repository) login(ctx context.Context) (map[string][]byte, error) {
	if ref := r.out.PushSecretRef; ref != nil {
		return r.secret(ctx, ref.Name, "spec.output.oci.pushSecretRef")
	}
	secret, err := r.accountSecret(ctx)
	if err != nil || secret != nil {
		return secret, err
	}
	if cloud(r.out) && r.oci.Identity != nil {
		return r.oci.Identity.login(ctx, r.out.Provider, r.name, holder{r.transform.Namespace, r.account()})
	}
	return nil, nil
}

// account returns the service account of the Transform, or "" for the controller's own.
func (r *repository) account() string {
	return cmp.Or(r.transform.Spec.ServiceAccountName, r.oci.DefaultServiceAccount)
}

// accountSecret returns the first imagePullSecret of the service account for the host of the
// repository, or nil. An account that may not read itself has no Secrets.
func (r *repository) accountSecret(ctx context.Context) (map[string][]byte, error) {
	// The account need not exist, nor be readable.
	name := r.account()
	if name == "" {
		return nil, nil
	}
	account := &corev1.ServiceAccount{}
	err := r.as.Get(ctx, client.ObjectKey{Namespace: r.transform.Namespace, Name: name}, account)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	// The first Secret with a login for the host counts.
	host, _, _ := strings.Cut(r.name, "/")
	for _, ref := range account.ImagePullSecrets {
		s := &corev1.Secret{}
		err := r.as.Get(ctx, client.ObjectKey{Namespace: r.transform.Namespace, Name: ref.Name}, s)
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		credentials, err := remote.PullSecret(s.Data[corev1.DockerConfigJsonKey])
		if err != nil {
			continue // It may be for other programs; a push that needs it is refused.
		}
		if found, err := credentials(ctx, host); err == nil && found != auth.EmptyCredential {
			return s.Data, nil
		}
	}
	return nil, nil
}

// secret returns the content of a Secret of the Transform's namespace.
func (r *repository) secret(ctx context.Context, name, field string) (map[string][]byte, error) {
	s := &corev1.Secret{}
	err := r.as.Get(ctx, client.ObjectKey{Namespace: r.transform.Namespace, Name: name}, s)
	if apierrors.IsNotFound(err) {
		return nil, secretError(field, name, "it does not exist in namespace %q: create it", r.transform.Namespace)
	}
	return s.Data, err
}
