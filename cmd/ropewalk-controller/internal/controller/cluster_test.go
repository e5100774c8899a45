// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"github.com/ropewalk/ropewalk/plugin/flux"
)

// TestTheControllerNeedsNoFlux: on a cluster with Argo CD alone there are no Kustomizations.
func TestTheControllerNeedsNoFlux(t *testing.T) {
	for name, installed := range map[string]bool{"with Flux": true, "without Flux": false} {
		t.Run(name, func(t *testing.T) {
			mapper := apimeta.NewDefaultRESTMapper(nil)
			if installed {
				mapper.Add(kustomizev1.GroupVersion.WithKind("Kustomization"), apimeta.RESTScopeNamespace)
			}
			o := flux.Cache()
			o.Scheme, o.Mapper = flux.Scheme(), mapper
			_, err := knownKinds(&rest.Config{}, o)
			require.NoError(t, err)
			require.Len(t, o.ByObject, 1, "the options of the caller stay as they are")
		})
	}
}
