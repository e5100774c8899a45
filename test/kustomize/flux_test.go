// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheControllerIsInstalled builds deploy/flux, alone and with every component, and
// deploy/pivot.
// test/deploy judges what comes out.
func TestTheControllerIsInstalled(t *testing.T) {
	p := programs{kustomize: filepath.Join(t.TempDir(), "kustomize")}
	compile(t, ".", p.kustomize, "sigs.k8s.io/kustomize/kustomize/v5")
	for _, name := range []string{"flux", "flux-everything", "pivot", "pivot-child"} {
		t.Run(name, func(t *testing.T) {
			want := filepath.Join("testdata", name+".yaml")
			got := p.good(t, filepath.Join("testdata", name))
			if os.Getenv("ROPEWALK_UPDATE") != "" {
				require.NoError(t, os.WriteFile(want, []byte(got), 0o600))
			}
			data, err := os.ReadFile(want)
			require.NoError(t, err)
			require.Equal(t, string(data), got, "regenerate with ROPEWALK_UPDATE=1 make kustomize")
		})
	}
}

// TestAControllerBesideArgoCDAloneNeedsNoFlux: nothing is sent to a namespace that is not there.
func TestAControllerBesideArgoCDAloneNeedsNoFlux(t *testing.T) {
	p := programs{kustomize: filepath.Join(t.TempDir(), "kustomize")}
	compile(t, ".", p.kustomize, "sigs.k8s.io/kustomize/kustomize/v5")
	got := p.good(t, filepath.Join("testdata", "pivot-child-argocd"))
	require.NotContains(t, got, "events-addr")
	require.NotContains(t, got, "namespace: flux-system")
	for _, flag := range []string{"--enable-leader-election", "--storage-path=/data", "--argocd-namespaces=argocd", "--parts=transforms,pivot,agent"} {
		require.Contains(t, got, "- "+flag+"\n")
	}
}
