// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order_test

import (
	"fmt"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

func ExampleNew() {
	workload := func(id, kind string, deps ...object.Dependency) *object.Node {
		return &object.Node{ID: object.ID(id), DependsOn: deps, Object: object.Object{
			"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": object.ID(id).Node()},
		}}
	}
	g, err := graph.Build([]*object.Node{
		workload("shop/db", "StatefulSet"),
		workload("shop/web", "Deployment", object.Dependency{ID: "shop/db", Pos: object.Pos{File: "shop.cue", Line: 12}}),
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := dialect.Find(dialect.ArgoCD)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan := order.New(g, d)
	for _, wave := range plan.Waves {
		for _, n := range wave.Nodes {
			fmt.Println(n.ID, "is in", plan.Placements[n.ID].Reason)
		}
	}
	// Output:
	// shop/db is in wave 0 because it has no dependencies
	// shop/web is in wave 1 because it depends on shop/db (dependsOn, shop.cue:12), a StatefulSet that must be ready first
}
