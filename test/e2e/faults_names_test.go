// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// remove deletes a Transform, and says how long it took to go.
func (n *tenant) remove(name string) time.Duration {
	n.t.Helper()
	began := time.Now()
	n.Kubectl(n.t, "-n", n.namespace, "delete", "transform", name, "--timeout="+soon.String())
	return time.Since(began).Round(10 * time.Millisecond)
}

// TestANameThatIsTooLongIsSaidToBe: the name is a label of all that is made for a
// Transform, and part of the name of what Flux has.
func TestANameThatIsTooLongIsSaidToBe(t *testing.T) {
	n := newTenant(t)
	for _, length := range []int{58, 64, 80} {
		name := strings.Repeat("a", length)
		n.transform(name, "{text: one}", "")
		no := n.stalled(name)
		t.Logf("%d characters: %s: %s", length, no.Reason, no.Message)
		require.Equal(t, v1alpha1.InvalidReason, no.Reason)
		require.Contains(t, no.Message, "name")
		t.Logf("deleted after %s", n.remove(name))
	}
	// Nobody gives it to a label here.
	long := strings.Repeat("b", 80)
	n.transform(long, "{text: one}", "  delivery: {type: None}\n")
	n.ready(long)
	n.remove(long)

	// One that fits is delivered.
	fits := strings.Repeat("c", 63-len("-layer-00"))
	n.transform(fits, "{text: one}", "")
	n.ready(fits)
	require.Equal(t, "one", n.text(fits))
	n.remove(fits)
	require.Empty(t, n.text(fits))
}

// TestWhatWasNeverDeliveredCanAlwaysBeDeleted: whatever is wrong with it.
func TestWhatWasNeverDeliveredCanAlwaysBeDeleted(t *testing.T) {
	n := newTenant(t, "--storage-path=")
	for name, more := range map[string]string{
		"poor":  "  serviceAccountName: poor\n",
		"ghost": "  serviceAccountName: nobody\n",
	} {
		n.transform(name, "{text: one}", more)
		require.Equal(t, v1alpha1.AccessDeniedReason, n.stalled(name).Reason)
		t.Logf("%s is deleted after %s", name, n.remove(name))
	}
	n.served("served", "{text: one}", "")
	require.Equal(t, v1alpha1.FeatureDisabledReason, n.stalled("served").Reason)
	t.Logf("served is deleted after %s", n.remove("served"))
}

// TestWhoeverHasDeliveredIsNotLetGoByAnAccountWithoutRights: what is there is not left
// behind without a word.
func TestWhoeverHasDeliveredIsNotLetGoByAnAccountWithoutRights(t *testing.T) {
	n := newTenant(t)
	n.transform("web", "{text: one}", "")
	n.ready("web")
	n.transform("web", "{text: one}", "  serviceAccountName: poor\n")
	n.stalled("web")
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "web", "--wait=false")
	n.await("web", "cannot be withdrawn", func(t *v1alpha1.Transform) bool {
		return !t.DeletionTimestamp.IsZero() && reasonOf(t) == v1alpha1.AccessDeniedReason
	})
	time.Sleep(time.Second)
	require.Equal(t, "one", n.text("web"))
	require.NotZero(t, n.get("web").DeletionTimestamp)
	n.transform("web", "{text: one}", "") // the account is taken away again
	n.Await(t, soon, "it is gone", func() bool {
		return apierrors.IsNotFound(n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "web"}, &v1alpha1.Transform{}))
	})
	require.Empty(t, n.text("web"))
}

// TestAKeyThatIsDeletedTooHoldsNoTransformBack: kubectl delete -f takes both.
func TestAKeyThatIsDeletedTooHoldsNoTransformBack(t *testing.T) {
	n := newTenant(t)
	n.transform("web", "{text: one}", "")
	n.ready("web")
	n.Kubectl(t, "-n", n.namespace, "patch", "transform", "web", "--type=merge", "-p", `{"spec":{"output":{"oci":{"signingKeyRef":{"name":"key"}}}}}`)
	n.reason("web", v1alpha1.PublishFailedReason)
	t.Logf("deleted after %s", n.remove("web"))
	require.Empty(t, n.text("web"))
}

