// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// workloadNodes are the nodes of an input of the module workload, by their own
// ids.
func workloadNodes(t *testing.T, input string) map[string]*object.Node {
	req := request(t, embedded(t, "workload"), "input.yaml", []byte(input))
	res, err := evaluator().Evaluate(t.Context(), req)
	require.NoError(t, err)
	findings, err := check.New(check.Options{KubeVersion: "1.36"}).Check(t.Context(), res.Nodes)
	require.NoError(t, err)
	require.Empty(t, findings)
	out := make(map[string]*object.Node, len(res.Nodes))
	for _, n := range res.Nodes {
		out[strings.TrimPrefix(string(n.ID), "web/")] = n
	}
	return out
}

func workloadGolden(t *testing.T, name string) string {
	return string(file(t, cases(t, "workload/"+name+".txtar")["testdata/workload/"+name+".txtar"], "input.yaml"))
}

// said is what a node says beside its object.
func said(t *testing.T, n *object.Node) string {
	var b strings.Builder
	for _, d := range n.DependsOn {
		b.WriteString(string(d.ID) + " ")
	}
	ready, err := json.Marshal(n.ReadyWhen)
	require.NoError(t, err)
	apply, err := json.Marshal(n.Apply)
	require.NoError(t, err)
	return b.String() + string(ready) + " " + string(apply)
}

// with is an input with more fields.
func with(more ...string) string {
	return strings.Join(append([]string{
		"name: web",
		"kind: Deployment",
		"hash: abc",
		"serviceAccount: {name: web, create: true, mountToken: false}",
		"containers: [{name: web, image: registry.example/web:1}]",
	}, more...), "\n")
}

func TestAWorkloadComesAfterItsSecretsAndTheySayWhenTheyAreReady(t *testing.T) {
	nodes := workloadNodes(t, workloadGolden(t, "everything"))
	ready := ` [{"type":"ConditionMatch","condition":"Ready","status":"True"}] {}`
	for id, want := range map[string]string{
		"pods":                "web/secret-files-secret web/secret-secrets web/resource-cache-redis db/pods null {}",
		"secret-secrets":      "web/store" + ready,
		"secret-files-secret": "web/store" + ready,
		"store":               ready[1:],
		"config-env":          "null {}",
	} {
		require.Equal(t, want, said(t, nodes[id]), id)
	}
}

func TestAJobIsMadeAnewAndOthersAreNot(t *testing.T) {
	require.Equal(t, object.ModeForce, workloadNodes(t, workloadGolden(t, "job"))["pods"].Apply.Mode)
	require.Empty(t, workloadNodes(t, workloadGolden(t, "cronjob"))["pods"].Apply.Mode)
}

