// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/renders"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestARenderThatFailedIsNotTriedBeforeSomethingChanges(t *testing.T) {
	wrong := atRender.at(mistakes(&object.Error{Stage: object.StageEvaluate, Err: errors.New("no such field")}))
	for name, c := range map[string]struct {
		failed error
		key    string
		since  time.Duration
		change func(*v1alpha1.Transform)
		tried  bool
	}{
		"nothing has changed":   {wrong, "1", 0, func(*v1alpha1.Transform) {}, false},
		"the key has changed":   {wrong, "2", 0, func(*v1alpha1.Transform) {}, true},
		"modules are due":       {wrong, "1", time.Hour, func(*v1alpha1.Transform) {}, true},
		"it may pass by itself": {atRender.at(errors.New("no answer")), "1", 0, func(*v1alpha1.Transform) {}, true},
		"a user has requested it": {wrong, "1", 0, func(of *v1alpha1.Transform) {
			of.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "now"}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			of := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}}
			c.change(of)
			writer := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(of).WithStatusSubresource(of).Build()
			require.NoError(t, writer.Get(t.Context(), client.ObjectKeyFromObject(of), of))
			now := time.Now()
			attempts := &renders.Attempts{}
			attempts.Record("1", now, "1", c.failed)
			r := renderer{attempts: attempts, slots: renders.NewSlots(1), now: func() time.Time { return now.Add(c.since) }}

			// Where it is tried, there is no slot: the context has ended.
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := r.render(ctx, begin(writer, of, now), resolved{key: c.key})
			if c.tried {
				require.ErrorIs(t, err, context.Canceled)
				return
			}
			require.ErrorIs(t, err, c.failed)
		})
	}
}

func TestTheStatusHasEachWaveWithItsLayer(t *testing.T) {
	nodes := []graphNode{{ID: "a"}, {ID: "b", Wave: 1}, {ID: "c", Wave: 1}, {ID: "d", Wave: 2}}
	layers := []delivery.Layer{{Barrier: "first", Waves: []int32{0, 1}}, {Barrier: "second", Waves: []int32{2}}}
	require.Equal(t, []v1alpha1.WaveStatus{{Wave: 0, Layer: "first", Nodes: 1}, {Wave: 1, Layer: "first", Nodes: 2}, {Wave: 2, Layer: "second", Nodes: 1}}, wavesOf(nodes, layers))
	require.Empty(t, wavesOf(nil, nil))
}

func TestTagsAreResolvedAgainWithinHalfAnInterval(t *testing.T) {
	of := &v1alpha1.Transform{}
	s := begin(nil, of, time.Now())
	of.Spec.Interval = metav1.Duration{Duration: time.Minute}
	require.Equal(t, 30*time.Second, validFor(s))
	of.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "now"}
	require.Negative(t, validFor(s), "a user wants to know what they are now")
}

func TestWhatIsFetchedForARenderIsBounded(t *testing.T) {
	of := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", Generation: 1}}
	of.Spec.SourceRef = &v1alpha1.SourceReference{Kind: "GitRepository", Name: "web"}
	of.Spec.Output = &v1alpha1.Output{OCI: &v1alpha1.OCIOutput{Repository: "oci://localhost/web"}}
	b := newBench(t, inprocess.New(inprocess.Options{}), of, repository(t, "web", map[string]string{"README.md": "nothing"}))
	require.NotContains(t, b.reconcile(t, "web"), "deadline exceeded")
	b.opts.FetchTimeout = time.Nanosecond
	b.attempts = &renders.Attempts{}
	require.Contains(t, b.reconcile(t, "web"), "deadline exceeded")
}
