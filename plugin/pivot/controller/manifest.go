// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
)

const (
	// ManifestConfigMap is where a child keeps what its agent was installed with, for children
	// of its own. It is in the namespace of the controller.
	ManifestConfigMap = "ropewalk-child-manifest"
	// manifestKey is compressed: that of an engine alone may be of more than a ConfigMap holds.
	manifestKey = "manifest.yaml.gz"
	// manifestBytes is the most of it, and compressedBytes what fits into a ConfigMap.
	manifestBytes   = 32 << 20
	compressedBytes = 1000 << 10
)

// manifests makes what machines apply.
type manifests struct {
	client client.Reader
	// given is Reconciler.ChildManifest.
	given func() ([]byte, error)
	// namespace is that of the controller.
	namespace string
	endpoints *Endpoints
}

// child returns the YAML that installs an agent. It is the file of --child-manifest;
// without that, it is what the agent of this cluster was installed with.
func (m manifests) child(ctx context.Context) ([]byte, error) {
	given, err := m.given()
	if err == nil {
		return given, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the manifest of agents: %w", err)
	}
	at := types.NamespacedName{Namespace: m.namespace, Name: ManifestConfigMap}
	var kept corev1.ConfigMap
	if err := m.client.Get(ctx, at, &kept); apierrors.IsNotFound(err) {
		return nil, reject("it is not known what installs the agent of a child: give --child-manifest a file, or create ConfigMap %s with the key %s", at, manifestKey)
	} else if err != nil {
		return nil, err
	}
	return unpack(at, kept.BinaryData[manifestKey])
}

// unpack returns the manifest of a ConfigMap, which is compressed there.
func unpack(at types.NamespacedName, packed []byte) ([]byte, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	var out []byte
	if err == nil {
		out, err = io.ReadAll(io.LimitReader(unpacked, manifestBytes+1))
	}
	switch {
	case err != nil:
		return nil, reject("ConfigMap %s: %s: expected YAML compressed by gzip: %s", at, manifestKey, err)
	case len(out) > manifestBytes:
		return nil, reject("ConfigMap %s: %s: it has more than %d bytes", at, manifestKey, manifestBytes)
	}
	return out, nil
}

// machine returns what a machine of the control plane applies: what installs the agent, a copy of
// that for children of the child, a binding for its delivery, and the Secret of the agent.
func (m manifests) machine(ctx context.Context, c *v1alpha1.PivotCluster, token string) ([]byte, error) {
	// Find what the agent is installed with, and where it calls.
	at, err := m.endpoints.placeOf(ctx, c)
	if err != nil {
		return nil, err
	}
	given, err := m.child(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := keptManifest(given)
	if err != nil {
		return nil, err
	}

	// Join all of it to one text.
	documents := [][]byte{bytes.TrimSpace(given), kept}
	for _, o := range []any{
		poolsBinding(c),
		&corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: enrol.AgentNamespace, Name: enrol.AgentSecret},
			Data:       bootstrap.AgentData(token, at.registration(), at.link(), at.endpoint.Authority().Trust()),
		},
	} {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		documents = append(documents, text)
	}
	return bytes.Join(documents, []byte("\n---\n")), nil
}

// poolsBinding returns the binding by which the delivery on the child may write pools of
// addresses, which have no namespace. A machine makes it, because the controller there could only
// make it if it could bind its other roles in all namespaces too.
func poolsBinding(c *v1alpha1.PivotCluster) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: PoolsRole, Labels: map[string]string{ClusterLabel: c.Name}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: PoolsRole},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: c.ClusterNamespace(), Name: deliveryAccount}},
	}
}

// keptManifest returns the ConfigMap of a manifest, in YAML.
func keptManifest(given []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(given) // A buffer takes all.
	_ = w.Close()
	if packed.Len() > compressedBytes {
		return nil, reject("the manifest of agents has %d bytes when it is compressed, and a child keeps %d at most: remove what its GitOps can bring", packed.Len(), compressedBytes)
	}
	return yaml.Marshal(&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: enrol.AgentNamespace, Name: ManifestConfigMap},
		BinaryData: map[string][]byte{manifestKey: packed.Bytes()},
	})
}
