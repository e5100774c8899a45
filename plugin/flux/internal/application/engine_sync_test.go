// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package application

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestASyncOfAnEarlierDigestIsEnded(t *testing.T) {
	r := newRig(t)
	r.deliver("a")
	r.deliver("b")
	r.argo(map[string]any{"sync": compared("b", outOfSync), "operationState": operation("a", phaseRunning, "waiting", time.Time{})})
	require.Contains(t, r.deliver("b").Message, "terminating the sync of the previous digest")
	require.Equal(t, phaseTerminating, text(r.live(), "status", "operationState", "phase"))

	byHand := operation("a", phaseRunning, "waiting", time.Time{})
	byHand["operation"].(map[string]any)["initiatedBy"] = map[string]any{"username": "admin"}
	r.argo(map[string]any{"operationState": byHand})
	r.deliver("b")
	require.Equal(t, phaseRunning, text(r.live(), "status", "operationState", "phase"), "a sync by hand is left alone")
}

func TestASyncThatFailedIsTriedAgainAfterAWhile(t *testing.T) {
	r := newRig(t)
	r.transform.Spec.Adopt = "Never"
	r.deliver("a")
	failed := operation("a", phaseFailed, "no such kind", r.now)
	failed["operation"].(map[string]any)["sync"] = map[string]any{"revision": digest("a"), "syncOptions": []any{"FailOnSharedResource=true"}}
	r.argo(map[string]any{"sync": compared("a", outOfSync), "operationState": failed})
	r.now = r.now.Add(retryAfter - time.Second)
	require.True(t, r.deliver("a").Failed)
	require.Nil(t, r.live().Object["operation"])
	r.now = r.now.Add(time.Second)
	p := r.deliver("a")
	require.False(t, p.Failed)
	require.Contains(t, p.Message, "retrying the failed sync")
	require.Equal(t, map[string]any{
		"sync":        map[string]any{"revision": digest("a"), "prune": true, "syncOptions": []any{"FailOnSharedResource=true"}},
		"initiatedBy": map[string]any{"username": "ropewalk-controller", "automated": true},
		"retry":       map[string]any{"limit": int64(3), "backoff": map[string]any{"duration": "5s", "factor": int64(2), "maxDuration": "1m"}},
	}, r.live().Object["operation"])
	require.NotContains(t, r.deliver("a").Message, "retrying the failed sync")

	r.transform.Spec.RetryInterval = &metav1.Duration{Duration: time.Minute}
	r.argo(map[string]any{"operationState": operation("a", phaseError, "no such kind", r.now)})
	r.now = r.now.Add(time.Minute)
	require.Contains(t, r.deliver("a").Message, "retrying the failed sync")
}

// TestASyncThatRefusesWhatMayBeTakenIsNotWaitedFor: who says that objects may be taken over does not
// wait for the retries of a sync that may not.
func TestASyncThatRefusesWhatMayBeTakenIsNotWaitedFor(t *testing.T) {
	r := newRig(t)
	r.transform.Spec.Adopt = "Never"
	r.deliver("a")
	running := operation("a", phaseRunning, "Shared resource found", time.Time{})
	running["operation"].(map[string]any)["sync"] = map[string]any{"revision": digest("a"), "syncOptions": []any{"FailOnSharedResource=true"}}
	r.argo(map[string]any{"sync": compared("a", outOfSync), "operationState": running})
	r.deliver("a")
	require.Equal(t, phaseRunning, text(r.live(), "status", "operationState", "phase"))

	r.transform.Spec.Adopt = "TakeOwnership"
	r.deliver("a")
	require.Contains(t, r.deliver("a").Message, "terminating the sync of the previous digest")
	require.Equal(t, phaseTerminating, text(r.live(), "status", "operationState", "phase"))
	running["phase"], running["finishedAt"] = phaseFailed, r.now.Format(time.RFC3339)
	r.argo(map[string]any{"operationState": running})
	require.Contains(t, r.deliver("a").Message, "retrying the failed sync")
	require.Equal(t, map[string]any{"revision": digest("a"), "prune": true, "syncOptions": []any{"FailOnSharedResource=false"}},
		r.live().Object["operation"].(map[string]any)["sync"])
}
