// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/renders"
	"github.com/ropewalk/ropewalk/source"
)

func TestTheCourseOfThingsIsNoEvent(t *testing.T) {
	for name, c := range map[string]struct {
		says delivery.Progress
		want string
	}{
		"a layer is applied": {delivery.Progress{Reason: v1alpha1.LayerNotReadyReason, Message: "web-layer-00: applying"}, ""},
		"a layer failed":     {delivery.Progress{Failed: true, Reason: v1alpha1.LayerNotReadyReason, Message: "web-layer-00: no"}, "Warning LayerNotReady web-layer-00: no"},
		"it is deleted":      {delivery.Progress{Reason: v1alpha1.DeletingReason, Message: "web-layer-00"}, "Trace Deleting web-layer-00"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := record.NewFakeRecorder(4)
			none := fake.NewClientBuilder().WithScheme(Scheme()).Build()
			of, raises := &v1alpha1.Transform{}, events{recorder: recorder, cache: none}
			out := outcome{progress: &c.says}
			p, _ := setConditions(of, out)
			for _, what := range eventsOf(of, nil, out, p) {
				raises.raise(t.Context(), of, what)
			}
			close(recorder.Events)
			if c.want == "" {
				require.Empty(t, recorder.Events)
				return
			}
			require.True(t, strings.HasPrefix(<-recorder.Events, c.want))
		})
	}
}

// TestRightsAreAskedForAgain: nobody tells when they are granted.
func TestRightsAreAskedForAgain(t *testing.T) {
	forbidden := atDeliver.at(apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "a", errors.New("no")))
	of := &v1alpha1.Transform{}
	_, err := reporter{now: time.Now}.requeue(t.Context(), of, outcome{}, diagnose(forbidden))
	require.ErrorIs(t, err, forbidden, "the queue backs off")

	of.Spec.RetryInterval = &metav1.Duration{Duration: 7 * time.Second}
	result, err := reporter{now: time.Now}.requeue(t.Context(), of, outcome{}, diagnose(forbidden))
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, result.RequeueAfter)

	// What somebody must change is looked at when it is changed.
	result, err = reporter{now: time.Now}.requeue(t.Context(), of, outcome{}, diagnose(block(stalled, v1alpha1.InvalidReason, "x")))
	require.NoError(t, err)
	require.Equal(t, 10*time.Minute, result.RequeueAfter)
}

