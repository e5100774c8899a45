// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package readings

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

func TestEachPivotClusterShowsWhereItIs(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	blue := &v1alpha1.PivotCluster{ObjectMeta: metav1.ObjectMeta{Name: "blue"}, Status: v1alpha1.PivotClusterStatus{
		Phase: v1alpha1.PhasePivoting, Pivot: &v1alpha1.PivotStatus{Step: "Imported"}, Agent: &v1alpha1.AgentStatus{LastSeen: &metav1.Time{Time: now.Add(-90 * time.Second)}},
	}}
	green := &v1alpha1.PivotCluster{ObjectMeta: metav1.ObjectMeta{Name: "green"}, Status: v1alpha1.PivotClusterStatus{Phase: v1alpha1.PhasePending}}
	fresh := &v1alpha1.PivotCluster{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
	clusters := fake.NewClientBuilder().WithScheme(scheme).WithObjects(blue, green, fresh).Build()
	require.NoError(t, testutil.CollectAndCompare(New(clusters, func() time.Time { return now }), strings.NewReader(`
# HELP ropewalk_pivotcluster_heartbeat_age_seconds Time since the last heartbeat of its agent, to about a minute; absent before the first.
# TYPE ropewalk_pivotcluster_heartbeat_age_seconds gauge
ropewalk_pivotcluster_heartbeat_age_seconds{name="blue"} 90
# HELP ropewalk_pivotcluster_phase 1 for the phase that a PivotCluster is in.
# TYPE ropewalk_pivotcluster_phase gauge
ropewalk_pivotcluster_phase{name="blue",phase="Pivoting"} 1
ropewalk_pivotcluster_phase{name="green",phase="Pending"} 1
# HELP ropewalk_pivotcluster_step 1 for the step of its pivot that was finished last; absent before the first.
# TYPE ropewalk_pivotcluster_step gauge
ropewalk_pivotcluster_step{name="blue",step="Imported"} 1
`)))
}
