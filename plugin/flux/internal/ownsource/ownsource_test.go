// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package ownsource

import (
	"context"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// app is a Transform with a source of its own.
func app(branch string) *v1alpha1.Transform {
	return &v1alpha1.Transform{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app", UID: "1"},
		Spec: v1alpha1.TransformSpec{Source: &v1alpha1.Source{Git: v1alpha1.GitSource{
			URL: "https://example.com/app", Reference: &v1alpha1.GitReference{Branch: branch}, SecretRef: &v1alpha1.LocalObjectReference{Name: "deploy-key"},
		}}},
	}
}

// cluster is an API server that counts the requests that write.
func cluster(t *testing.T, objects ...client.Object) (client.WithWatch, *int) {
	t.Helper()
	s := runtime.NewScheme()
	require.NoError(t, sourcev1.AddToScheme(s))
	writes := new(int)
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build(), interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			*writes++
			return c.Apply(ctx, o, opts...)
		},
	}), writes
}

func TestTheGitRepositoryFollowsTheSpec(t *testing.T) {
	c, writes := cluster(t)
	require.NoError(t, Ensure(t.Context(), c, c, app("main")))
	live, err := find(t.Context(), c, app(""))
	require.NoError(t, err)
	require.Equal(t, "https://example.com/app", live.Spec.URL)
	require.Equal(t, "main", live.Spec.Reference.Branch)
	require.Equal(t, "deploy-key", live.Spec.SecretRef.Name)
	require.Equal(t, 10*time.Minute, live.Spec.Interval.Duration)
	require.Equal(t, "app", live.Labels[v1alpha1.LabelTransform])
	require.Equal(t, 1, *writes)

	require.NoError(t, Ensure(t.Context(), c, c, app("main")))
	require.Equal(t, 1, *writes, "what is as wanted is not written")
	require.NoError(t, Ensure(t.Context(), c, c, app("next")))
	require.Equal(t, 2, *writes)

	// Where the Transform names another source, its own goes.
	without := app("")
	without.Spec.Source = nil
	require.NoError(t, Ensure(t.Context(), c, c, without))
	live, err = find(t.Context(), c, without)
	require.NoError(t, err)
	require.Nil(t, live)
}

func TestAGitRepositoryOfOthersStays(t *testing.T) {
	theirs := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app"}, Spec: sourcev1.GitRepositorySpec{URL: "https://example.com/theirs"}}
	c, writes := cluster(t, theirs)
	stale, _ := cluster(t) // A cache that does not have it yet.
	for _, cache := range []client.Reader{c, stale} {
		require.ErrorAs(t, Ensure(t.Context(), cache, c, app("main")), new(*ForeignError))
	}
	without := app("")
	without.Spec.Source = nil
	require.NoError(t, Ensure(t.Context(), c, c, without))
	live, err := find(t.Context(), c, without)
	require.NoError(t, err)
	require.Equal(t, "https://example.com/theirs", live.Spec.URL)
	require.Zero(t, *writes)

	// One of a Transform of that name which was deleted is of others too.
	earlier := app("main")
	earlier.UID = "0"
	require.NoError(t, Ensure(t.Context(), stale, stale, earlier))
	require.ErrorAs(t, Ensure(t.Context(), stale, stale, app("main")), new(*ForeignError))
}
