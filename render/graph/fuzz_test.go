// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// FuzzBuild gives Build objects of any shape: modules of others make them.
func FuzzBuild(f *testing.F) {
	f.Add(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"envFrom":[{"secretRef":{"name":"s"}}]}]}}`,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`)
	f.Add(`{"kind":[],"metadata":3}`, `{"metadata":{"annotations":{"config.kubernetes.io/depends-on":"a/b/c,/,//"}}}`)
	f.Add(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","webhooks":[{"clientConfig":{"service":{}}}]}`,
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":""},"spec":{"selector":{"a":1}}}`)
	f.Fuzz(func(t *testing.T, one, two string) {
		a, errA := object.Decode([]byte(one))
		b, errB := object.Decode([]byte(two))
		if errA != nil || errB != nil {
			t.Skip()
		}
		g, err := graph.Build([]*object.Node{{ID: "s/a", Object: a}, {ID: "s/b", Object: b}}, nil)
		if err != nil {
			var all object.Errors
			require.True(t, errors.As(err, &all))
			return
		}
		for _, e := range g.Edges {
			require.NotEqual(t, e.From, e.To)
		}
	})
}
