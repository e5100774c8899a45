// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// provisionHead begins the modules of provisioners below.
const provisionHead = "package p\n\nimport \"ropewalk.dev/schema\"\n\nropewalk: {apiVersion: \"v1alpha1\", kind: \"Provisioners\"}\n"

// threeProvisioners are a reference to a secret, a name, and a route.
const threeProvisioners = `
#Postgres: schema.#Provisioner & {
	type:     "postgres"
	resource: _
	config:   _
	params: {
		version:  int & >=12 | *17
		database: string | *resource.name
		mode:     *"shared" | "own"
	}
	outputs: {
		host:     "\(resource.id).db.\(*config.zone | "example.com")"
		port:     5432
		database: params.database
	}
	sensitive: {
		username: {key: "db/\(resource.id)", property: "username"}
		password: {key: "db/\(resource.id)", property: "password"}
		url: parts: [
			{text: "postgres://"}, {ref: "username", escape: "url"}, {text: ":"}, {ref: "password", escape: "url"},
			{text: "@\(outputs.host):\(outputs.port)/\(params.database)"},
		]
	}
}
#DNS: schema.#Provisioner & {
	type:     "dns"
	resource: _
	config:   _
	outputs: host: "\(resource.id).\(*config.zone | "example.com")"
}
#Route: schema.#Provisioner & {
	type:     "route"
	resource: _
	params: {host!: string, path: =~"^/" | *"/", port!: int}
	graph: nodes: route: object: {
		apiVersion: "gateway.networking.k8s.io/v1"
		kind:       "HTTPRoute"
		metadata: {name: resource.id, namespace: resource.namespace}
		spec: {
			parentRefs: [{name: "gateway", namespace: "gateways"}]
			hostnames: [params.host]
			rules: [{
				matches: [{path: {type: "PathPrefix", value: params.path}}]
				backendRefs: [{name: resource.workload, port: params.port}]
			}]
		}
	}
	after: true
}
`

// manyProvisioners is a module with n provisioners, of which the first are
// threeProvisioners.
func manyProvisioners(n int) evaluate.Module {
	var b strings.Builder
	b.WriteString(provisionHead + threeProvisioners)
	names := []string{"#Postgres", "#DNS", "#Route"}
	for i := len(names); i < n; i++ {
		name := fmt.Sprintf("#Other%d", i)
		fmt.Fprintf(&b, `
%s: schema.#Provisioner & {
	type:     "other-%d"
	resource: _
	params: {size: string | *"1Gi", replicas: int | *1}
	outputs: host: "\(resource.id).example.com"
	graph: nodes: {
		cluster: object: {
			apiVersion: "example.com/v1", kind: "Cluster", metadata: {name: resource.id, namespace: resource.namespace}
			spec: {size: params.size, replicas: params.replicas}
		}
		for n in ["a", "b", "c"] {(n): object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "\(resource.id)-\(n)"}}
	}
}
`, name, i)
		names = append(names, name)
	}
	fmt.Fprintf(&b, "#Provisioners: [%s]\n", strings.Join(names, ", "))
	m := oneFile(b.String())
	m.Digest = fmt.Sprintf("provisioners-%d", n)
	return m
}

// askThree asks the module for three resources; values depend on i.
func askThree(t testing.TB, m evaluate.Module, i int) evaluate.Request {
	t.Helper()
	return evaluate.Request{
		Spec: "web", Pos: object.Pos{File: "web.yaml", Line: 1, Column: 1}, Module: m, Context: testContext(),
		Input: parseYAML(t, "web.yaml", fmt.Sprintf(`
config: {zone: zone-%d.example.com}
resources:
  db:
    provisioner: 0
    resource: {name: db, type: postgres, class: default, id: web-db-%d, workload: web, namespace: prod}
    params: {database: db%d, mode: own}
  host:
    provisioner: 1
    resource: {name: host, type: dns, class: default, id: web-host, workload: web, namespace: prod}
    params: {}
  route:
    provisioner: 2
    resource: {name: route, type: route, class: default, id: web-route, workload: web, namespace: prod}
    params: {host: www-%d.example.com, port: %d}
`, i, i, i, i, 8000+i%1000)),
	}
}

