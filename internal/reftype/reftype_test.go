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
	var own []string
	for _, t := range reftype.All() {
		if t.Policed && !t.Files {
			own = append(own, "'"+t.Name+"'")
		}
	}
	require.Contains(t, string(text), "(has(self.pullSecretRef) || has(self.verify)) || self.type in ["+strings.Join(own, ", ")+"]\"",
		"credentials and signatures are for types that name their server")
}

func TestATypeThatIsNotInTheTableIsTreatedAsRemoteAndLocked(t *testing.T) {
	git, ok := reftype.Of("git")
	require.True(t, ok)
	require.True(t, git.Policed)
	other, ok := reftype.Of("svn")
	require.False(t, ok)
	require.Equal(t, reftype.Type{Name: "svn", Remote: true, Locked: true}, other)
}

func TestDigestsAndCommitsArePinned(t *testing.T) {
	hex := strings.Repeat("ab", 32)
	for _, ref := range [][2]string{
		{"oci", "oci://ghcr.io/org/web@sha256:" + hex}, {"oci", "oci://ghcr.io/org/web:v1@sha256:" + hex},
		{"git", "https://example.com/web.git?commit=" + hex}, {"git", "https://example.com/web.git?submodules=true&commit=" + hex},
	} {
		require.True(t, reftype.Pinned(ref[0], ref[1]), ref)
	}
	for _, ref := range [][2]string{
		{"oci", "oci://ghcr.io/org/web:v1"}, {"oci", "oci://ghcr.io/org/web?semver=1.x"}, {"git", "https://example.com/commit=/web.git?tag=v1"},
		{"git", "https://example.com/web.git"}, {"embedded", "webservice@sha256:" + hex}, {"svn", "x@sha256:" + hex},
	} {
		require.False(t, reftype.Pinned(ref[0], ref[1]), ref)
	}
}
