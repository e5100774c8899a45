// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package reftype_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/reftype"
)

func TestTheCRDAllowsTheTypesOfTheTable(t *testing.T) {
	text, err := os.ReadFile("../../plugin/api/v1alpha1/reference.go")
	require.NoError(t, err)
	require.Contains(t, string(text), "+kubebuilder:validation:Enum="+strings.Join(reftype.Names(), ";")+"\n")
}

func TestATypeThatIsNotInTheTableIsTreatedAsRemoteAndLocked(t *testing.T) {
	git, ok := reftype.Of("git")
	require.True(t, ok)
	require.True(t, git.Policed)
	other, ok := reftype.Of("svn")
	require.False(t, ok)
	require.Equal(t, reftype.Type{Name: "svn", Remote: true, Locked: true}, other)
}