func TestEachResourceIsMadeByItsOwnProvisioner(t *testing.T) {
	t.Parallel()
	result, err := New(Options{Schemas: testSchemas()}).Evaluate(t.Context(), askThree(t, manyProvisioners(16), 7))
	require.NoError(t, err)
	require.Empty(t, result.Nodes)
	require.Empty(t, result.Catalog)
	require.Len(t, result.Provisioned, 3)
	require.JSONEq(t, `{"outputs":{"host":"web-host.zone-7.example.com"},"sensitive":{}}`, string(result.Provisioned["host"].JSON))
	route := result.Provisioned["route"]
	require.JSONEq(t, `{"after":true,"outputs":{},"sensitive":{}}`, string(route.JSON))
	require.Len(t, route.Nodes, 1)
	require.Equal(t, object.ID("web/resource-route-route"), route.Nodes[0].ID)
	require.Equal(t, "modules/test/module.cue", route.Nodes[0].Pos.File)
}

// TestOneProvisionerMakesManyResourcesAtOnce is for the race detector, and for
// let clauses and comprehensions, whose values CUE remembers.
func TestOneProvisionerMakesManyResourcesAtOnce(t *testing.T) {
	t.Parallel()
	m := oneFile(provisionHead + `
#A: schema.#Provisioner & {
	type:     "a"
	resource: _
	params: n!: int
	let twice = params.n * 2
	let #Label = {label: "l-\(twice)"}
	outputs: {
		double: twice
		#Label
		for k, v in {x: twice} {(k): v}
	}
	graph: nodes: "node-\(params.n)": object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "c-\(twice)"}
}
#Provisioners: [#A]
`)
	p := New(Options{Schemas: testSchemas()})
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 10 {
				n := g*100 + i
				req := evaluate.Request{Spec: "web", Module: m, Context: testContext(), Input: twoOf(t, n)}
				result, err := p.Evaluate(t.Context(), req)
				if !assert.NoError(t, err) {
					return
				}
				for key, n := range map[string]int{"one": n, "two": n + 1} {
					made := result.Provisioned[key]
					want := fmt.Sprintf(`{"outputs":{"double":%d,"label":"l-%d","x":%d},"sensitive":{}}`, 2*n, 2*n, 2*n)
					assert.JSONEq(t, want, string(made.JSON))
					assert.Equal(t, object.MakeID("web", fmt.Sprintf("resource-%s-node-%d", key, n)), made.Nodes[0].ID)
					assert.Equal(t, fmt.Sprintf("c-%d", 2*n), made.Nodes[0].Object.Name())
				}
			}
		})
	}
	group.Wait()
}

// twoOf asks for two resources of the first provisioner.
func twoOf(t testing.TB, n int) object.Value {
	t.Helper()
	const resource = "{name: x, type: a, class: default, id: x, workload: web, namespace: prod}"
	return parseYAML(t, "web.yaml", fmt.Sprintf(
		"resources:\n  one: {provisioner: 0, resource: %s, params: {n: %d}}\n  two: {provisioner: 0, resource: %s, params: {n: %d}}\n",
		resource, n, resource, n+1))
}

// TestTheShippedSchemaKeepsParamsClosed is about the contract that modules
// import, which the other tests replace.
func TestTheShippedSchemaKeepsParamsClosed(t *testing.T) {
	t.Parallel()
	m := oneFile(provisionHead + `
#A: schema.#Provisioner & {type: "a", params: tier: *"basic" | "gold"}
#B: schema.#Provisioner & {type: "b", params: {tier: *"basic" | "gold", ...}}
#C: schema.#Provisioner & {type: "c"}
#Provisioners: [#A, #B, #C]
`)
	p := New(Options{Schemas: map[string]fs.FS{"ropewalk.dev/schema": os.DirFS("../../../cue/schema")}})
	for i, unknown := range []string{`"teir", did you mean "tier"`, "", `"teir": the provisioner of type "c" takes no params`} {
		input := parseYAML(t, "web.yaml", fmt.Sprintf("resources: {a: {provisioner: %d, params: {teir: gold}, resource: {name: a}}}", i))
		_, err := p.Evaluate(t.Context(), evaluate.Request{Spec: "web", Module: m, Input: input, Context: testContext()})
		require.Error(t, err) // the resource lacks most of what it has to have
		if unknown == "" {
			errs := object.AsErrors(err, object.StageEvaluate)
			require.Empty(t, errs.Warnings(), "it is a declared param with a slip")
			require.ErrorContains(t, errs, `unknown param "teir": the provisioner of type "b" declares no such param (did you mean "tier"?)`)
			continue
		}
		require.ErrorContains(t, err, "web.yaml:1:42: evaluate: resources.a.params.teir: unknown field "+unknown)
	}
}

