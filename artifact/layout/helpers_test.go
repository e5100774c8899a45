// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact/layout"
)

func open(t testing.TB, dir string) *layout.Layout {
	t.Helper()
	l, err := layout.Open(dir, true)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}
