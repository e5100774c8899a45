// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

func TestEachTransformShowsHowManyObjectsItRenders(t *testing.T) {
	shop := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "shop"}, Status: v1alpha1.TransformStatus{NodeCount: 12}}
	none := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "none"}}
	require.NoError(t, testutil.CollectAndCompare(newObjects(fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(shop, none).Build()), strings.NewReader(`
# HELP ropewalk_transform_objects Objects that a Transform renders.
# TYPE ropewalk_transform_objects gauge
ropewalk_transform_objects{name="none",namespace="apps"} 0
ropewalk_transform_objects{name="shop",namespace="apps"} 12
`)))
}
