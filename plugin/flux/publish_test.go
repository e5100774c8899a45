// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/source"
)

// counter is a store that publishes each render as the digest and the tree of its revision.
type counter struct {
	publish.Store
	err error
	// began is what the status says when a release begins.
	began func() string
	says  string
}

// Release returns what Pack does, or the error of the store.
func (c *counter) Release(ctx context.Context, r publish.Render) (publish.Published, error) {
	c.says = c.began()
	if c.err != nil {
		return publish.Published{}, c.err
	}
	return c.Pack(ctx, r)
}

// Pack returns what a render is published as.
func (*counter) Pack(_ context.Context, r publish.Render) (publish.Published, error) {
	return publish.Published{Desired: delivery.Desired{Digest: "sha256:" + r.Revision}, Tree: r.Revision, Changed: true}, nil
}

func TestAPublicationIsShownBeforeItIsDelivered(t *testing.T) {
	away := source.Refuse(source.ErrUnavailable, "no answer")
	for name, c := range map[string]struct {
		revision string
		err      error
		change   func(*v1alpha1.Transform)
		// says is what the condition Ready says when the store is asked.
		says            string
		changed, outage bool
	}{
		"of something new": {"2", nil, func(*v1alpha1.Transform) {}, "", true, false},
		"of something new in a registry": {"2", nil, func(of *v1alpha1.Transform) {
			of.Spec.Output = &v1alpha1.Output{OCI: &v1alpha1.OCIOutput{Repository: "oci://r"}}
		}, "pushing the artifact to oci://r", true, false},
		"of the same":                  {"1", nil, func(*v1alpha1.Transform) {}, "", false, false},
		"while the store is away":      {"2", away, func(*v1alpha1.Transform) {}, "", false, false},
		"of the same while it is away": {"1", away, func(*v1alpha1.Transform) {}, "", false, true},
		"of the same, requested": {"1", away, func(of *v1alpha1.Transform) {
			of.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "now"}
		}, "", false, false},
		"of the same that the store refuses": {"1", errors.New("no"), func(*v1alpha1.Transform) {}, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			of := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			of.Status.Artifact = &v1alpha1.Artifact{Digest: "sha256:1", Tree: "1", Revision: "1", Checksum: "key of 1"}
			conditions.MarkTrue(of, meta.ReadyCondition, v1alpha1.SucceededReason, "")
			c.change(of)
			writer := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(of).WithStatusSubresource(of).Build()
			status := func() (now v1alpha1.Transform) {
				require.NoError(t, writer.Get(t.Context(), client.ObjectKeyFromObject(of), &now))
				return now
			}
			require.NoError(t, writer.Get(t.Context(), client.ObjectKeyFromObject(of), of))
			store := &counter{err: c.err, began: func() string { now := status(); return conditions.GetMessage(&now, meta.ReadyCondition) }}
			counted, err := newCounters(prometheus.NewRegistry(), writer)
			require.NoError(t, err)
			p := publisher{plans: newPlans(1 << 20), counters: counted, now: time.Now}

			found := resolved{access: access{store: store}, key: "key of " + c.revision}
			got, err := p.publish(t.Context(), begin(writer, of, time.Now()), found, rendered{key: found.key, Render: publish.Render{Revision: c.revision}})
			require.Equal(t, c.says, store.says)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.outage, errors.As(err, new(*outage)))
			require.Equal(t, c.changed, got.changed)
			now := status()
			if c.err != nil {
				require.Equal(t, "sha256:1", now.Status.Artifact.Digest)
				require.Equal(t, v1alpha1.PublishFailedReason, diagnose(err).reason)
				return
			}
			require.Equal(t, "sha256:"+c.revision, got.want.Digest)
			require.Equal(t, got.want.Digest, now.Status.Artifact.Digest, "a process that is killed now finds it")
			require.Equal(t, v1alpha1.PublishedReason, conditions.GetReason(&now, v1alpha1.RenderedCondition))
		})
	}
}
