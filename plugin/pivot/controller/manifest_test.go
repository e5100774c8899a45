// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// TestAChildKeepsWhatItsAgentWasInstalledWith, and gives it to children of its own.
func TestAChildKeepsWhatItsAgentWasInstalledWith(t *testing.T) {
	w := newWorld(t)
	w.placed()
	text, err := w.controller.parts().manifests.machine(t.Context(), w.read(), "a-token")
	require.NoError(t, err)
	documents := strings.Split(string(text), "\n---\n")
	require.Len(t, documents, 4)
	require.Contains(t, documents[0], "kind: Namespace")
	var kept corev1.ConfigMap
	require.NoError(t, yaml.UnmarshalStrict([]byte(documents[1]), &kept))
	require.Equal(t, "ropewalk-system/ropewalk-child-manifest", kept.Namespace+"/"+kept.Name)
	var pools rbacv1.ClusterRoleBinding
	require.NoError(t, yaml.UnmarshalStrict([]byte(documents[2]), &pools))
	require.Equal(t, rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "ropewalk-cluster-pools"}, pools.RoleRef)
	require.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "rw-blue", Name: "ropewalk-delivery"}}, pools.Subjects)
	var agent corev1.Secret
	require.NoError(t, yaml.UnmarshalStrict([]byte(documents[3]), &agent))
	require.Equal(t, w.linkTo+" a-token", string(agent.Data["link"])+" "+string(agent.Data["token"]))

	given, err := w.controller.parts().manifests.child(t.Context())
	require.NoError(t, err)
	require.NotContains(t, string(given), "a-token")
	require.NoError(t, w.child.Create(t.Context(), &kept))
	w.itself.ChildManifest = none
	again, err := w.itself.parts().manifests.child(t.Context())
	require.NoError(t, err)
	require.Equal(t, given, again)
}

// TestNothingIsMadeWithoutAManifest: machines whose agent cannot be installed are of no use.
func TestNothingIsMadeWithoutAManifest(t *testing.T) {
	long := bytes.Repeat([]byte("\n"), manifestBytes+1)
	const at = "ConfigMap ropewalk-system/ropewalk-child-manifest: manifest.yaml.gz: "
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"there is none":     {nil, "it is not known what installs the agent of a child: give --child-manifest a file, or create ConfigMap ropewalk-system/ropewalk-child-manifest with the key manifest.yaml.gz"},
		"not compressed":    {[]byte("kind: Namespace, which is long enough"), at + "expected YAML compressed by gzip: gzip: invalid header"},
		"another key":       {[]byte{}, at + "expected YAML compressed by gzip: EOF"},
		"cut off":           {packed(t, []byte("kind: Namespace"))[:20], at + "expected YAML compressed by gzip: unexpected EOF"},
		"more than is read": {packed(t, long), at + "it has more than 33554432 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.placed()
			w.controller.ChildManifest = none
			if c.data != nil {
				require.NoError(t, w.parent.Create(t.Context(), &corev1.ConfigMap{
					ObjectMeta: named("ropewalk-system", ManifestConfigMap), BinaryData: map[string][]byte{manifestKey: c.data},
				}))
			}
			got := w.settle()
			require.Equal(t, v1alpha1.PhaseFailed, got.Status.Phase)
			require.Equal(t, c.says, ready(got))
			w.bare()
			_, err := w.controller.parts().manifests.machine(t.Context(), got, "a-token")
			require.EqualError(t, err, c.says)
		})
	}
}

// none is a --child-manifest that is empty, or of a ConfigMap that is not mounted.
func none() ([]byte, error) { return os.ReadFile("") }

func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(text)
	require.NoError(t, errors.Join(err, w.Close()))
	return out.Bytes()
}

// TestAManifestOfAnEnrolledChildMayBeGone: it is for the installation alone.
func TestAManifestOfAnEnrolledChildMayBeGone(t *testing.T) {
	w := newWorld(t)
	w.connects()
	w.controller.ChildManifest = none
	_, err := w.controller.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
	require.True(t, err == nil || apierrors.IsConflict(err), "%v", err)
	require.NotEqual(t, v1alpha1.PhaseFailed, w.read().Status.Phase)
}

func TestAManifestThatAChildCannotKeepIsNotSent(t *testing.T) {
	w := newWorld(t)
	w.placed()
	noise := make([]byte, 1<<20)
	_, _ = rand.Read(noise)
	w.controller.ChildManifest = func() ([]byte, error) { return noise, nil }
	_, err := w.controller.parts().manifests.machine(t.Context(), w.read(), "a-token")
	require.ErrorContains(t, err, "bytes when it is compressed, and a child keeps 1024000 at most")
}
