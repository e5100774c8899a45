// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func TestAwaitedIsWhatLaterWavesWaitFor(t *testing.T) {
	nodes := parse(t, `
db/main: `+stateful+`
db/service: {apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}}
db/paused: {apiVersion: apps/v1, kind: Deployment, metadata: {name: p, namespace: shop}, spec: {paused: true}}
job/one: {apiVersion: batch/v1, kind: Job, metadata: {name: one}}
job/two: {apiVersion: batch/v1, kind: Job, metadata: {name: two}, deps: [job/one]}
api/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
`)
	for _, engine := range []string{"plain", "argocd", "flux"} {
		p := plan(t, engine, nodes, dependsOn("api", "db"))
		require.Equal(t, map[object.ID]bool{"db/main": true, "job/one": true}, p.Blocking, engine)
	}
}
