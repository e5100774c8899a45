// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// parse reads one object of YAML.
func parse(t testing.TB, text string) object.Object {
	t.Helper()
	var v any
	require.NoError(t, yaml.Unmarshal([]byte(text), &v))
	data, err := json.Marshal(v)
	require.NoError(t, err)
	o, err := object.Decode(data)
	require.NoError(t, err)
	return o
}

func item(t testing.TB, text string) diff.Item {
	return diff.Item{Object: parse(t, text), Wave: diff.NoWave}
}

// compare is [diff.Compare] without an end.
func compare(before, after diff.Snapshot) diff.Report {
	report, _ := diff.Compare(context.Background(), before, after)
	return report
}

// one compares one object with another; "" is none.
func one(t testing.TB, before, after string) diff.Report {
	t.Helper()
	side := func(name, text string) diff.Snapshot {
		s := diff.Snapshot{Name: name}
		if text != "" {
			s.Items = append(s.Items, item(t, text))
		}
		return s
	}
	return compare(side("before", before), side("after", after))
}

// flat is a report in short: the change, its fields, and its dangers.
func flat(r diff.Report) (out []string) {
	for _, c := range r.Changes {
		out = append(out, string(c.Kind))
		for _, f := range c.Fields {
			place := f.Path
			if f.Order {
				place = "order of " + place + " changed"
			}
			line := place + ": " + diff.Show(f.Before, 60) + " -> " + diff.Show(f.After, 60)
			if f.Immutable {
				line += " !"
			}
			out = append(out, line)
		}
		for _, d := range c.Dangers {
			out = append(out, "danger "+d.Code)
		}
	}
	return out
}

const head = "metadata: {name: x, namespace: shop}\n"

func deployment(spec string) string {
	return "apiVersion: apps/v1\nkind: Deployment\n" + head + "spec: " + spec
}

func claim(spec string) string {
	return "apiVersion: v1\nkind: PersistentVolumeClaim\n" + head + "spec: " + spec
}

func service(spec string) string { return "apiVersion: v1\nkind: Service\n" + head + "spec: " + spec }

func role(rules string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n" + head + "rules: " + rules
}

