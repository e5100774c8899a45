// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/object"
)

// FuzzCheck gives the check objects of any shape: it must neither panic nor
// change them, and say the same twice.
func FuzzCheck(f *testing.F) {
	for _, dir := range []string{"testdata/oracle", "testdata/custom"} {
		for _, o := range corpus(f, dir) {
			content, err := json.Marshal(o)
			require.NoError(f, err)
			if len(content) < 10_000 {
				f.Add(content)
			}
		}
	}
	checker := check.New(check.Options{})
	f.Fuzz(func(t *testing.T, content []byte) {
		o, err := object.Decode(content)
		if err != nil {
			return
		}
		before := o.Clone()
		findings := judge(checker, node(o))
		require.Equal(t, before, o)
		require.Equal(t, findings, judge(checker, node(o)))
	})
}
