// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// TestEachControllerHasTheTransformsOfItsShard: what another one has is left alone, and a
// Transform moves to another shard with all that it has applied.
func TestEachControllerHasTheTransformsOfItsShard(t *testing.T) {
	c := Shared(t)
	install(t, c)
	n := &tenant{Cluster: c, t: t, namespace: c.Namespace(t)}
	first, second := startShard(t, c, "shard1", "--requeue-dependency=1s"), startShard(t, c, "shard2", "--requeue-dependency=1s")
	has := func(r replica, name string) bool {
		text, _ := page(t.Context(), r.metrics, "/metrics")
		return sumOf(t, text, "ropewalk_transform_objects", `name="`+name+`"`) > 0
	}
	move := func(name, shard string) {
		n.Kubectl(t, "-n", n.namespace, "label", "transform", name, shardKey+"="+shard, "--overwrite")
	}

	// Without a label, or with that of no shard, a Transform waits.
	n.kubectlApply(holder{name: "web", maps: map[string]string{"one": "1", "two": "2"}}, holder{name: "api", maps: map[string]string{"three": "3"}})
	move("web", "shard9")
	time.Sleep(3 * time.Second)
	require.Empty(t, n.get("web").Status.Conditions)
	require.Empty(t, n.get("api").Finalizers)

	// Each is reconciled by one controller.
	move("web", "shard1")
	move("api", "shard2")
	n.ready("web")
	n.ready("api")
	require.True(t, has(first, "web") && has(second, "api"))
	require.False(t, has(first, "api") || has(second, "web"))
	before := n.mapUIDs("one", "two", "three")

	// One that depends on a Transform of another shard waits for it, and not for ever.
	n.kubectlApply(holder{name: "front", maps: map[string]string{"four": "4"}, more: "  dependsOn: [later]"})
	move("front", "shard1")
	n.await("front", "waits", func(t *v1alpha1.Transform) bool { return reason(t) == v1alpha1.DependencyNotReadyReason })
	n.kubectlApply(holder{name: "later", maps: map[string]string{"five": "5"}})
	move("later", "shard2")
	n.ready("front")
	require.False(t, has(first, "later"))

	// A Transform moves: nothing is applied anew, and the next controller goes on.
	applied := n.writes("web")
	move("web", "shard2")
	n.Await(t, soon, "the second controller has it", func() bool { return has(second, "web") && !has(first, "web") })
	n.ready("web")
	require.Equal(t, applied, n.writes("web"))

	// What both have belongs to one shard now, so that an object may move between them.
	n.kubectlApply(holder{name: "web", maps: map[string]string{"two": "new"}}, holder{name: "api", maps: map[string]string{"three": "3", "one": "1"}})
	n.owned("one", "api", "1")
	n.owned("two", "web", "new")
	require.Equal(t, before, n.mapUIDs("one", "two", "three"))
	allowed(t, first)
	allowed(t, second)
}
