// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func TestThePathOfAPartIsWithinTheWhole(t *testing.T) {
	for path, want := range map[string]bool{"spec": true, "spec.a": true, "spec[0]": true, "specs": false, "a.spec": false, "": false} {
		require.Equal(t, want, object.Within(path, "spec"), path)
	}
}

func TestTheFirstPositionCounts(t *testing.T) {
	a, b := object.Pos{File: "a"}, object.Pos{File: "b"}
	require.Equal(t, a, object.FirstValid(a, b))
	require.Equal(t, b, object.FirstValid(object.Pos{Line: 1}, b))
}

func TestMembersAreNamedInTheirOrder(t *testing.T) {
	require.Equal(t, []string{"b", "a"}, object.Value{Members: []object.Member{{Name: "b"}, {Name: "a"}}}.MemberNames())
}
