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

// Annotations and labels of what the agent makes on a child.
const (
	// SelfAnnotation of a PivotCluster: it is the one of the cluster that it is on. Its value
	// is the identity by which the parent knows it, PARENT-UID/PIVOTCLUSTER-UID.
	SelfAnnotation = "pivot.ropewalk.dev/self"
	// ManagedLabel of Secrets and GitOps objects: the agent made them.
	ManagedLabel = "pivot.ropewalk.dev/bootstrap"
)

// Bootstrap is what a child gets before its pivot.
type Bootstrap struct {
	// Identity is that of the child, as in its certificate: PARENT-UID/PIVOTCLUSTER-UID.
	Identity string `json:"identity"`
	// Name of the PivotCluster, and its Labels and Spec.
	Name   string                    `json:"name"`
	Labels map[string]string         `json:"labels,omitempty"`
	Spec   v1alpha1.PivotClusterSpec `json:"spec"`
	// Secrets are credentials. They travel beside the JSON of the rest.
	Secrets []Secret `json:"-"`
}

// Secret is one that the child gets. It is printed, and written as JSON, without its values.
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

// Wrong is what a user has to put right in a PivotCluster, or beside it.
type Wrong struct{ error }

// Unwrap returns the error for errors.Is.
func (w Wrong) Unwrap() error { return w.error }

// checkSendable returns an error for credentials that no child gets: those of the system, of the
// parent itself, and of other clusters.
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
	return []corev1.SecretType{"", corev1.SecretTypeOpaque, corev1.SecretTypeDockerConfigJson, corev1.SecretTypeBasicAuth, corev1.SecretTypeSSHAuth, corev1.SecretTypeTLS}
}

// Encode returns b as it is sent over the link, without its Secrets.
func (b *Bootstrap) Encode() ([]byte, error) { return json.Marshal(b) }

// Decode reads what Encode wrote. Fields that this version does not know are refused: they
// may be what keeps the cluster from working.
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
	var wrong []error
	for _, s := range b.Secrets {
		if slices.Contains(systemNamespaces(agent), s.Namespace) {
			wrong = append(wrong, fmt.Errorf("%s: credentials may not be in namespace %q", s, s.Namespace))
		}
		if !slices.Contains(secretTypes(), s.Type) {
			wrong = append(wrong, fmt.Errorf("%s: credentials may not be of type %q", s, s.Type))
		}
	}
	if g := b.Spec.GitOps; g.Artifact == nil && (g.Source == nil || g.Engine == v1alpha1.EngineArgoCD) {
		wrong = append(wrong, errors.New("the GitOps of the PivotCluster has no artifact, and no source of Flux"))
	}
	slices.SortFunc(wrong, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(wrong...)
}

// ID returns the SHA-256 sum of all that is in a bootstrap, which tells bootstraps apart.
func (b *Bootstrap) ID() string {
	sum := sha256.New()
	to := json.NewEncoder(sum)
	// It was decoded from JSON by the API server, and a sum takes all.
	_ = to.Encode(b)
	for _, s := range b.Secrets {
		_ = to.Encode(s)
		_ = to.Encode(s.Data)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
