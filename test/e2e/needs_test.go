// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// needy is an overlay by which the second Deployment of the module needs a Secret and
// another Transform.
const needy = `  overlays:
    - select: {name: web-second}
      needs:
        - {kind: Secret, name: db}
        - {apiVersion: ropewalk.dev/v1alpha1, kind: Transform, name: other, ready: Ready}
`

// TestALayerWaitsForWhatOthersMake: the layers before it are delivered, the condition names what
// is missing, and nothing but time tells the controller that it is there.
func TestALayerWaitsForWhatOthersMake(t *testing.T) {
	n := newTenant(t, "--requeue-dependency=1s")
	n.transform("web", `{text: one, replicas: 1}`, needy)
	waits := func(text string) *v1alpha1.Transform {
		t.Helper()
		return n.await("web", "waits for "+text, func(is *v1alpha1.Transform) bool {
			return reasonOf(is) == v1alpha1.NeedsReason && strings.Contains(messageOf(is), text)
		})
	}
	secret := waits(fmt.Sprintf("waits for Secret %s/db, which web/second needs: it does not exist", n.namespace))
	require.Equal(t, "1/2", secret.Status.Progress)
	require.Equal(t, v1alpha1.LayerWaiting, secret.Status.Layers[1].State)
	require.Empty(t, secret.Status.Violations, "the controller waits, so that nothing is lost")
	second := client.ObjectKey{Namespace: n.namespace, Name: "web-second"}
	require.True(t, apierrors.IsNotFound(n.Client.Get(t.Context(), second, &appsv1.Deployment{})))
	require.Equal(t, "one", n.text("web"), "the layer before needs nothing")

	n.Kubectl(t, "create", "secret", "generic", "db", "-n", n.namespace, "--from-literal=password=x")
	waits(fmt.Sprintf("waits for ropewalk.dev/Transform %s/other, which web/second needs: it does not exist", n.namespace))
	n.transform("other", `{text: one}`, "")
	n.ready("web")
	require.NoError(t, n.Client.Get(t.Context(), second, &appsv1.Deployment{}))

	// What is delivered stays when the object goes, until something changes.
	n.Kubectl(t, "delete", "secret", "db", "-n", n.namespace)
	n.Kubectl(t, "annotate", "transform", "web", "-n", n.namespace, "reconcile.fluxcd.io/requestedAt=now")
	n.await("web", "has looked again", func(is *v1alpha1.Transform) bool {
		return is.Status.LastHandledReconcileAt == "now" && apimeta.IsStatusConditionTrue(is.Status.Conditions, "Ready")
	})
	n.transform("web", `{text: two, replicas: 1}`, needy)
	waits("waits for Secret")
	allowed(t, n.controller)
}
