// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProvidersAreReadByAKubeconfig(t *testing.T) {
	s := serve(t, "management")
	w, err := ParseProvider("aws")
	require.NoError(t, err)
	plan, err := Providers(t.Context(), s.Kubeconfig, []WantedProvider{w})
	require.NoError(t, err)
	require.Len(t, plan.Steps, 4)
	require.Equal(t, "aws", plan.Steps[3].Name)
	require.Contains(t, plan.Notes[0], "the cluster has no inventory of it", "Cluster API is there")

	s.http.Close()
	_, err = Providers(t.Context(), s.Kubeconfig, nil)
	require.ErrorContains(t, err, "management plane: ")
}