// Flagger gives the pods that serve production the label
// app.kubernetes.io/name: api-primary. What selects pods must find them still,
// and Flagger must be the only one that makes Services.
func TestWhatSelectsPodsFindsThoseThatFlaggerMakes(t *testing.T) {
	nodes := workloadNodes(t, workloadGolden(t, "everything"))
	require.NotContains(t, nodes, "service")
	labels := nodes["pods"].Object["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)["labels"].(map[string]any)
	require.Equal(t, "api", labels["app.kubernetes.io/name"])
	labels["app.kubernetes.io/name"] = "api-primary"
	for id, field := range map[string]string{
		"disruption": "selector", "authorization-policy": "selector",
		"cilium-policy": "endpointSelector", "network-policy": "podSelector",
	} {
		selector := nodes[id].Object["spec"].(map[string]any)[field].(map[string]any)["matchLabels"].(map[string]any)
		require.NotEmpty(t, selector, id)
		for k, v := range selector {
			require.Equal(t, v, labels[k], "%s: %s", id, k)
		}
	}
}

func TestAutoscalingOwnsTheNumberOfPods(t *testing.T) {
	nodes := workloadNodes(t, with("replicas: 3", "autoscaling: {min: 1, max: 4}"))
	require.NotContains(t, nodes["pods"].Object["spec"], "replicas")
	metrics := nodes["autoscaler"].Object["spec"].(map[string]any)["metrics"]
	require.Equal(t, "[map[resource:map[name:cpu target:map[averageUtilization:80 type:Utilization]] type:Resource]]", fmt.Sprint(metrics))
}

// Nobody may call a workload without ports, whoever asks for it: an empty list of
// ports would mean all of them.
func TestAWorkloadWithoutPortsLetsNobodyIn(t *testing.T) {
	nodes := workloadNodes(t, with(
		"network:",
		"  policies: [cilium, istio, kubernetes]",
		"  inbound: [{name: a, namespace: shop, serviceAccount: a}]",
		"  outbound: []",
		"  external: []",
	))
	ingress := func(id string) any { return nodes[id].Object["spec"].(map[string]any)["ingress"] }
	require.Equal(t, []any{map[string]any{}}, ingress("cilium-policy"))
	require.Empty(t, ingress("network-policy"))
	require.NotContains(t, nodes["authorization-policy"].Object["spec"], "rules")
}

func TestOnlyThePoliciesThatAreWantedAreMade(t *testing.T) {
	made := map[string][]string{
		"cilium":     {"cilium-policy"},
		"kubernetes": {"network-policy"},
		"istio":      {"authorization-policy", "service-entry-pay"},
	}
	for policy := range made {
		nodes := workloadNodes(t, with("network:", "  policies: ["+policy+"]",
			"  inbound: []", "  outbound: []",
			"  external: [{name: pay, host: pay.example, ports: [{port: 443, protocol: TCP}]}]"))
		for other, ids := range made {
			for _, id := range ids {
				require.Equal(t, other == policy, nodes[id] != nil, "%s with %s", id, policy)
			}
		}
	}
}

// Each provider of Flagger gets what its Canary needs, and no check that it has
// no figures for: such a check stops every release.
func TestACanaryIsThatOfItsProvider(t *testing.T) {
	for provider, c := range map[string]struct {
		more, want string
		metrics    int
	}{
		"istio":      {"maxWeight: 50, stepWeight: 10", "maxWeight", 2},
		"linkerd":    {"maxWeight: 50, stepWeight: 10", "maxWeight", 2},
		"nginx":      {"maxWeight: 50, stepWeight: 10, ingressRef: {apiVersion: networking.k8s.io/v1, kind: Ingress, name: web}", "maxWeight", 2},
		"kubernetes": {"iterations: 5", "iterations", 0},
	} {
		nodes := workloadNodes(t, with("autoscaling: {min: 1, max: 1}",
			"service: {ports: [{name: http, port: 80, targetPort: 8080, protocol: TCP}]}",
			"canary: {interval: 1m, threshold: 5, port: 80, targetPort: 8080, provider: "+provider+", "+c.more+"}"))
		canary := nodes["canary"].Object
		require.Contains(t, canary.Map("spec", "analysis"), c.want, provider)
		require.Len(t, canary.List("spec", "analysis", "metrics"), c.metrics, provider)
		require.Equal(t, provider == "nginx", canary.Get("spec", "ingressRef") != nil, provider)
	}
}

// The longest names that Ropewalk hands over still make ids, and two that begin
// alike stay two.
func TestLongNamesMakeIdsOfNodes(t *testing.T) {
	long, end := strings.Repeat("n", 63), strings.Repeat("e", 56)
	nodes := workloadNodes(t, strings.Replace(with(
		"configs: {"+end+": {data: {A: b}}}",
		"store: {name: s, kind: SecretStore}",
		"secrets: {"+end+": {refreshInterval: 1h, data: [{secretKey: a, remoteRef: {key: a}}], template: {A: a}}}",
		"network:", "  policies: [istio]", "  inbound: []", "  outbound: []", "  external:",
		"  - {name: "+long[1:]+"a, host: a.example, ports: [{port: 443, protocol: TCP}]}",
		"  - {name: "+long[1:]+"b, host: b.example, ports: [{port: 443, protocol: TCP}]}",
		"  - {name: "+long[:49]+", host: c.example, ports: [{port: 443, protocol: TCP}]}",
	), "name: web", "name: "+long, 1))
	require.Contains(t, nodes, "config-"+end)
	require.Contains(t, nodes, "secret-"+end)
	require.Contains(t, nodes, "service-entry-"+long[:49])
	entries := 0
	for id := range nodes {
		if strings.HasPrefix(id, "service-entry-") {
			entries++
		}
	}
	require.Equal(t, 3, entries)
}

// The module does not say that its graph is one of the schema, because that
// costs; so the test says it.
func TestTheGraphOfAWorkloadIsThatOfTheSchema(t *testing.T) {
	files, _ := cue.Module("workload")
	tree := fstest.MapFS{"schema.cue": {Data: []byte(strings.Join([]string{
		"package workload", `import "ropewalk.dev/schema"`, "context: schema.#Context", "graph: schema.#Graph",
	}, "\n"))}}
	for path, text := range contents(t, files) {
		tree[path] = &fstest.MapFile{Data: []byte(text)}
	}
	held := evaluate.Module{FS: tree, Digest: "held", Label: "held"}
	e := evaluator()
	for path, a := range cases(t, "workload/*.txtar") {
		req := request(t, embedded(t, "workload"), "input.yaml", file(t, a, "input.yaml"))
		want, err := e.Evaluate(context.Background(), req)
		require.NoError(t, err, path)
		req.Module = held
		got, err := e.Evaluate(context.Background(), req)
		require.NoError(t, err, path)
		require.Equal(t, string(stream(t, want.Nodes)), string(stream(t, got.Nodes)), path)
		for i, n := range want.Nodes {
			require.Equal(t, said(t, n), said(t, got.Nodes[i]), path)
		}
	}
}

// Every field of the input is described where others look for it.
func TestTheReadmeOfWorkloadNamesEveryField(t *testing.T) {
	files, _ := cue.Module("workload")
	readme, err := fs.ReadFile(files, "README.md")
	require.NoError(t, err)
	input, err := fs.ReadFile(files, "input.cue")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(input), "#Input: {\n")
	body, _, _ := strings.Cut(rest, "\n}\n")
	fields := 0
	for line := range strings.SplitSeq(body, "\n") {
		name, _, found := strings.Cut(strings.TrimPrefix(line, "\t"), ":")
		name = strings.TrimRight(name, "!?")
		if !found || strings.ContainsAny(name, "\t /") {
			continue
		}
		fields++
		require.Contains(t, string(readme), "`"+name+"`", "the field %s", name)
	}
	require.Greater(t, fields, 20)
}

// CUE evaluates every field of the package for every workload, also those that no object of it
// refers to.
func TestAWorkloadPaysForNoFeatureThatItDoesNotUse(t *testing.T) {
	files, _ := cue.Module("workload")
	names, err := fs.Glob(files, "*.cue")
	require.NoError(t, err)
	field := regexp.MustCompile(`(?m)^(_\S+?):`)
	var hidden []string
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		for _, m := range field.FindAllSubmatch(data, -1) {
			hidden = append(hidden, string(m[1]))
		}
	}
	used := []string{"_holds", "_labels", "_metadata", "_podsMetadata", "_selector", "_stable", "_template"}
	require.ElementsMatch(t, used, hidden, "what some workloads need is a let where they need it")
}
