// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPlanAsObjectsOfTheOperator(t *testing.T) {
	text, err := Plan{Steps: []Step{
		{Kind: "CoreProvider", Name: "cluster-api", Namespace: "capi-system", Installed: "v1.13.2", Version: "v1.14.0", Action: Upgrade},
		{Kind: "InfrastructureProvider", Name: "aws", Namespace: "capa-system", Version: "v2.13.0", Action: Install},
		{Kind: "OtherProvider", Name: "x", Namespace: "odd", Installed: "v1.0.0", Version: "v1.0.0", Action: Keep},
	}}.YAML()
	require.NoError(t, err)
	require.Equal(t, `apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata:
  name: cluster-api
  namespace: capi-system
spec:
  version: v1.14.0
---
apiVersion: v1
kind: Namespace
metadata:
  name: capa-system
---
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: InfrastructureProvider
metadata:
  name: aws
  namespace: capa-system
spec:
  version: v2.13.0
`, string(text))
}