func TestAnOutageIsOverSoonAfterTheServerIsBack(t *testing.T) {
	now := time.Now()
	r := reporter{now: func() time.Time { return now }}
	of := &v1alpha1.Transform{}
	fail := func(text string) time.Duration {
		p := diagnose(atPublish.at(source.Refuse(source.ErrUnavailable, text)))
		setProblem(of, *p)
		result, err := r.requeue(t.Context(), of, outcome{}, p)
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
	setProblem(of, *other)
	_, err := r.requeue(t.Context(), of, outcome{}, other)
	require.Error(t, err)
}

func TestTheNextReconciliationFollowsFromTheOutcome(t *testing.T) {
	const interval, dependency, retries = 10 * time.Minute, 30 * time.Second, 7 * time.Second
	now := time.Now()
	foreign := delivery.Progress{Stalled: true, Reason: v1alpha1.ForeignObjectsReason}
	ready := &delivery.Progress{Ready: true}
	unwatched := &blocked{problem{kind: waiting, reason: "Waiting", err: errors.New("x")}}
	for name, c := range map[string]struct {
		out    outcome
		claims time.Duration
		// want is without spec.retryInterval, and wantRetry with it; 0 is left to the queue.
		want, wantRetry time.Duration
	}{
		"it is Ready":                        {outcome{progress: ready}, 0, interval, interval},
		"a claim waits":                      {outcome{progress: ready}, time.Minute, time.Minute, time.Minute},
		"a layer is applied":                 {outcome{progress: &delivery.Progress{}}, 0, dependency, dependency},
		"a layer failed":                     {outcome{progress: &delivery.Progress{Failed: true}}, 0, dependency, dependency},
		"a layer is stalled":                 {outcome{progress: &delivery.Progress{Stalled: true}}, 0, interval, interval},
		"another owner has objects":          {outcome{progress: &foreign}, 0, 2 * time.Minute, 2 * time.Minute},
		"a preview is stalled":               {outcome{progress: ready, preview: block(stalled, "Invalid", "x")}, 0, interval, interval},
		"a preview waits for an event":       {outcome{progress: ready, preview: block(waiting, "Waiting", "x")}, 0, interval, interval},
		"a preview failed":                   {outcome{progress: ready, preview: errors.New("x")}, 0, dependency, retries},
		"a preview waits for a slot":         {outcome{progress: ready, preview: renders.ErrNoSlot}, 0, renders.Retry, renders.Retry},
		"a preview during a delivery failed": {outcome{progress: &delivery.Progress{Failed: true}, preview: renders.ErrNoSlot}, 0, dependency, dependency},
		"it is stalled":                      {outcome{err: block(stalled, "Invalid", "x")}, 0, interval, interval},
		"it is stalled, and a claim waits":   {outcome{err: block(stalled, "Invalid", "x")}, time.Second, time.Second, time.Second},
		"it waits for an event":              {outcome{err: block(waiting, "Waiting", "x")}, 0, interval, interval},
		"it waits, and no event follows":     {outcome{err: unwatched}, 0, dependency, retries},
		"a server is away":                   {outcome{err: atRequest.at(source.Refuse(source.ErrUnavailable, "x"))}, 0, time.Minute, retries},
		"something else failed":              {outcome{err: errors.New("x")}, 0, 0, retries},
	} {
		t.Run(name, func(t *testing.T) {
			for _, set := range []time.Duration{0, retries} {
				of := &v1alpha1.Transform{}
				want := c.want
				if set > 0 {
					of.Spec.RetryInterval = &metav1.Duration{Duration: set}
					want = c.wantRetry
				}
				p, _ := setConditions(of, c.out)
				for i := range of.Status.Conditions {
					is := &of.Status.Conditions[i]
					switch is.Type {
					case meta.ReadyCondition:
						is.LastTransitionTime.Time = now.Add(-16 * time.Minute)
					case v1alpha1.RenderedCondition:
						is.LastTransitionTime.Time = now.Add(-8 * time.Minute)
					}
				}
				got, ok := schedule{now: now, claims: c.claims, dependency: dependency}.next(of, c.out, p)
				require.Equal(t, want, got)
				require.Equal(t, want != 0, ok)
			}
		})
	}
}

func TestAnOutcomeIsEitherItsProblemOrItsProgress(t *testing.T) {
	progress := &delivery.Progress{Ready: true, Shared: "apps/web"}
	for name, c := range map[string]struct {
		out           outcome
		status        metav1.ConditionStatus
		reason        string
		shared, fails bool
	}{
		"a delivery":                     {outcome{progress: progress}, metav1.ConditionTrue, v1alpha1.SucceededReason, true, false},
		"a mistake beside a delivery":    {outcome{err: block(stalled, v1alpha1.InvalidReason, "x"), progress: progress}, metav1.ConditionFalse, v1alpha1.InvalidReason, false, true},
		"a preview that failed":          {outcome{progress: progress, preview: errors.New("x")}, metav1.ConditionTrue, v1alpha1.SucceededReason, true, false},
		"a suspension":                   {outcome{suspended: true}, "", "", false, false},
		"an engine that is still at it":  {outcome{progress: &delivery.Progress{Reason: v1alpha1.LayerNotReadyReason}}, metav1.ConditionUnknown, meta.ProgressingReason, false, false},
		"a deletion that waits for Flux": {outcome{progress: &delivery.Progress{Reason: v1alpha1.DeletingReason}}, metav1.ConditionUnknown, v1alpha1.DeletingReason, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			of := &v1alpha1.Transform{}
			p, shared := setConditions(of, c.out)
			require.Equal(t, c.fails, p != nil)
			require.Equal(t, c.shared, shared)
			is := conditions.Get(of, meta.ReadyCondition)
			if c.status == "" {
				require.Nil(t, is)
				return
			}
			require.Equal(t, c.status, is.Status)
			require.Equal(t, c.reason, is.Reason)
		})
	}
}

