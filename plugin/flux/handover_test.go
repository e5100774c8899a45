// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// TestRightsAreAskedForAgain: nobody tells when they are granted.
func TestRightsAreAskedForAgain(t *testing.T) {
	forbidden := atDeliver.at(apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "a", errors.New("no")))
	w := &work{Reconciler: &Reconciler{}, transform: &v1alpha1.Transform{}}
	_, err := w.requeue(t.Context(), diagnose(forbidden))
	require.ErrorIs(t, err, forbidden, "the queue backs off")

	w.transform.Spec.RetryInterval = &metav1.Duration{Duration: 7 * time.Second}
	result, err := w.requeue(t.Context(), diagnose(forbidden))
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, result.RequeueAfter)

	// What somebody must change is looked at when it is changed.
	result, err = w.requeue(t.Context(), diagnose(block(stalled, v1alpha1.InvalidReason, "x")))
	require.NoError(t, err)
	require.Equal(t, 10*time.Minute, result.RequeueAfter)
}

func TestAnOutageIsOverSoonAfterTheServerIsBack(t *testing.T) {
	now := time.Now()
	w := &work{Reconciler: &Reconciler{now: func() time.Time { return now }}, transform: &v1alpha1.Transform{}}
	fail := func(text string) time.Duration {
		p := diagnose(atPublish.at(source.Refuse(source.ErrUnavailable, text)))
		w.setProblem(*p)
		result, err := w.requeue(t.Context(), p)
		require.NoError(t, err)
		return result.RequeueAfter
	}
	began, tries := now, 0
	for now.Sub(began) < 24*time.Hour {
		wait := fail(fmt.Sprintf("connection %d is refused", tries))
		require.LessOrEqual(t, wait, max(5*time.Second, now.Sub(began)/8+time.Second))
		require.LessOrEqual(t, wait, 10*time.Minute)
		now, tries = now.Add(wait), tries+1
	}
	require.Less(t, tries, 300, "a day without a server costs no more than that")
	require.Equal(t, 10*time.Minute, fail("x"), "it is no short time any more")

	// Another failure is left to the queue, and what is over is forgotten.
	other := diagnose(atRequest.at(errors.New("something else")))
	w.setProblem(*other)
	_, err := w.requeue(t.Context(), other)
	require.Error(t, err)
}
