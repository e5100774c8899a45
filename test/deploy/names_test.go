// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// named are the fields of a Transform that are names of objects, or parts of paths, by path,
// and whether their values are bounded by a pattern or by the values that there are.
func named(path string, schema map[string]any, found map[string]bool) {
	for key, v := range child(schema, "properties") {
		at, field := path+"."+key, child(map[string]any{"": v}, "")
		if field["type"] == "string" && regexp.MustCompile(`(?i)(name|namespace|kind|provider|shard|repository|digest|key|project|runtime)$`).MatchString(key) {
			found[at] = field["pattern"] != nil || field["enum"] != nil
		}
		named(at, field, found)
		named(at+"[]", child(field, "items"), found)
	}
}

func child(of map[string]any, key string) map[string]any {
	out, _ := of[key].(map[string]any)
	return out
}

// TestNamesOfATransformAreBounded is for fields to come: a name that is a part of the path of
// a request needs a pattern here and a line in plugin/host/transform.CheckNames.
func TestNamesOfATransformAreBounded(t *testing.T) {
	versions, _ := only(t, definition).Get("spec", "versions").([]any)
	version, _ := versions[0].(map[string]any)
	spec := child(child(child(child(version, "schema"), "openAPIV3Schema"), "properties"), "spec")
	found := map[string]bool{}
	named("spec", spec, found)
	require.Greater(t, len(found), 25)
	var free []string
	for at, bounded := range found {
		if !bounded {
			free = append(free, at)
		}
	}
	require.ElementsMatch(t, []string{
		"spec.delivery.argocd.name", // of a cluster that Argo CD knows: a value in an Application
		"spec.policies[].name",      // a value in messages
		// Types of Flux. A rule of the definition refuses paths, and only Flux reads them.
		"spec.delivery.flux.kubeConfig.configMapRef.name", "spec.delivery.flux.kubeConfig.secretRef.name", "spec.delivery.flux.kubeConfig.secretRef.key",
		// Patterns that objects of a render are compared with.
		"spec.overlays[].select.kind", "spec.overlays[].select.name", "spec.overlays[].select.namespace",
	}, free)
}
