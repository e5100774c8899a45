// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func TestAnAPIServerTakesWhatIsDeployed(t *testing.T) {
	all := manifests(t)
	kinds := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(all)) {
		require.Empty(t, findings(all[file]...), file)
		for _, o := range all[file] {
			kinds[o.Kind()] = true
		}
	}
	for _, kind := range []string{"Deployment", "ConfigMap", "Service", "NetworkPolicy", "PodMonitor", "Application", "AppProject", "ApplicationSet"} {
		require.True(t, kinds[kind], kind)
	}
}

func TestAWrongFieldOfTheSidecarIsFound(t *testing.T) {
	all := documents(t, kustomized, read(t, kustomized))
	at := slices.IndexFunc(all, func(o object.Object) bool { return o.Kind() == "Deployment" })
	require.GreaterOrEqual(t, at, 0)
	sidecar := container(t, all[at], "ropewalk")
	sidecar["resorces"] = map[string]any{}
	sidecar["livenessProbe"].(map[string]any)["periodSeconds"] = "30s"
	got := findings(all[at])
	require.Len(t, got, 2)
	require.Contains(t, got[0], "periodSeconds")
	require.Contains(t, got[1], "resorces")
}
