// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

func TestAQuotaThatARenderExceedsIsAConditionAndAnEventOnce(t *testing.T) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "small"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}
	b := newBench(t, inprocess.New(inprocess.Options{}), quota)
	d, with := b.pipeline().deliverer, access{as: b.Client}
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