var comparisons = []struct {
	name, before, after string
	want                []string
}{
	{"the same object is no change", deployment("{replicas: 1}"), deployment("{replicas: 1}"), nil},
	{
		"a new version of the API is a change of one object",
		"apiVersion: apps/v1beta1\nkind: Deployment\n" + head, "apiVersion: apps/v1\nkind: Deployment\n" + head,
		[]string{"changed", `apiVersion: "apps/v1beta1" -> "apps/v1"`},
	},
	{"a new object is created", "", deployment("{}"), []string{"created"}},
	{"an object that is gone is deleted", deployment("{}"), "", []string{"deleted", "danger deleted"}},
	{"a value changes", deployment("{replicas: 1}"), deployment("{replicas: 2}"), []string{"changed", "spec.replicas: 1 -> 2"}},
	{
		"a workload that is stopped is dangerous", deployment("{replicas: 1}"), deployment("{replicas: 0}"),
		[]string{"changed", "spec.replicas: 1 -> 0", "danger stopped"},
	},
	{
		"containers are told by their names, in whatever order",
		deployment("{template: {spec: {containers: [{name: a, image: i:1}, {name: b, image: j:1}]}}}"),
		deployment("{template: {spec: {containers: [{name: b, image: j:2}, {name: a, image: i:1}]}}}"),
		[]string{
			"changed", `order of spec.template.spec.containers changed: ["a","b"] -> ["b","a"]`,
			`spec.template.spec.containers[b].image: "j:1" -> "j:2"`,
		},
	},
	{
		"two ports that change places are a change",
		service("{ports: [{name: http, port: 80}, {name: metrics, port: 90}]}"), service("{ports: [{name: metrics, port: 90}, {name: http, port: 80}]}"),
		[]string{"changed", `order of spec.ports changed: ["http","metrics"] -> ["metrics","http"]`},
	},
	{
		"an entry that comes between others does not change their order",
		service("{ports: [{port: 80}, {port: 90}]}"), service("{ports: [{port: 80}, {port: 85}, {port: 90}]}"),
		[]string{"changed", `spec.ports[85]:  -> {"port":85}`},
	},
	{
		"an order is told beside entries that come and go",
		service("{ports: [{port: 80}, {port: 90}, {port: 91}]}"), service("{ports: [{port: 90}, {port: 80}, {port: 92}]}"),
		[]string{
			"changed", `order of spec.ports changed: [80,90,91] -> [90,80,92]`,
			`spec.ports[91]: {"port":91} -> `, `spec.ports[92]:  -> {"port":92}`,
		},
	},
	{
		"claim templates are told by the names in their metadata",
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: x}\nspec: {volumeClaimTemplates: [{metadata: {name: a}, spec: {storageClassName: s}}]}",
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: x}\nspec: {volumeClaimTemplates: [{metadata: {name: b}}, {metadata: {name: a}, spec: {storageClassName: t}}]}",
		[]string{
			"recreated", `spec.volumeClaimTemplates[a].spec.storageClassName: "s" -> "t" !`,
			`spec.volumeClaimTemplates[b]:  -> {"metadata":{"name":"b"}} !`, "danger recreate",
		},
	},
	{
		"keys of an ExternalSecret are told by their names",
		"apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: x}\nspec: {data: [{secretKey: a, remoteRef: {key: k}}, {secretKey: b, remoteRef: {key: k}}]}",
		"apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: x}\nspec: {data: [{secretKey: b, remoteRef: {key: l}}]}",
		[]string{"changed", `spec.data[a]: {"remoteRef":{"key":"k"},"secretKey":"a"} -> `, `spec.data[b].remoteRef.key: "k" -> "l"`, "danger secret"},
	},
	{
		"the same entries without names in another order",
		service("{ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}"), service("{ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}"),
		[]string{"changed", `order of spec.ports changed: [{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP"}] -> [{"port":53,"protocol":"UDP"},{"port":53,"protocol":"TCP"}]`},
	},
	{
		"a null is not the same as nothing",
		deployment("{strategy: null, paused: null}"), deployment("{paused: true, template: null}"),
		[]string{"changed", "spec.paused: null -> true", "spec.strategy: null -> ", "spec.template:  -> null"},
	},
	{"a null on both sides is no change", deployment("{strategy: null}"), deployment("{strategy: null}"), nil},
	{
		"a null in a list is an entry",
		"apiVersion: v1\nkind: X\nmetadata: {name: x}\nlist: [a, null]", "apiVersion: v1\nkind: X\nmetadata: {name: x}\nlist: [null, a, null]",
		[]string{"changed", `list[0]: "a" -> null`, `list[1]: null -> "a"`, "list[2]:  -> null"},
	},
	{
		"the order of variables counts, because one may use another",
		deployment("{template: {spec: {containers: [{name: a, env: [{name: A, value: x}, {name: B, value: y}]}]}}}"),
		deployment("{template: {spec: {containers: [{name: a, env: [{name: B, value: y}, {name: A, value: x}]}]}}}"),
		[]string{"changed", `order of spec.template.spec.containers[a].env changed: ["A","B"] -> ["B","A"]`},
	},
	{
		"a quantity in another spelling is no change",
		deployment("{template: {spec: {containers: [{name: a, resources: {requests: {cpu: 1000m}, limits: {memory: 1024Mi}}}]}}}"),
		deployment("{template: {spec: {containers: [{name: a, resources: {requests: {cpu: 1}, limits: {memory: 1Gi}}}]}}}"),
		nil,
	},
	{
		"a quantity in another spelling is no change in a claim template",
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: x}\nspec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {resources: {requests: {storage: 1024Mi}}}}]}",
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: x}\nspec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {resources: {requests: {storage: 1Gi}}}}]}",
		nil,
	},
	{
		"a text that looks like a quantity is a text",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {app.limits.rate: 1000m}", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {app.limits.rate: '1'}",
		[]string{"changed", `data."app.limits.rate": "1000m" -> "1"`},
	},
	{
		"a custom resource has no quantities",
		"apiVersion: a.b/v1\nkind: C\nmetadata: {name: x}\nspec: {limits: {replicas: 1}}", "apiVersion: a.b/v1\nkind: C\nmetadata: {name: x}\nspec: {limits: {replicas: '1'}}",
		[]string{"changed", `spec.limits.replicas: 1 -> "1"`},
	},
	{
		"a wave that is not known is compared as its annotation",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, annotations: {argocd.argoproj.io/sync-wave: abc}}", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, annotations: {argocd.argoproj.io/sync-wave: def}}",
		[]string{"changed", `metadata.annotations."argocd.argoproj.io/sync-wave": "abc" -> "def"`},
	},
	{
		"a selector cannot be changed",
		deployment("{selector: {matchLabels: {app: a}}}"), deployment("{selector: {matchLabels: {app: b}}}"),
		[]string{"recreated", `spec.selector.matchLabels.app: "a" -> "b" !`, "danger recreate"},
	},
	{
		"names with dots are quoted",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {a.b/c: d}}", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {a.b/c: e}}",
		[]string{"changed", `metadata.labels."a.b/c": "d" -> "e"`},
	},
	{
		"a claim may grow",
		claim("{resources: {requests: {storage: 1Gi}}}"), claim("{resources: {requests: {storage: 2Gi}}}"),
		[]string{"changed", `spec.resources.requests.storage: "1Gi" -> "2Gi"`},
	},
	{
		"a claim cannot shrink",
		claim("{resources: {requests: {storage: 2Gi}}}"), claim("{resources: {requests: {storage: 1Gi}}}"),
		[]string{"recreated", `spec.resources.requests.storage: "2Gi" -> "1Gi" !`, "danger recreate", "danger data-loss"},
	},
	{
		"a claim cannot change its class", claim("{storageClassName: a}"), claim("{storageClassName: b}"),
		[]string{"recreated", `spec.storageClassName: "a" -> "b" !`, "danger recreate"},
	},
	{"a claim that is deleted may lose data", claim("{}"), "", []string{"deleted", "danger data-loss"}},
	{
		"a claim that is never pruned stays",
		strings.Replace(claim("{}"), "namespace: shop", "namespace: shop, annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}", 1), "",
		[]string{"deleted", "danger orphan"},
	},
	{
		"pruning that begins is dangerous",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, annotations: {argocd.argoproj.io/sync-options: 'A=true,Prune=false'}}",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, annotations: {argocd.argoproj.io/sync-options: A=true}}",
		[]string{"changed", `metadata.annotations."argocd.argoproj.io/sync-options": "A=true,Prune=false" -> "A=true"`, "danger prune"},
	},
	{
		"a service becomes reachable", service("{type: ClusterIP}"), service("{type: LoadBalancer}"),
		[]string{"changed", `spec.type: "ClusterIP" -> "LoadBalancer"`, "danger exposure"},
	},
	{
		"a service cannot become headless", service("{ports: []}"), service("{ports: [], clusterIP: None}"),
		[]string{"recreated", `spec.clusterIP:  -> "None" !`, "danger recreate"},
	},
	{
		"a service may leave its address to the cluster", service("{clusterIP: 10.0.0.1}"), service("{}"),
		[]string{"changed", `spec.clusterIP: "10.0.0.1" -> `},
	},
	{
		"a role that may do everything", role("[]"), role("[{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]"),
		[]string{"changed", `rules[0]:  -> {"apiGroups":["*"],"resources":["*"],"verbs":["*"]}`, "danger rbac"},
	},
	{
		"a role that could do so before is no news",
		role("[{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]"),
		role("[{apiGroups: ['*'], resources: ['*'], verbs: ['*']}, {apiGroups: [''], resources: [pods], verbs: [get]}]"),
		[]string{"changed", `rules[1]:  -> {"apiGroups":[""],"resources":["pods"],"verbs":["get"]}`},
	},
	{"a new role that reads secrets", "", role("[{apiGroups: [''], resources: [secrets], verbs: [list]}]"), []string{"created", "danger rbac"}},
	{
		"pods with power over their node",
		deployment("{}"), deployment("{template: {spec: {hostNetwork: true, containers: [{name: a, securityContext: {privileged: true}}], volumes: [{name: v, hostPath: {path: /}}]}}}"),
		[]string{
			"changed", `spec.template:  -> {"spec":{"containers":[{"name":"a","securityContext":{"privi…`,
			"danger host-access", "danger host-access", "danger host-access",
		},
	},
	{
		"values of Secrets are never shown",
		"apiVersion: v1\nkind: Secret\n" + head + "data: {password: Y2FuYXJ5}",
		"apiVersion: v1\nkind: Secret\n" + head + "data: {password: Y2FuYXJ5Mg==, token: Y2FuYXJ5}",
		[]string{"changed", `data.password: "(hidden)" -> "(hidden)"`, `data.token:  -> "(hidden)"`},
	},
	{
		"a definition loses a version",
		definition + "versions: [{name: v1, served: true, storage: true}, {name: v2, served: true}]}",
		definition + "versions: [{name: v2, served: true, storage: true}]}",
		[]string{
			"changed", `spec.versions[v1]: {"name":"v1","served":true,"storage":true} -> `,
			`spec.versions[v2].storage:  -> true`, "danger crd",
		},
	},
}

const definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {names: {kind: K}, "

func TestCompareOneObject(t *testing.T) {
	for _, c := range comparisons {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, flat(one(t, c.before, c.after)))
		})
	}
}

func TestCompareWavesAndLayers(t *testing.T) {
	was, is := item(t, claim("{}")), item(t, claim("{}"))
	was.Wave, was.Layer, is.Wave, is.Layer = 1, "base", 3, "apps"
	r := compare(diff.Snapshot{Name: "a", Items: []diff.Item{was}}, diff.Snapshot{Name: "b", Items: []diff.Item{is}})
	require.Equal(t, []string{"moved", "danger handover"}, flat(r))
	require.Equal(t, &diff.Move{Before: "1", After: "3"}, r.Changes[0].Wave)
	require.Equal(t, &diff.Move{Before: "base", After: "apps"}, r.Changes[0].Layer)

	is.Wave, is.Layer = diff.NoWave, ""
	r = compare(diff.Snapshot{Items: []diff.Item{was}}, diff.Snapshot{Items: []diff.Item{is}})
	require.True(t, r.Empty(), "what one side does not know is no difference")
}

func TestTheAnnotationOfAWaveIsNoFieldOfItsOwn(t *testing.T) {
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, annotations: {argocd.argoproj.io/sync-wave: '%d'}}"
	was, is := item(t, fmt.Sprintf(config, -1)), item(t, fmt.Sprintf(config, 2))
	was.Wave, is.Wave = -1, 2
	r := compare(diff.Snapshot{Items: []diff.Item{was}}, diff.Snapshot{Items: []diff.Item{is}})
	require.Equal(t, []string{"moved"}, flat(r))
	require.Equal(t, &diff.Move{Before: "-1", After: "2"}, r.Changes[0].Wave)
}

