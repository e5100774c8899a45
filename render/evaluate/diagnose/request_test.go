// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/spec"
)

func TestWhoeverIsStoppedByALimitIsToldItsFlag(t *testing.T) {
	t.Parallel()
	req := evaluate.Request{Limits: evaluate.Limits{Timeout: 3 * time.Second, Memory: 176 << 20}}
	require.ErrorContains(t, TimedOut(req), "evaluation exceeded 3s: ")
	require.ErrorContains(t, TimedOut(req), "(--timeout)")
	require.ErrorContains(t, OutOfMemory(req), "evaluation exceeded 176 MiB of memory: ")
	require.ErrorContains(t, OutOfMemory(req), "(--memory, or --memory-total of a server)")
	require.Equal(t, "change the module or its input, or raise its limits: 3s (--timeout), 176 MiB (--memory, or --memory-total of a server)", Advice(req.Limits))
	require.Equal(t, "change the module or its input, or raise its limits: 10s (--timeout), 256 MiB (--memory, or --memory-total of a server)", Advice(evaluate.Limits{}))
}

func TestAComponentIsNoModule(t *testing.T) {
	t.Parallel()
	req := evaluate.Request{Spec: "shop", Operation: evaluate.OpBuild, Component: &spec.Component{}}
	for _, err := range []error{TimedOut(req), OutOfMemory(req), Panicked(req, "x")} {
		require.ErrorContains(t, err, `component "shop"`)
		require.NotContains(t, err.Error(), "module")
		require.NotContains(t, err.Error(), "comprehensions")
	}
}

func TestNamesOfNodesThatAreTooLongStayDifferent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 60)
	require.Equal(t, "short", shortName("short"))
	require.Equal(t, long+"aaa", shortName(long+"aaa"))
	cut := shortName(long + "aaaa")
	require.Len(t, cut, maxNodeName)
	require.NotEqual(t, cut, shortName(long+"aaab"))
	require.NotContains(t, shortName(strings.Repeat("a", 53)+"----------b"), "--")
}
