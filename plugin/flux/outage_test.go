// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/ropewalk/ropewalk/source"
)

func TestAnOutageIsOverSoonAfterTheServerIsBack(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := &outages{
		TypedRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](750*time.Millisecond, 15*time.Minute),
		now:              func() time.Time { return now },
	}
	item := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}}
	away := atPublish.at(source.Refuse(source.ErrUnavailable, "x"))
	began, tries := now, 0
	for now.Sub(began) < 24*time.Hour {
		o.note(item.NamespacedName, away)
		wait := o.When(item)
		require.LessOrEqual(t, wait, max(5*time.Second, now.Sub(began)/8))
		require.LessOrEqual(t, wait, 15*time.Minute)
		now, tries = now.Add(wait), tries+1
	}
	require.Less(t, tries, 200, "a day without a server costs no more than that")
	require.Equal(t, 15*time.Minute, o.When(item), "it is no short time any more")

	// Another failure backs off as it always did, and what is over is forgotten.
	o.Forget(item)
	require.Empty(t, o.since)
	require.Equal(t, 750*time.Millisecond, o.When(item))
	o.note(item.NamespacedName, away)
	for range 12 {
		require.LessOrEqual(t, o.When(item), 5*time.Second)
	}
	o.note(item.NamespacedName, errors.New("something else"))
	require.Empty(t, o.since)
	require.Equal(t, 15*time.Minute, o.When(item))
}
