// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package digests_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/digests"
)

func TestADigestIsThatOfItsData(t *testing.T) {
	require.Equal(t, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", digests.Of([]byte("abc")), "FIPS 180-2, B.1")
	require.True(t, digests.Is(digests.Of(nil)))
}

func TestOneFormOfDigestsIsKnown(t *testing.T) {
	sum := strings.TrimPrefix(digests.Of(nil), "sha256:")
	for name, text := range map[string]string{
		"nothing":                 "",
		"without its algorithm":   sum,
		"another algorithm":       "sha512:" + sum + sum,
		"a digit too few":         "sha256:" + sum[1:],
		"a digit too many":        "sha256:" + sum + "0",
		"letters of upper case":   "sha256:" + strings.ToUpper(sum),
		"no hexadecimal digits":   "sha256:g" + sum[1:],
		"something in the middle": "sha256:" + sum[:32] + "/" + sum[33:],
	} {
		t.Run(name, func(t *testing.T) { require.False(t, digests.Is(text)) })
	}
}