func TestEventsTellWhatIsNews(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason, text string) *metav1.Condition {
		return &metav1.Condition{Type: meta.ReadyCondition, Status: status, Reason: reason, Message: text}
	}
	failed := outcome{err: block(stalled, v1alpha1.InvalidReason, "x"), refused: true, found: resolved{revision: "main@sha1:2"}}
	for name, c := range map[string]struct {
		out  outcome
		was  *metav1.Condition
		want []notice
	}{
		"a publication and its release": {
			outcome{published: publication{changed: true}, progress: &delivery.Progress{Changed: []string{"a", "b"}}}, nil,
			[]notice{{kind: typeNormal, reason: v1alpha1.PublishedReason, text: "published sha256:1"}, {kind: typeTrace, reason: "Released", text: "released a, b"}},
		},
		"another revision": {
			outcome{published: publication{revised: true}, progress: &delivery.Progress{}}, nil,
			[]notice{{kind: typeNormal, reason: v1alpha1.PublishedReason, text: "no changes with sha256:1", only: true}},
		},
		"it became Ready": {
			outcome{progress: &delivery.Progress{Ready: true}}, ready(metav1.ConditionUnknown, meta.ProgressingReason, "x"),
			[]notice{{kind: typeNormal, reason: v1alpha1.SucceededReason, text: "applied sha256:1"}},
		},
		"it stays Ready": {
			outcome{progress: &delivery.Progress{Ready: true}}, ready(metav1.ConditionTrue, v1alpha1.SucceededReason, "applied sha256:1"), nil,
		},
		"a mistake is of the revision that has it": {
			failed, nil, []notice{{kind: typeWarning, reason: v1alpha1.InvalidReason, text: "x", refused: true, revision: "main@sha1:2"}},
		},
		"the same mistake": {failed, ready(metav1.ConditionFalse, v1alpha1.InvalidReason, "x"), nil},
		"a dependency": {
			outcome{err: block(waiting, v1alpha1.DependencyNotReadyReason, "x"), refused: true}, nil,
			[]notice{{kind: typeTrace, reason: v1alpha1.DependencyNotReadyReason, text: "x", refused: true}},
		},
		"another step of a deletion": {
			outcome{progress: &delivery.Progress{Reason: v1alpha1.DeletingReason, Message: "b"}}, ready(metav1.ConditionUnknown, v1alpha1.DeletingReason, "a"), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			of := &v1alpha1.Transform{}
			of.Status.Artifact = &v1alpha1.Artifact{Digest: "sha256:1"}
			p, _ := setConditions(of, c.out)
			require.Equal(t, c.want, eventsOf(of, c.was, c.out, p))
		})
	}
}

func TestSomeOutcomesAreNotShown(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	away := source.Refuse(source.ErrUnavailable, "x")
	for name, c := range map[string]struct {
		ctx  context.Context //nolint:containedctx // of a case
		out  outcome
		next time.Duration
		err  error
		// shows is what Ready says in the status; "" is nothing.
		shows string
		// behind is the priority in the queue, 0 where it is that of the request.
		behind int
	}{
		"nothing is left":              {t.Context(), outcome{gone: true}, 0, nil, "", 0},
		"the process ends":             {ended, outcome{err: errors.New("x")}, 0, context.Canceled, "", 0},
		"a registry is away":           {t.Context(), outcome{err: atPublish.at(&outage{away})}, 3 * time.Second, nil, "", 0},
		"there is no slot":             {t.Context(), outcome{found: resolved{key: "1"}, err: renders.ErrNoSlot}, renders.Retry, nil, "", handler.LowPriority},
		"there is no slot for a new":   {t.Context(), outcome{found: resolved{key: "2"}, err: renders.ErrNoSlot}, renders.Retry, nil, renders.ErrNoSlot.Error(), handler.LowPriority},
		"there is no slot for an edit": {t.Context(), outcome{found: resolved{key: "1"}, err: fmt.Errorf("edited: %w", renders.ErrNoSlot)}, renders.Retry, nil, "", handler.LowPriority / 2},
		"it is suspended":              {t.Context(), outcome{suspended: true}, 0, nil, "", 0},
		"it failed":                    {t.Context(), outcome{err: block(stalled, v1alpha1.InvalidReason, "x")}, 10 * time.Minute, nil, "x", handler.LowPriority},
	} {
		t.Run(name, func(t *testing.T) {
			of := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}}
			of.Status.Artifact = &v1alpha1.Artifact{Checksum: "1"}
			if c.behind == handler.LowPriority/2 {
				of.Generation = 2
			}
			writer := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(of).WithStatusSubresource(of).Build()
			require.NoError(t, writer.Get(t.Context(), client.ObjectKeyFromObject(of), of))
			attempts := &renders.Attempts{}
			attempts.Record("1", time.Now(), "1", away)
			r := reporter{events: events{recorder: record.NewFakeRecorder(9), cache: writer}, attempts: attempts, now: time.Now, dependency: 3 * time.Second}

			result, err := r.finish(c.ctx, begin(writer, of, time.Now()), c.out)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.next, result.RequeueAfter)
			priority := 0
			if result.Priority != nil {
				priority = *result.Priority
			}
			require.Equal(t, c.behind, priority, "others come before it")
			require.Equal(t, c.out.gone, attempts.Failed("1", "1") == nil)

			require.NoError(t, writer.Get(t.Context(), client.ObjectKeyFromObject(of), of))
			require.Equal(t, c.shows, conditions.GetMessage(of, meta.ReadyCondition))
		})
	}
}
