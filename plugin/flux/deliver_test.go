// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

func TestAQuotaThatARenderExceedsIsAConditionAndAnEventOnce(t *testing.T) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "small"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}
	b := newBench(t, inprocess.New(inprocess.Options{}), quota)
	d, with := b.newPipeline().deliverer, access{as: b.Client}
	render := func(replicas string) rendered {
		return rendered{Render: publish.Render{Files: []emit.File{{Node: "a/b", Data: []byte(
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {replicas: " + replicas + ", template: {spec: {containers: [{name: a}]}}}\n",
		)}}}}
	}
	of := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	for range 2 {
		d.warnOfQuotas(t.Context(), of, with, render("3"))
		require.True(t, conditions.IsTrue(of, v1alpha1.OverQuotaCondition))
		require.Equal(t, "ResourceQuota shop/small allows 2 of pods, and the pods of this render ask for 3", conditions.GetMessage(of, v1alpha1.OverQuotaCondition))
	}
	require.Len(t, b.events.Events, 2, "of the Transform, and of the object of Flux that stands for it")
	require.Contains(t, <-b.events.Events, "Warning OverQuota ResourceQuota shop/small allows 2 of pods")
	d.warnOfQuotas(t.Context(), of, with, render("2"))
	require.False(t, conditions.Has(of, v1alpha1.OverQuotaCondition))

	// Quotas of this cluster are not those of another one.
	of.Spec.Delivery = &v1alpha1.Delivery{Flux: &v1alpha1.FluxDelivery{KubeConfig: &meta.KubeConfigReference{}}}
	d.warnOfQuotas(t.Context(), of, with, render("3"))
	require.False(t, conditions.Has(of, v1alpha1.OverQuotaCondition))
}

// TestWhatIsAdmittedIsWrittenBeforeItIsDelivered: a process that is killed between the two finds
// that the delivery has begun, and its window may have closed since.
func TestWhatIsAdmittedIsWrittenBeforeItIsDelivered(t *testing.T) {
	of := named("web")
	of.UID = "1"
	of.Spec.Delivery = &v1alpha1.Delivery{Windows: []v1alpha1.Window{{
		Kind: v1alpha1.WindowAllow, Schedule: "0 9 * * *", Duration: metav1.Duration{Duration: time.Hour},
	}}}
	of.Status.Window = &v1alpha1.WindowStatus{Admitted: "sha256:one"}
	writer := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(of).WithStatusSubresource(of).Build()
	require.NoError(t, writer.Get(t.Context(), client.ObjectKeyFromObject(of), of))
	raised := record.NewFakeRecorder(9)
	now := time.Date(2026, 11, 2, 8, 59, 0, 0, time.UTC)
	a := admitter{plans: newPlans(1 << 20), events: events{recorder: raised, cache: writer}, now: func() time.Time { return now }}
	a.plans.keep(of, delivery.Desired{Digest: "sha256:one", Revision: "old"})

	// Outside of the window, what was admitted before goes on.
	want := delivery.Desired{Digest: "sha256:two"}
	waits, known, err := a.admit(t.Context(), begin(writer, of, now), nil, &want)
	require.NoError(t, err)
	require.True(t, known)
	require.Contains(t, waits, "sha256:two is published, and waits for a window")
	require.Equal(t, delivery.Desired{Digest: "sha256:one", Revision: "old"}, want)
	require.Equal(t, time.Minute, schedule{now: now}.untilWindow(of), "the next reconciliation is due when it opens")

	// In the window it is written first.
	now = now.Add(time.Minute)
	want = delivery.Desired{Digest: "sha256:two"}
	waits, known, err = a.admit(t.Context(), begin(writer, of, now), nil, &want)
	require.NoError(t, err)
	require.True(t, known)
	require.Empty(t, waits)
	require.Equal(t, "sha256:two", want.Digest)
	written := &v1alpha1.Transform{}
	require.NoError(t, writer.Get(t.Context(), client.ObjectKeyFromObject(of), written))
	require.Equal(t, "sha256:two", written.Status.Window.Admitted)
	require.Empty(t, raised.Events)

	// An override is an event with its reason.
	now = now.Add(2 * time.Hour)
	of.Annotations = map[string]string{v1alpha1.AnnotationOverrideWindow: "the shop is down"}
	want = delivery.Desired{Digest: "sha256:three"}
	_, _, err = a.admit(t.Context(), begin(writer, of, now), nil, &want)
	require.NoError(t, err)
	require.Equal(t, "sha256:three", want.Digest)
	require.Contains(t, <-raised.Events, "WindowOverridden delivering outside of its windows: the shop is down")

	// Nothing was delivered before, so that nothing is.
	of.Status.Window = &v1alpha1.WindowStatus{Override: "the shop is down"}
	_, known, err = a.admit(t.Context(), begin(writer, of, now), nil, &want)
	require.NoError(t, err)
	require.False(t, known)

	of.Spec.Delivery.Windows[0].Schedule = "noon"
	_, _, err = a.admit(t.Context(), begin(writer, of, now), nil, &want)
	require.Equal(t, v1alpha1.InvalidReason, diagnose(err).reason)
	require.ErrorContains(t, err, "spec.delivery.windows[0].schedule: expected five fields of cron")
}
