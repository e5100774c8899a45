// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReferencesOfChartsAreShown(t *testing.T) {
	const ref = `"https://charts.example.com?chart=podinfo&version=6.x" is not there`
	require.Equal(t, ref, (*Secrets)(nil).Hide(ref))
	require.Equal(t, `"https://charts.example.com?chart=podinfo&token=***"`, (*Secrets)(nil).Hide(`"https://charts.example.com?chart=podinfo&token=abc"`))
}
