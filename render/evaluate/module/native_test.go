// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTooManyObjectsAreRefused(t *testing.T) {
	t.Parallel()
	require.NoError(t, Budget{objects: maxObjects, Bytes: maxOutputBytes}.Err())
	require.ErrorContains(t, Budget{objects: maxObjects + 1}.Err(), "more than 50000 objects")
	b := Budget{Bytes: maxOutputBytes}
	_, err := b.export(newContext(false).CompileString(`{a: 1}`))
	require.NoError(t, err)
	require.ErrorContains(t, b.Err(), "64 MiB")
}