// TestAnEngineThatIsNotWantedAnyMoreLetsGo: from Flux to nobody and back, and to Argo CD
// and back, with no object deleted or made again.
func TestAnEngineThatIsNotWantedAnyMoreLetsGo(t *testing.T) {
	n, argocd := newArgoTenant(t)
	j := n.journal(t, n.namespace, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	n.transform("web", "{text: one}", "")
	n.ready("web")
	var before corev1.ConfigMap
	at := client.ObjectKey{Namespace: n.namespace, Name: "web-config"}
	require.NoError(t, n.Client.Get(t.Context(), at, &before))

	step := func(what, text, more string) *v1alpha1.Transform {
		began := time.Now()
		n.transform("web", "{text: "+text+"}", more)
		now := n.ready("web")
		t.Logf("%s: %s", what, time.Since(began).Round(10*time.Millisecond))
		return now
	}
	nothing := func() {
		t.Helper()
		require.Empty(t, n.kustomizations("web"))
		var sources sourcev1.OCIRepositoryList
		require.NoError(t, n.Client.List(t.Context(), &sources, client.InNamespace(n.namespace)))
		require.Empty(t, sources.Items)
	}
	step("Flux to nobody", "two", "  delivery: {type: None}\n")
	nothing()
	require.Equal(t, "one", n.text("web"), "nobody applies it")
	step("nobody to Flux", "three", "")
	require.Equal(t, "three", n.text("web"))
	step("Flux to Argo CD", "four", byArgo)
	nothing()
	argocd.AwaitHealthy(t, soon, n.namespace+".web")
	require.Equal(t, "four", n.text("web"))
	step("Argo CD to Flux", "five", "")
	require.Empty(t, n.Kubectl(t, "-n", argocd.Namespace, "get", "application", n.namespace+".web", "--ignore-not-found"))
	require.Equal(t, "five", n.text("web"))

	var after corev1.ConfigMap
	require.NoError(t, n.Client.Get(t.Context(), at, &after))
	require.Equal(t, before.UID, after.UID)
	require.Empty(t, j.deletions(t))
	n.remove("web")
	require.Empty(t, n.text("web"))
	nothing()
}

// TestFieldsThatOthersTakeAreTakenBack: those of our objects of Flux. Only a suspension
// is respected, and said.
func TestFieldsThatOthersTakeAreTakenBack(t *testing.T) {
	n := newTenant(t)
	n.transform("web", "{text: one, replicas: 1}", "")
	n.ready("web")
	const name = "web-layer-00"
	at := client.ObjectKey{Namespace: n.namespace, Name: name}
	force := func(manifest string) {
		file := placeFile(t, t.TempDir(), "taken.yaml", manifest)
		n.Kubectl(t, "apply", "--server-side", "--force-conflicts", "--field-manager=other", "-f", file)
	}
	back := func(what string, is func() bool) {
		began := time.Now()
		n.Await(t, soon, what, is)
		t.Logf("%s: %s", what, time.Since(began).Round(10*time.Millisecond))
	}
	var k kustomizev1.Kustomization
	var source sourcev1.OCIRepository
	require.NoError(t, n.Client.Get(t.Context(), at, &source))
	digest := source.Spec.Reference.Digest

	head := "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: " + name + ", namespace: " + n.namespace + "}\n"
	force(head + "spec: {prune: false, interval: 3m, path: ./other, sourceRef: {kind: GitRepository, name: theirs}}\n")
	back("spec of a Kustomization", func() bool {
		require.NoError(t, n.Client.Get(t.Context(), at, &k))
		return k.Spec.Prune && k.Spec.Path == "./" && k.Spec.Interval.Hours() == 1 && k.Spec.SourceRef.Kind == "OCIRepository"
	})
	force("apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: " + name + ", namespace: " + n.namespace + "}\n" +
		"spec: {interval: 3m, url: \"oci://registry.example/theirs\", ref: {digest: \"sha256:" + strings.Repeat("0", 64) + "\"}}\n")
	back("spec of an OCIRepository", func() bool {
		require.NoError(t, n.Client.Get(t.Context(), at, &source))
		return source.Spec.Reference.Digest == digest && strings.Contains(source.Spec.URL, n.namespace)
	})
	n.Kubectl(t, "-n", n.namespace, "label", "kustomization", name, v1alpha1.LabelTransform+"-", v1alpha1.LabelLayer+"-")
	back("labels", func() bool {
		require.NoError(t, n.Client.Get(t.Context(), at, &k))
		return k.Labels[v1alpha1.LabelTransform] == "web" && k.Labels[v1alpha1.LabelLayer] == "layer-00"
	})
	n.Kubectl(t, "-n", n.namespace, "delete", "ocirepository", name)
	back("a source that was deleted", func() bool { return n.Client.Get(t.Context(), at, &source) == nil })
	n.ready("web")
	require.Equal(t, "one", n.text("web"))

	force(head + "spec: {suspend: true}\n")
	n.transform("web", "{text: two, replicas: 1}", "")
	held := n.await("web", "says that it is suspended", func(t *v1alpha1.Transform) bool { return contains(messageOf(t), "suspended") })
	t.Logf("%s: %s", reasonOf(held), messageOf(held))
	require.Equal(t, "one", n.text("web"))
	force(head + "spec: {suspend: false}\n")
	n.ready("web")
	require.Equal(t, "two", n.text("web"))
	require.True(t, apimeta.IsStatusConditionTrue(n.get("web").Status.Conditions, meta.ReadyCondition))
}
