// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package ci

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
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

func TestWhatASpecIgnoresIsSuppressedWithItsReason(t *testing.T) {
	loosened := func(severity object.Severity, reason string) *object.Error {
		return &object.Error{Severity: severity, Policy: "owners", Reason: reason, Err: errors.New("no team")}
	}
	results := Of(object.Errors{loosened(object.SeverityNote, "named in May"), loosened(object.SeverityWarning, "being moved"), loosened(object.SeverityNote, "")}, ".")
	data, err := SARIF("v1", results, Describe)
	require.NoError(t, err)
	var read sarif
	require.NoError(t, json.Unmarshal(data, &read))
	found := read.Runs[0].Results
	require.Equal(t, []suppression{{"inSource", "named in May"}}, found[0].Suppressions)
	require.Equal(t, "note", found[0].Level)
	require.Empty(t, found[1].Suppressions, "a warning is still one")
	require.Empty(t, found[2].Suppressions)
	require.Contains(t, string(GitHub(results)), "::notice title=ropewalk policy/owners::")
}
