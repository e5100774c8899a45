// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func TestTextBecomesALabel(t *testing.T) {
	for text, want := range map[string]string{"My App": "my-app", "_a.b_": "a-b", "9": "9", "Übung": "bung", "--": "", "": ""} {
		require.Equal(t, want, object.Label(text), text)
	}
}
