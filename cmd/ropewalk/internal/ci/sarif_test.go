// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package ci

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResultsWithoutALineAreAtTheProject(t *testing.T) {
	data, err := SARIF("v1", hostile(), Describe)
	require.NoError(t, err)
	var read sarif
	require.NoError(t, json.Unmarshal(data, &read))
	var places []sarifArtifact
	for _, r := range read.Runs[0].Results {
		places = append(places, r.Locations[0].PhysicalLocation.ArtifactLocation)
	}
	require.Equal(t, []sarifArtifact{
		{"shop/ropewalk.yaml", "%SRCROOT%"}, {"shop/ropewalk.yaml", "%SRCROOT%"}, {"file:///abs/with%20space.yaml", ""}, {"shop/web.yaml", "%SRCROOT%"},
	}, places)
	require.Len(t, read.Runs[0].Tool.Driver.Rules, 2)
}

func TestWhatHasNoRoomIsCounted(t *testing.T) {
	data, err := SARIF("v1", make([]Result, maxResults+3), Describe)
	require.NoError(t, err)
	var read sarif
	require.NoError(t, json.Unmarshal(data, &read))
	require.Len(t, read.Runs[0].Results, maxResults)
	require.EqualValues(t, 3, read.Runs[0].Properties["resultsLeftOut"])
}