func TestForcedObjectsAreMadeAgain(t *testing.T) {
	text := "apiVersion: batch/v1\nkind: Job\n" + head + "spec: {template: {spec: {restartPolicy: %s}}}"
	was, is := item(t, fmt.Sprintf(text, "Never")), item(t, fmt.Sprintf(text, "OnFailure"))
	is.Forced = true
	r := compare(diff.Snapshot{Items: []diff.Item{was}}, diff.Snapshot{Items: []diff.Item{is}})
	require.Contains(t, r.Changes[0].Dangers[0].Message, "the engine deletes the object and creates it again")
}

// several is a report with every kind of change.
func several(t testing.TB) diff.Report {
	t.Helper()
	config := func(name, value string, wave int) diff.Item {
		i := item(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+", namespace: shop}\ndata: {key: '"+value+"'}")
		i.Wave, i.Node = wave, object.ID("api/"+name)
		i.Pos = object.Pos{File: "specs/api.yaml", Line: 3, Column: 1}
		return i
	}
	job := func(policy string) diff.Item {
		i := item(t, "apiVersion: batch/v1\nkind: Job\n"+head+"spec: {template: {spec: {restartPolicy: "+policy+"}}}")
		i.Wave = 0
		return i
	}
	r := compare(
		diff.Snapshot{Name: "HEAD~1", Items: []diff.Item{config("gone", "a", 0), config("same", "a", 0), config("edited", "a", 1), config("moved", "a", 1), job("Never")}},
		diff.Snapshot{Name: "working tree", Items: []diff.Item{config("same", "a", 0), config("edited", "<b>|`|@all", 2), config("moved", "a", 0), config("new", "a", 1), job("OnFailure")}},
	)
	r.Changes[slices.IndexFunc(r.Changes, func(c diff.Change) bool { return c.Ref.Name == "edited" })].Fields[0].From = "specs/api.yaml:7:3"
	return r
}

