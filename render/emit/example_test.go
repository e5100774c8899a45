// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit_test

import (
	"fmt"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

func ExampleWrite() {
	plan := &order.Plan{Waves: []order.Wave{{Nodes: []*object.Node{{
		ID:        "shop/db",
		Object:    object.Object{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "db", "namespace": "shop"}},
		ReadyWhen: []object.Ready{{Type: object.ReadyCEL, Expr: "status.readyReplicas >= spec.replicas"}},
		Apply:     object.Apply{Deletion: object.DeletionOrphan, Conflict: object.ConflictError},
	}}}}}
	out, err := emit.Write(plan, emit.Options{Dialect: dialect.ArgoCD, HealthConfigured: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range out.Files {
		fmt.Printf("# %s\n%s", f.Path, f.Data)
	}
	for _, w := range out.Warnings {
		fmt.Println(w)
	}
	// Output:
	// # 00-statefulset-shop-db.yaml
	// apiVersion: apps/v1
	// kind: StatefulSet
	// metadata:
	//   annotations:
	//     argocd.argoproj.io/sync-options: Delete=false
	//     argocd.argoproj.io/sync-wave: "0"
	//     ropewalk.dev/ready-when: '[">=",["object","status","readyReplicas"],["object","spec","replicas"]]'
	//   name: db
	//   namespace: shop
	// emit: shop/db: apply.conflict: Argo CD cannot stop at a conflict: it takes over the fields of StatefulSet.apps shop/db
}

func ExampleYAML() {
	fmt.Print(string(emit.YAML(map[string]any{
		"text": "yes", "number": int64(1), "lines": "a\nb\n", "list": []any{"x", true},
	})))
	// Output:
	// lines: |
	//   a
	//   b
	// list:
	// - x
	// - true
	// number: 1
	// text: "yes"
}

func ExampleHealthConfig() {
	plan := &order.Plan{Waves: []order.Wave{{Nodes: []*object.Node{{
		ID:        "shop/db",
		Object:    object.Object{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "db"}},
		ReadyWhen: []object.Ready{{Type: object.ReadyExists}},
	}}}}}
	fmt.Println(string(emit.HealthConfig(plan)[:76]))
	// Output:
	// apiVersion: v1
	// data:
	//   resource.customizations.health.apps_StatefulSet: |
}
