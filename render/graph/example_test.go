// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"fmt"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

func ExampleBuild() {
	settings := object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings"}}
	pod := object.Object{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"volumes": []any{
			map[string]any{"name": "c", "configMap": map[string]any{"name": "settings"}},
		}},
	}
	g, err := graph.Build([]*object.Node{
		{ID: "web/pod", Object: pod},
		{ID: "web/settings", Object: settings},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range g.Edges {
		fmt.Printf("%s needs %s: %s at %s\n", e.From, e.To, e.Rule, e.Path)
	}
	// Output:
	// web/pod needs web/settings: configMap at spec.volumes[0].configMap.name
}
