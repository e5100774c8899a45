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
		Phase: v1alpha1.PhasePivoting, Pivot: &v1alpha1.PivotStatus{Step: "Imported", StepTime: &metav1.Time{Time: now.Add(-time.Hour)}}, Agent: &v1alpha1.AgentStatus{LastSeen: &metav1.Time{Time: now.Add(-90 * time.Second)}},
		Nodes:      &v1alpha1.NodeCounts{Ready: 2, Wanted: 3},
		Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Progressing"}, {Type: "Connected", Status: metav1.ConditionTrue, Reason: "Connected"}},
	}}
	// What a pivot has left behind has no age.
	red := &v1alpha1.PivotCluster{ObjectMeta: metav1.ObjectMeta{Name: "red"}, Status: v1alpha1.PivotClusterStatus{
		Pivot: &v1alpha1.PivotStatus{Step: "Done", StepTime: &metav1.Time{Time: now.Add(-time.Hour)}},
	}}
	green := &v1alpha1.PivotCluster{ObjectMeta: metav1.ObjectMeta{Name: "green"}, Status: v1alpha1.PivotClusterStatus{Phase: v1alpha1.PhasePending}}
	fresh := &v1alpha1.PivotCluster{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
	clusters := fake.NewClientBuilder().WithScheme(scheme).WithObjects(blue, green, red, fresh).Build()
	r := New(clusters, func() time.Time { return now })
	r.CountFailure(Aborted)
	r.CountFailure(Aborted)
	require.NoError(t, testutil.CollectAndCompare(r, strings.NewReader(`
# HELP ropewalk_pivotcluster_condition 1 for each condition of a PivotCluster, with its status and its reason.
# TYPE ropewalk_pivotcluster_condition gauge
ropewalk_pivotcluster_condition{name="blue",reason="Connected",status="True",type="Connected"} 1
ropewalk_pivotcluster_condition{name="blue",reason="Progressing",status="False",type="Ready"} 1
# HELP ropewalk_pivotcluster_heartbeat_age_seconds Time since the last heartbeat of its agent, to about a minute; absent before the first.
# TYPE ropewalk_pivotcluster_heartbeat_age_seconds gauge
ropewalk_pivotcluster_heartbeat_age_seconds{name="blue"} 90
# HELP ropewalk_pivotcluster_nodes Nodes of the cluster: those that are ready, and those that are wanted.
# TYPE ropewalk_pivotcluster_nodes gauge
ropewalk_pivotcluster_nodes{name="blue",state="ready"} 2
ropewalk_pivotcluster_nodes{name="blue",state="wanted"} 3
# HELP ropewalk_pivotcluster_phase 1 for the phase that a PivotCluster is in.
# TYPE ropewalk_pivotcluster_phase gauge
ropewalk_pivotcluster_phase{name="blue",phase="Pivoting"} 1
ropewalk_pivotcluster_phase{name="green",phase="Pending"} 1
# HELP ropewalk_pivotcluster_pivot_failures_total Pivots that ended without success: refused, aborted or stopped. The events of the PivotClusters say which.
# TYPE ropewalk_pivotcluster_pivot_failures_total counter
ropewalk_pivotcluster_pivot_failures_total{reason="aborted"} 2
ropewalk_pivotcluster_pivot_failures_total{reason="refused"} 0
ropewalk_pivotcluster_pivot_failures_total{reason="stopped"} 0
# HELP ropewalk_pivotcluster_step 1 for the step of its pivot that was finished last; absent before the first.
# TYPE ropewalk_pivotcluster_step gauge
ropewalk_pivotcluster_step{name="blue",step="Imported"} 1
ropewalk_pivotcluster_step{name="red",step="Done"} 1
# HELP ropewalk_pivotcluster_step_age_seconds Time since a step of its pivot was finished; absent before the first, and when the pivot has ended.
# TYPE ropewalk_pivotcluster_step_age_seconds gauge
ropewalk_pivotcluster_step_age_seconds{name="blue"} 3600
`)))
}
