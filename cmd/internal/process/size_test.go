// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizesAreReadAndWrittenWithUnits(t *testing.T) {
	for text, want := range map[string]string{
		"256MiB": "256MiB", "256Mi": "256MiB", "1024KiB": "1MiB", "2Gi": "2GiB", "1000": "1000", "7B": "7",
	} {
		var s Size
		require.NoError(t, s.Set(text), text)
		require.Equal(t, want, s.String(), text)
	}
	for _, text := range []string{"", "MiB", "0", "-1", "1.5Gi", "12MB", "1TiB", "9223372036854775807Gi", "BBBB", "1KM"} {
		var s Size
		require.Error(t, s.Set(text), text)
	}
}
