// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
)

// Annotations and labels of the objects that the agent creates on a child.
const (
	// SelfAnnotation marks the PivotCluster that describes the cluster on which it is stored. Its
	// value is the identity by which the parent knows the cluster, PARENT-UID/PIVOTCLUSTER-UID.
	SelfAnnotation = "pivot.ropewalk.dev/self"
	// ManagedLabel marks Secrets and GitOps objects that the agent has created.
	ManagedLabel = "pivot.ropewalk.dev/bootstrap"
)

// Bootstrap has the objects that a child gets before its pivot.
type Bootstrap struct {
	// Identity of the child, as in its certificate: PARENT-UID/PIVOTCLUSTER-UID.
	Identity string `json:"identity"`
	// Name of the PivotCluster, and its Labels and Spec.
	Name   string                    `json:"name"`
	Labels map[string]string         `json:"labels,omitempty"`
	Spec   v1alpha1.PivotClusterSpec `json:"spec"`
	// Secrets are credentials. They are not part of the JSON.
	Secrets []Secret `json:"-"`
}

// Secret is a Secret for the child. It is printed, and written as JSON, without its values.
type Secret struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Type      corev1.SecretType `json:"type,omitempty"`
	Data      map[string][]byte `json:"-"`
}

// String returns the kind, the namespace and the name.
func (s Secret) String() string { return "Secret " + s.Namespace + "/" + s.Name }

// Format writes the name for all verbs, so that no value is printed.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// Wrong is an error that a user has to correct in a PivotCluster, or beside it.
type Wrong struct{ error }

// Unwrap returns the error for errors.Is.
func (w Wrong) Unwrap() error { return w.error }

// checkSendable returns an error for credentials that no child gets: credentials of the system, of
// the parent itself, and of other clusters.
func checkSendable(k client.ObjectKey, c *v1alpha1.PivotCluster, own string) error {
	if slices.Contains(systemNamespaces(own, enrol.AgentNamespace), k.Namespace) {
		return fmt.Errorf("secret %s: credentials may not be in namespace %q: use one of their own", k, k.Namespace)
	}
	if strings.HasPrefix(k.Namespace, v1alpha1.ClusterNamespacePrefix) && k.Namespace != c.ClusterNamespace() {
		return fmt.Errorf("secret %s: namespace %q is that of another cluster", k, k.Namespace)
	}
	return nil
}

// systemNamespaces returns the namespaces in which a parent sends and writes nothing.
func systemNamespaces(own ...string) []string {
	return append(own, "default", "kube-system", "kube-public", "kube-node-lease")
}

// secretTypes returns the types that Secrets with credentials have.
func secretTypes() []corev1.SecretType {
	return []corev1.SecretType{
		"",
		corev1.SecretTypeOpaque,
		corev1.SecretTypeDockerConfigJson,
		corev1.SecretTypeBasicAuth,
		corev1.SecretTypeSSHAuth,
		corev1.SecretTypeTLS,
	}
}

// Encode returns the JSON of b for the link, without its Secrets.
func (b *Bootstrap) Encode() ([]byte, error) { return json.Marshal(b) }

// Decode reads the JSON of Encode. Fields that this version does not know are refused: without them
// the cluster may not work.
func Decode(data []byte) (*Bootstrap, error) {
	var out Bootstrap
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		// The text of the error may quote a value.
		return nil, errors.New("the bootstrap that the parent sent cannot be read: both must have the same version")
	}
	return &out, nil
}

// pivotCluster returns the PivotCluster of the child.
func (b *Bootstrap) pivotCluster() *v1alpha1.PivotCluster {
	return &v1alpha1.PivotCluster{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.PivotClusterKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: b.Name, Labels: b.Labels, Annotations: map[string]string{SelfAnnotation: b.Identity},
		},
		Spec: b.Spec,
	}
}

// check returns an error for everything that a child does not accept.
func (b *Bootstrap) check(agent string) error {
	var errs []error
	for _, s := range b.Secrets {
		if slices.Contains(systemNamespaces(agent), s.Namespace) {
			errs = append(errs, fmt.Errorf("%s: credentials may not be in namespace %q", s, s.Namespace))
		}
		if !slices.Contains(secretTypes(), s.Type) {
			errs = append(errs, fmt.Errorf("%s: credentials may not be of type %q", s, s.Type))
		}
	}
	g := b.Spec.GitOps
	needsArtifact := g.Source == nil || g.Engine == v1alpha1.EngineArgoCD
	if g.Artifact == nil && needsArtifact {
		errs = append(errs, errors.New("the GitOps of the PivotCluster has no artifact, and no source of Flux"))
	}
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// ID returns the SHA-256 sum of a bootstrap with its Secrets, which tells bootstraps apart.
func (b *Bootstrap) ID() string {
	sum := sha256.New()
	encoder := json.NewEncoder(sum)
	// It was decoded from JSON by the API server, and a sum takes all.
	_ = encoder.Encode(b)
	for _, s := range b.Secrets {
		_ = encoder.Encode(s)
		_ = encoder.Encode(s.Data)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
