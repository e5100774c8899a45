// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/source"
)

func TestANameIsALabelOfAllThatIsMade(t *testing.T) {
	registry := &v1alpha1.Output{OCI: &v1alpha1.OCIOutput{}}
	nobody := &v1alpha1.Delivery{Type: v1alpha1.EngineNone}
	for name, c := range map[string]struct {
		length   int
		output   *v1alpha1.Output
		delivery *v1alpha1.Delivery
		good     bool
	}{
		"a label":                       {63, registry, nil, true},
		"no label":                      {64, registry, nil, false},
		"no label, and nothing is made": {64, registry, nobody, true},
		"no label, and an ExternalArtifact is made": {64, nil, nobody, false},
	} {
		t.Run(name, func(t *testing.T) {
			tf := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("a", c.length)}}
			tf.Spec.Output, tf.Spec.Delivery = c.output, c.delivery
			err := checkName(tf)
			require.Equal(t, c.good, err == nil)
			if !c.good {
				p := diagnose(err)
				require.Equal(t, stalled, p.kind)
				require.Equal(t, v1alpha1.InvalidReason, p.reason)
			}
		})
	}
}

func TestOnlyARequestOrAnotherKeyMakesSomethingNew(t *testing.T) {
	of := &v1alpha1.Transform{}
	require.True(t, begin(nil, of, time.Now()).isNew("1"), "nothing was rendered")
	of.Status.Artifact = &v1alpha1.Artifact{Checksum: "1"}
	of.Status.Rendered = &v1alpha1.Artifact{Checksum: "2"}
	s := begin(nil, of, time.Now())
	of.Status.Rendered = nil
	require.False(t, s.isNew("1"))
	require.False(t, s.isNew("2"), "it was rendered during a rollback")
	require.True(t, s.isNew("3"))
	require.False(t, s.isRequested())
	of.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "now"}
	require.True(t, s.isRequested())
}

func TestATransformStaysReadyWithoutItsRegistry(t *testing.T) {
	away := source.Refuse(source.ErrUnavailable, "x")
	of := &v1alpha1.Transform{}
	require.False(t, begin(nil, of, time.Now()).staysReady(away), "it was not Ready")
	conditions.MarkTrue(of, meta.ReadyCondition, "a", "b")
	s := begin(nil, of, time.Now())
	conditions.Delete(of, meta.ReadyCondition)
	require.True(t, s.staysReady(away), "it was Ready before")
	require.False(t, s.staysReady(errors.New("something else")))
	of.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "now"}
	require.False(t, s.staysReady(away), "a user wants to know")
}

func TestAnotherTryToPublishLeavesTheMessage(t *testing.T) {
	of := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	require.False(t, begin(nil, of, time.Now()).isRetry(), "it is new")
	for reason, retry := range map[string]bool{
		v1alpha1.PublishFailedReason: true, v1alpha1.AccessDeniedReason: true, v1alpha1.InvalidReason: false,
	} {
		conditions.MarkFalse(of, meta.ReadyCondition, reason, "no")
		require.Equal(t, retry, begin(nil, of, time.Now()).isRetry(), reason)
		other := of.DeepCopy()
		other.Generation++
		require.False(t, begin(nil, other, time.Now()).isRetry(), "the spec is another one")
	}
}
