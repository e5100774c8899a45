// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/workload/resource"
)

func TestTwoResourcesThatWantDifferentThingsOfAWorkloadAreAMistake(t *testing.T) {
	patches := func(a, b string) string {
		c := join(t, `
metadata: {name: api}
containers: {web: {image: nginx}}
resources:
  aa: {type: horizontal-pod-autoscaler}
  bb: {type: horizontal-pod-autoscaler}
`).Compile("api")
		_, errs := run(t, c, map[string]resource.Answer{"aa": answerOf(`{"workload": ` + a + `}`), "bb": answerOf(`{"workload": ` + b + `}`)})
		require.Empty(t, errs)
		c.resolve()
		return messages(c.errs)
	}
	const want = `api.yaml:6:14: spec: resources.bb: the resources "aa" and "bb" set a different `
	require.Equal(t, want+"autoscaling.max of the workload (remove one of them)\n", patches(`{"autoscaling": {"min": 1, "max": 2}}`, `{"autoscaling": {"min": 1, "max": 3}}`))
	require.Equal(t, want+"labels.a of the workload (remove one of them)\n", patches(`{"labels": {"a": "x"}}`, `{"labels": {"a": "y", "b": "z"}}`))
	require.Empty(t, patches(`{"labels": {"a": "x"}}`, `{"labels": {"a": "x", "b": "y"}}`))
	require.Empty(t, patches(`{"autoscaling": {"min": 1, "max": 2}}`, `{"annotations": {"a": "b"}}`))
}
