// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheGuideSaysHowManyRequestsMayWait takes the memory and the workers of the
// sidecar that the guide is about.
func TestTheGuideSaysHowManyRequestsMayWait(t *testing.T) {
	guide, err := os.ReadFile("../../../../../deploy/argocd/README.md")
	require.NoError(t, err)
	parts, err := Divide(448<<20, 0, 2, 8)
	require.NoError(t, err)
	for _, text := range []string{
		fmt.Sprintf("the server's memory holds, %d here and 1,000 at most;", parts.Queue),
		fmt.Sprintf("leaves a worker, %d MiB here", parts.Worker>>20),
	} {
		require.True(t, strings.Contains(string(guide), text), text)
	}
	require.Equal(t, 1000, largestQueue)
}