func TestReportsForPeople(t *testing.T) {
	r := several(t)
	require.Equal(t, `> ConfigMap shop/moved  moved, wave 1 -> 0  specs/api.yaml:3:1
! Job.batch shop/x  recreated
    ~ spec.template.spec.restartPolicy: "Never" -> "OnFailure"
    danger: spec.template.spec.restartPolicy is immutable: the API server rejects the change until the object is deleted
+ ConfigMap shop/new  created  specs/api.yaml:3:1
~ ConfigMap shop/edited  wave 1 -> 2  specs/api.yaml:3:1
    ~ data.key: "a" -> "<b>|`+"`"+`|@all"  (specs/api.yaml:7:3)
- ConfigMap shop/gone  deleted  specs/api.yaml:3:1

HEAD~1 -> working tree: 1 created, 1 changed, 1 recreated, 1 moved, 1 deleted, 1 unchanged; 1 danger
`, r.Text(diff.Style{}))
	md := r.Markdown()
	require.Contains(t, md, "| `~` | `ConfigMap shop/edited` | changed, wave 1 → 2 | `specs/api.yaml:3:1` |")
	require.Contains(t, md, "> - `Job.batch shop/x`: spec.template.spec.restartPolicy is immutable")
	require.Contains(t, md, "+ data.key: \"<b>|`|@all\"  # specs/api.yaml:7:3")
	require.NotContains(t, strings.ReplaceAll(md, "```", ""), "@all\n")
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(data), `"change":"recreated"`)
}

func TestPaintedTextSaysTheSame(t *testing.T) {
	mark := func(text string) string { return "\x1b[1m" + text + "\x1b[0m" }
	painted := several(t).Text(diff.Style{Bold: mark, Dim: mark, Added: mark, Removed: mark, Warn: mark})
	require.NotEqual(t, several(t).Text(diff.Style{}), painted)
	require.Equal(t, several(t).Text(diff.Style{}), strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(painted))
}

func TestMarkdownFitsIntoAComment(t *testing.T) {
	var after diff.Snapshot
	var before diff.Snapshot
	for i := range 3000 {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-%d}\ndata: {key: '%d'}"
		before.Items = append(before.Items, item(t, fmt.Sprintf(text, i, 1)))
		after.Items = append(after.Items, item(t, fmt.Sprintf(text, i, 2)))
	}
	md := compare(before, after).Markdown()
	require.Less(t, len(md), 65_000)
	require.Contains(t, md, "not shown: the report would be too long for a comment")
}

func TestTheOrderOfASideMeansNothing(t *testing.T) {
	r := several(t)
	require.Equal(t, r.Text(diff.Style{}), several(t).Text(diff.Style{}))
	a, b := item(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}"), item(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}")
	require.Equal(t,
		compare(diff.Snapshot{}, diff.Snapshot{Items: []diff.Item{a, b}}),
		compare(diff.Snapshot{}, diff.Snapshot{Items: []diff.Item{b, a}}))
}

func ExampleCompare() {
	config := func(value string) diff.Item {
		return diff.Item{Wave: 0, Object: object.Object{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web"}, "data": map[string]any{"level": value},
		}}
	}
	report := compare(
		diff.Snapshot{Name: "v1", Items: []diff.Item{config("info")}},
		diff.Snapshot{Name: "v2", Items: []diff.Item{config("debug")}})
	fmt.Print(report.Text(diff.Style{}))
	// Output:
	// ~ ConfigMap web
	//     ~ data.level: "info" -> "debug"
	//
	// v1 -> v2: 1 changed, 0 unchanged
}

func TestAComparisonEndsWithItsContext(t *testing.T) {
	var list strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&list, "a%d,", i)
	}
	one := func(value string) diff.Snapshot {
		o := object.Object{"apiVersion": "example.com/v1", "kind": "Big", "metadata": map[string]any{"name": "a"}}
		var items []any
		for _, name := range strings.Split(list.String(), ",") {
			items = append(items, map[string]any{"name": name, "value": value})
		}
		o["spec"] = map[string]any{"items": items}
		return diff.Snapshot{Items: []diff.Item{{Object: o, Wave: diff.NoWave}}}
	}
	before, after := one("x"), one("y")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	report, err := diff.Compare(ended, before, after)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, report.Changes)

	// It ends inside of one object too, and a part of a change is no result.
	short, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	_, err = diff.Compare(short, before, after)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	report, err = diff.Compare(t.Context(), before, after)
	require.NoError(t, err)
	require.Equal(t, 20_001, len(report.Changes[0].Fields)) //nolint:testifylint // a failure would print all
}
