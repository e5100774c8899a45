// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw_test

import (
	"fmt"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/draw"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

func ExampleText() {
	workload := func(id, kind string, deps ...object.Dependency) *object.Node {
		return &object.Node{ID: object.ID(id), DependsOn: deps, Object: object.Object{
			"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": object.ID(id).Node()},
		}}
	}
	g, err := graph.Build([]*object.Node{
		workload("shop/db", "StatefulSet"),
		workload("shop/web", "Deployment", object.Dependency{ID: "shop/db"}),
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	flux, err := dialect.Find(dialect.Flux)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(draw.Text(order.New(g, flux))))
	// Output:
	// wave 0, 1 object
	//   shop/db  StatefulSet.apps db
	//
	// wave 1, 1 object
	//   shop/web  Deployment.apps web
	//     └══▶ shop/db  dependsOn: shop/db (StatefulSet) must be ready first
	//
	// ══▶ opens a new wave   ──▶ comes first in the same wave or before   ┄┄▶ in either order
}
