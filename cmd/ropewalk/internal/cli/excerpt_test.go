// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExcerptsHideWhatMayBeAPassword(t *testing.T) {
	for line, want := range map[string]string{
		`ref: "https://user:s3cret@host/x.git?tag=v1"`: `ref: "https://***********@host/x.git?tag=v1"`,
		`a: ssh://git@host/x, b: oci://u:p@host/y`:     `a: ssh://***@host/x, b: oci://***@host/y`,
		`https://host/@scope/x`:                        `https://host/@scope/x`,
		`ref: https://p@ss:w@rd@host`:                  `ref: https://*********@host`,
		`no reference`:                                 `no reference`,
		`://`:                                          `://`,
	} {
		require.Equal(t, want, withoutUserinfo(line))
	}
}
