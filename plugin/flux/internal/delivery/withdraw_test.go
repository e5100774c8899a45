// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhatADeletionWaitsForIsSaid: Flux itself says it nowhere but in its log.
func TestWhatADeletionWaitsForIsSaid(t *testing.T) {
	elsewhere := &meta.KubeConfigReference{SecretRef: &meta.SecretKeyReference{Name: "there"}}
	for name, is := range map[string]struct {
		kubeConfig *meta.KubeConfigReference
		suspended  suspension
		want       string
	}{
		"objects that are here":                      {want: `Kustomization "web-layer-00" is being deleted`},
		"objects of another cluster":                 {kubeConfig: elsewhere, want: "set deletionPolicy: Orphan"},
		"one that is suspended":                      {suspended: theirs, want: "resume it"},
		"one that is suspended, for another cluster": {kubeConfig: elsewhere, suspended: theirs, want: "resume it"},
	} {
		t.Run(name, func(t *testing.T) {
			k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Name: "web-layer-00"}}
			k.Spec.KubeConfig = is.kubeConfig
			require.Contains(t, withdrawing(k, &state{suspended: is.suspended}), is.want)
		})
	}
}
