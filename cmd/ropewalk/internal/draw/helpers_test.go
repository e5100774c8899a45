// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// shop is seven specs with five objects each: two databases, three services
// that use them, a front end, and a worker.
func shop(t testing.TB, name string) *order.Plan {
	t.Helper()
	var nodes []*object.Node
	var specs []graph.Spec
	add := func(spec string, deps []string, objects ...string) {
		s := graph.Spec{Name: spec, Pos: object.Pos{File: "shop/" + spec + ".yaml", Line: 1}}
		for i, d := range deps {
			s.DependsOn = append(s.DependsOn, object.SpecDependency{Name: d, Pos: object.Pos{File: s.Pos.File, Line: 8, Column: 15 + 8*i}})
		}
		specs = append(specs, s)
		for i, text := range objects {
			var o map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(text, "NAME", spec)), &o))
			id := strings.ToLower(object.Object(o).Kind())
			nodes = append(nodes, &object.Node{
				ID: object.MakeID(spec, id), Object: o, SpecPos: s.Pos,
				Pos: object.Pos{File: "embedded:webservice/module.cue", Line: 20 + 10*i},
			})
		}
	}
	const meta = `metadata: {name: NAME, namespace: shop}`
	const service = `{apiVersion: v1, kind: Service, ` + meta + `}`
	const account = `{apiVersion: v1, kind: ServiceAccount, ` + meta + `}`
	const settings = `{apiVersion: v1, kind: ConfigMap, ` + meta + `}`
	const hpa = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, ` + meta + `, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}}}`
	workload := func(kind string) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: %s, %s, spec: {serviceName: NAME, template: {metadata: {labels: {app: NAME}}, spec: {serviceAccountName: NAME,
  containers: [{name: main, envFrom: [{configMapRef: {name: NAME}}, {secretRef: {name: NAME}}]}]}}}}`, kind, meta)
	}
	const secret = `{apiVersion: external-secrets.io/v1, kind: ExternalSecret, ` + meta + `}`
	const pdb = `{apiVersion: policy/v1, kind: PodDisruptionBudget, ` + meta + `, spec: {selector: {matchLabels: {app: NAME}}}}`
	const ingress = `{apiVersion: networking.k8s.io/v1, kind: Ingress, ` + meta + `, spec: {defaultBackend: {service: {name: NAME}}}}`
	const space = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`
	add("orders-db", nil, space, account, settings, secret, service, workload("StatefulSet"))
	add("sessions", nil, account, settings, service, workload("StatefulSet"))
	add("orders", []string{"orders-db"}, account, settings, service, workload("Deployment"), hpa)
	add("catalog", []string{"orders-db"}, account, settings, service, workload("Deployment"), pdb)
	add("cart", []string{"sessions"}, account, service, workload("Deployment"))
	add("mailer", []string{"orders"}, account, settings, workload("Deployment"), hpa)
	add("front", []string{"orders", "catalog", "cart", "sessions"}, account, settings, service, workload("Deployment"), ingress, hpa, pdb)
	g, err := graph.Build(nodes, specs)
	require.NoError(t, err)
	return order.New(g, engine(t, dialect.Name(name)))
}