func TestWhatAModuleOfProvisionersIsAskedForMustBeInIt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ input, want string }{
		"a number beyond the list":    {"resources: {a: {provisioner: 3}}", `has 3 provisioners, and none is number "3"`},
		"a number below the list":     {"resources: {a: {provisioner: -1}}", `none is number "-1"`},
		"no number":                   {"resources: {a: {}}", `none is number ""`},
		"a key that names no node":    {"resources: {A_b: {provisioner: 0}}", `must be a DNS label of lower-case letters, digits and dashes, got "A_b"`},
		"no map of resources":         {"resources: [1]", "makes resources of workloads, and not the objects of a spec"},
		"the input of another module": {"image: web", "makes resources of workloads, and not the objects of a spec"},
	}
	p := New(Options{Schemas: testSchemas()})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := askThree(t, manyProvisioners(3), 1)
			req.Input = parseYAML(t, "web.yaml", tt.input)
			_, err := p.Evaluate(t.Context(), req)
			require.ErrorContains(t, err, tt.want)
			require.IsType(t, object.Errors{}, err)
		})
	}
}

func TestNoResourcesAreNoMistake(t *testing.T) {
	t.Parallel()
	req := askThree(t, manyProvisioners(3), 1)
	req.Input = parseYAML(t, "web.yaml", "resources: {}")
	result, err := New(Options{Schemas: testSchemas()}).Evaluate(t.Context(), req)
	require.NoError(t, err)
	require.Empty(t, result.Provisioned)
}

func TestPoliciesJudgeTheObjectsOfResources(t *testing.T) {
	t.Parallel()
	req := askThree(t, manyProvisioners(3), 1)
	req.Policies = []evaluate.Policy{{Name: "none", Module: evaluate.Module{Label: "policies/none", Digest: "none", FS: oneFile(`package p
ropewalk: {apiVersion: "v1alpha1", kind: "Policy"}
subject: _
violations: [for n, o in subject.objects {message: "no \(o.kind)", object: n, path: "spec"}]
`).FS}}}
	result, err := New(Options{Schemas: testSchemas()}).Evaluate(t.Context(), req)
	require.NoError(t, err)
	require.Len(t, result.Violations, 1)
	require.Equal(t, object.ID("web/resource-route-route"), result.Violations[0].Node)
}

func TestACatalogIsMadeOnceForEachModule(t *testing.T) {
	t.Parallel()
	p := New(Options{Schemas: testSchemas()})
	req := askThree(t, manyProvisioners(16), 1)
	req.Operation, req.Input = evaluate.OpCatalog, object.Value{}
	first, err := p.Evaluate(t.Context(), req)
	require.NoError(t, err)
	require.Len(t, first.Catalog, 16)
	require.Nil(t, first.Provisioned)
	again, err := p.Evaluate(t.Context(), req)
	require.NoError(t, err)
	require.Same(t, &first.Catalog[0].Params[0], &again.Catalog[0].Params[0])
}

// TestResourcesLeaveNothingBehind holds for provisioners what
// TestRendersLeaveNothingBehind holds for modules.
func TestResourcesLeaveNothingBehind(t *testing.T) {
	p := New(Options{Schemas: testSchemas()})
	m := manyProvisioners(16)
	render := func(from, to int) {
		for i := from; i < to; i++ {
			_, err := p.Evaluate(t.Context(), askThree(t, m, i))
			require.NoError(t, err)
		}
	}
	staysFlat(t, render)
	runtime.KeepAlive(p)
}

func BenchmarkProvisionersWarm(b *testing.B) {
	for _, n := range []int{3, 16} {
		b.Run(fmt.Sprintf("provisioners=%d", n), func(b *testing.B) {
			p := New(Options{Schemas: testSchemas()})
			req := askThree(b, manyProvisioners(n), 1)
			_, err := p.Evaluate(b.Context(), req)
			require.NoError(b, err)
			b.ReportAllocs()
			reportCPU(b)
			for b.Loop() {
				_, err := p.Evaluate(b.Context(), req)
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkProvisionersCold(b *testing.B) {
	for _, catalog := range []bool{false, true} {
		b.Run(fmt.Sprintf("catalog=%v", catalog), func(b *testing.B) {
			req := askThree(b, manyProvisioners(16), 1)
			if catalog {
				req.Operation = evaluate.OpCatalog
			}
			b.ReportAllocs()
			reportCPU(b)
			for b.Loop() {
				_, err := New(Options{Schemas: testSchemas()}).Evaluate(b.Context(), req)
				require.NoError(b, err)
			}
		})
	}
}
