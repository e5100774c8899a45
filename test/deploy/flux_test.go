// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/object"
)

const (
	// fluxFolder and chartFolder install the controller.
	fluxFolder  = root + "/deploy/flux"
	chartFolder = root + "/deploy/chart"
	// definition is that of Transforms.
	definition = root + "/deploy/crds/ropewalk.dev_transforms.yaml"
	// commandHelp is what the controller prints for --help; its own test keeps it.
	commandHelp = root + "/cmd/ropewalk-controller/internal/controller/testdata/help.txt"
)

// installations are what installs the controller: test/kustomize and test/helm write
// them.
func installations() map[string]string {
	return map[string]string{
		"kustomize": root + "/test/kustomize/testdata/flux.yaml", "kustomize with everything": root + "/test/kustomize/testdata/flux-everything.yaml",
		"helm": root + "/test/helm/testdata/default.yaml", "helm with everything": root + "/test/helm/testdata/everything.yaml",
		"kustomize of a parent": root + "/test/kustomize/testdata/pivot.yaml", "kustomize of a child": root + "/test/kustomize/testdata/pivot-child.yaml",
		"helm of a parent": root + "/test/helm/testdata/pivot.yaml",
	}
}

// judged is what an API server that knows Transforms would say of objects.
func judged(t *testing.T, objects ...object.Object) []string {
	t.Helper()
	var nodes []*object.Node
	for i, o := range objects {
		nodes = append(nodes, &object.Node{ID: object.MakeID(o.Kind(), o.Name()+"-"+strconv.Itoa(i)), Object: o})
	}
	crd := only(t, definition)
	undefined := []string{"ServiceMonitor", "PrometheusRule", "ResourceSet", "ResourceSetInputProvider"}
	var out []string
	findings, err := check.New(check.Options{Engine: "flux", CRDs: []object.Object{crd}}).Check(t.Context(), nodes)
	require.NoError(t, err)
	for _, f := range findings {
		if f.Rule == finding.RuleKind && slices.Contains(undefined, strings.Split(string(f.Node), "/")[0]) {
			continue
		}
		out = append(out, string(f.Node)+": "+f.Path.String()+": "+f.Message)
	}
	return out
}

// byName are objects by kind, namespace and name.
func byName(objects []object.Object) map[string]object.Object {
	out := map[string]object.Object{}
	for _, o := range objects {
		out[o.Kind()+" "+o.Namespace()+"/"+o.Name()] = o
	}
	return out
}

func TestAnAPIServerTakesTheController(t *testing.T) {
	for name, file := range installations() {
		t.Run(name, func(t *testing.T) { require.Empty(t, judged(t, documents(t, file, read(t, file))...)) })
	}
	files, err := filepath.Glob(fluxFolder + "/examples/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { require.Empty(t, judged(t, documents(t, file, read(t, file))...)) })
	}
}

func TestAWrongFieldOfATransformIsFound(t *testing.T) {
	found := judged(t, object.Object{
		"apiVersion": "ropewalk.dev/v1alpha1", "kind": "Transform", "metadata": map[string]any{"name": "shop", "namespace": "shop"},
		"spec": map[string]any{"sourceref": map[string]any{}},
	})
	require.Contains(t, strings.Join(found, "\n"), "one of sourceRef, source, cueRef and component is needed")
}

func TestARuntimeValueIsAnEntryOfAConfigMap(t *testing.T) {
	for want, input := range map[string]map[string]any{
		"": {"kind": "ConfigMap", "key": "domain"},
		"no value of a Secret may enter a render":                   {"kind": "Secret", "key": "domain"},
		"it wants a key, and neither targetPath nor spec":           {"kind": "ConfigMap"},
		"runtime takes one entry: it wants a key, and neither targ": {"kind": "ConfigMap", "key": "domain", "targetPath": "a"},
	} {
		input["name"], input["runtime"] = "cluster", "DOMAIN"
		found := judged(t, object.Object{
			"apiVersion": "ropewalk.dev/v1alpha1", "kind": "Transform", "metadata": map[string]any{"name": "shop", "namespace": "shop"},
			"spec": map[string]any{"cueRef": map[string]any{"type": "embedded", "ref": "webservice"}, "inputsFrom": []any{input}},
		})
		require.Contains(t, strings.Join(found, "\n"), want)
		require.Equal(t, want == "", len(found) == 0, "%v", found)
	}
}

// TestHelmInstallsWhatKustomizeDoes compares the defaults of the chart with deploy/flux.
func TestHelmInstallsWhatKustomizeDoes(t *testing.T) {
	want, got := helmAndKustomize(t, "")
	require.Equal(t, want, got)
}

// TestHelmInstallsAParentAsKustomizeDoes: the value of a flag is in the chart where kustomize
// takes it from the ConfigMap, which users of the chart may make too.
func TestHelmInstallsAParentAsKustomizeDoes(t *testing.T) {
	want, got := helmAndKustomize(t, " of a parent")
	maps.DeleteFunc(want, func(key string, o object.Object) bool {
		return o.Kind() == "ConfigMap" && o["data"].(map[string]any)["host"] == "parent.example.com"
	})
	const deployment = "Deployment ropewalk-system/ropewalk-controller"
	first, second := container(t, want[deployment], "controller"), container(t, got[deployment], "controller")
	for _, flag := range []string{"--parts=", "--child-manifest="} {
		require.Equal(t, flagOf(t, first, flag), flagOf(t, second, flag))
	}
	require.Equal(t, "$(CELL_HOST)", flagOf(t, first, "--cell-host="))
	require.Equal(t, "parent.example.com", flagOf(t, second, "--cell-host="))
	for _, key := range []string{"ports", "volumeMounts"} {
		require.ElementsMatch(t, first[key], second[key])
	}
	delete(want, deployment)
	delete(got, deployment)
	require.Equal(t, want, got)
}

// helmAndKustomize are the objects of both, without what only one of them has.
func helmAndKustomize(t *testing.T, of string) (want, got map[string]object.Object) {
	t.Helper()
	all := installations()
	want = byName(documents(t, "kustomize", read(t, all["kustomize"+of])))
	got = byName(documents(t, "helm", read(t, all["helm"+of])))
	// A chart has its definitions apart, and Helm makes the namespace.
	delete(want, "CustomResourceDefinition /transforms.ropewalk.dev")
	delete(want, "CustomResourceDefinition /pivotclusters.ropewalk.dev")
	delete(want, "Namespace /ropewalk-system")
	for key, o := range got {
		require.Contains(t, want, key)
		labels := o["metadata"].(map[string]any)["labels"]
		if labels, ok := labels.(map[string]any); ok {
			delete(labels, "helm.sh/chart")
			delete(labels, "app.kubernetes.io/managed-by")
			if _, more := want[key]["metadata"].(map[string]any)["labels"].(map[string]any)["app.kubernetes.io/name"]; !more {
				delete(labels, "app.kubernetes.io/name")
			}
		}
	}
	return want, got
}

func TestTheChartHasCopiesOfWhatItCannotReach(t *testing.T) {
	for copied, original := range map[string]string{
		chartFolder + "/crds/ropewalk.dev_transforms.yaml":    definition,
		chartFolder + "/crds/ropewalk.dev_pivotclusters.yaml": root + "/deploy/crds/ropewalk.dev_pivotclusters.yaml",
		chartFolder + "/files/pivot-rbac.yaml":                root + "/deploy/pivot/controller/rbac.yaml",
		chartFolder + "/files/alerts.yaml":                    fluxFolder + "/servicemonitor/alerts.yaml",
		chartFolder + "/files/dashboard.json":                 fluxFolder + "/servicemonitor/dashboard.json",
		chartFolder + "/files/dashboard-pivot.json":           fluxFolder + "/servicemonitor/dashboard-pivot.json",
	} {
		require.Equal(t, read(t, original), read(t, copied), "make api")
	}
}

// rights are the rules of the roles of an installation, one text for each.
func rights(objects []object.Object) map[string][]string {
	out := map[string][]string{}
	for _, o := range objects {
		if o.Kind() != "ClusterRole" && o.Kind() != "Role" {
			continue
		}
		for _, r := range o["rules"].([]any) {
			rule := r.(map[string]any)
			text := fmt.Sprint(rule["apiGroups"], rule["resources"], rule["verbs"])
			if names, ok := rule["resourceNames"]; ok {
				text += fmt.Sprint(names)
			}
			out[o.Name()] = append(out[o.Name()], text)
		}
	}
	return out
}

// TestTheControllerHasTheseRightsAndNoMore is what a reviewer of security reads. Nothing
// that a Transform renders is among it.
func TestTheControllerHasTheseRightsAndNoMore(t *testing.T) {
	all := installations()
	want := map[string][]string{
		"ropewalk-controller": {
			"[] [serviceaccounts] [impersonate]",
			"[ropewalk.dev] [transforms] [get list watch update patch]",
			"[ropewalk.dev] [transforms/status transforms/finalizers] [get update patch]",
			"[source.toolkit.fluxcd.io] [gitrepositories ocirepositories buckets externalartifacts] [get list watch]",
			"[kustomize.toolkit.fluxcd.io] [kustomizations] [get list watch]",
			"[source.toolkit.fluxcd.io] [externalartifacts] [create update patch delete]",
			"[source.toolkit.fluxcd.io] [externalartifacts/status] [get update patch]",
			"[] [configmaps] [list watch]", "[] [namespaces] [get]", "[] [events] [create patch]", "[events.k8s.io] [events] [create patch]",
		},
		"ropewalk-delivery": {
			"[source.toolkit.fluxcd.io] [buckets] [get]",
			"[source.toolkit.fluxcd.io] [gitrepositories ocirepositories externalartifacts] [get list create update patch delete]",
			"[source.toolkit.fluxcd.io] [externalartifacts/status] [get update patch]",
			"[kustomize.toolkit.fluxcd.io] [kustomizations] [get list create update patch delete]",
			"[] [configmaps secrets serviceaccounts] [get]", "[] [resourcequotas limitranges] [list]",
		},
		"ropewalk-controller-leader-election": {
			"[coordination.k8s.io] [leases] [create]", "[coordination.k8s.io] [leases] [get update patch]",
		},
		"ropewalk-view": {"[ropewalk.dev] [transforms] [get list watch]"},
		"ropewalk-edit": {"[ropewalk.dev] [transforms] [create update patch delete deletecollection]"},
	}
	got := rights(documents(t, "kustomize", read(t, all["kustomize"])))
	require.Equal(t, want, got)

	// With tenants it acts as the accounts that are named, and delivers nothing itself.
	for _, name := range []string{"kustomize with everything", "helm with everything"} {
		objects := documents(t, name, read(t, all[name]))
		require.Contains(t, rights(objects)["ropewalk-controller"][0], "[impersonate][ropewalk")
		require.NotContains(t, byName(objects), "ClusterRoleBinding /ropewalk-delivery")
		for _, right := range rights(objects)["ropewalk-workload-identity"] {
			require.Regexp(t, `^\[\] \[serviceaccounts\] \[get\]|^\[\] \[serviceaccounts/token\] \[create\]`, right)
		}
		require.Len(t, rights(objects)["ropewalk-workload-identity"], 2)
	}
}

// TestThePodIsRestricted is the profile of that name, and what it does not ask for.
func TestThePodIsRestricted(t *testing.T) {
	for name, file := range installations() {
		t.Run(name, func(t *testing.T) {
			deployment := byName(documents(t, file, read(t, file)))["Deployment ropewalk-system/ropewalk-controller"]
			c := container(t, deployment, "controller")
			require.Equal(t, map[string]any{
				"runAsUser": int64(65532), "runAsGroup": int64(65532), "runAsNonRoot": true, "readOnlyRootFilesystem": true,
				"allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}},
				"seccompProfile": map[string]any{"type": "RuntimeDefault"},
			}, c["securityContext"])
			limits := at(t, c, "resources", "limits").(map[string]any)
			require.NotContains(t, limits, "cpu", "evaluation would be held up by its own limit")
			require.LessOrEqual(t, bytesOf(t, flagOf(t, c, "--memory-total="))+128<<20, bytesOf(t, limits["memory"].(string)))
			grace := at(t, deployment, "spec", "template", "spec", "terminationGracePeriodSeconds").(int64)
			require.Greater(t, grace, int64(30), "--graceful-shutdown-timeout is 30s")
		})
	}
}

// flagOf is the value of a flag of a container.
func flagOf(t *testing.T, c map[string]any, flag string) string {
	t.Helper()
	for _, arg := range texts(c["args"]) {
		if value, ok := strings.CutPrefix(arg, flag); ok {
			return value
		}
	}
	require.Fail(t, "no such flag", flag)
	return ""
}

// bytesOf is a size such as 896MiB or 1Gi.
func bytesOf(t *testing.T, text string) int64 {
	t.Helper()
	m := regexp.MustCompile(`^(\d+)(Mi|Gi)B?$`).FindStringSubmatch(text)
	require.NotNil(t, m, text)
	n, err := strconv.ParseInt(m[1], 10, 64)
	require.NoError(t, err)
	return n << map[string]int{"Mi": 20, "Gi": 30}[m[2]]
}

func TestFlagsOfTheInstallationsAreThoseOfTheController(t *testing.T) {
	known := read(t, commandHelp)
	for _, file := range installations() {
		deployment := byName(documents(t, file, read(t, file)))["Deployment ropewalk-system/ropewalk-controller"]
		for _, arg := range texts(container(t, deployment, "controller")["args"]) {
			name, _, _ := strings.Cut(arg, "=")
			require.Regexp(t, `(?m)^ +`+name+`\b`, known)
		}
	}
	require.Contains(t, read(t, root+"/Dockerfile"), "/ropewalk-controller /usr/local/bin/")
}

// TestMetricsThatAreLookedAtExist reads the expressions of the alerts and the dashboards.
func TestMetricsThatAreLookedAtExist(t *testing.T) {
	looked := []any{map[string]any(only(t, fluxFolder+"/servicemonitor/alerts.yaml"))}
	for _, name := range []string{"dashboard", "dashboard-pivot"} {
		var board map[string]any
		require.NoError(t, json.Unmarshal([]byte(read(t, fluxFolder+"/servicemonitor/"+name+".json")), &board))
		looked = append(looked, board)
	}
	var expressions []string
	for _, of := range looked {
		walk(of, func(key string, v any) {
			if text, ok := v.(string); ok && key == "expr" {
				expressions = append(expressions, text)
			}
		})
	}
	require.Greater(t, len(expressions), 15)
	ours := read(t, root+"/cmd/ropewalk-controller/internal/controller/metrics.go") + strings.ReplaceAll(read(t, root+"/plugin/flux/metrics.go"), `Name: "ropewalk_`, `desc("`) + `desc("` + strings.Join(pivotMetrics(t), `" desc("`) + `"`
	// Of Flux's library, of controller-runtime and of the client of Prometheus.
	theirs := []string{
		"gotk_reconcile_condition", "gotk_reconcile_duration_seconds_bucket", "gotk_suspend_status", "controller_runtime_reconcile_errors_total",
		"controller_runtime_reconcile_total", "workqueue_depth", "leader_election_master_status", "rest_client_requests_total",
		"go_memstats_sys_bytes", "go_memstats_heap_released_bytes", "process_cpu_seconds_total",
	}
	for _, text := range expressions {
		for _, m := range regexp.MustCompile(`\b([a-z]+_[a-z0-9_]+)\b(?:\{|\[|\)| |$)`).FindAllStringSubmatch(text, -1) {
			name, own := strings.CutPrefix(strings.TrimSuffix(m[1], "_bucket"), "ropewalk_")
			switch {
			case own:
				require.Contains(t, ours, `desc("`+name+`"`, text)
			case m[1] != "histogram_quantile":
				require.Contains(t, theirs, m[1], text)
			}
		}
	}
}

// pivotMetrics are the metrics of PivotClusters, without what those of Ropewalk begin with.
func pivotMetrics(t *testing.T) []string {
	t.Helper()
	source := strings.ReplaceAll(read(t, root+"/plugin/pivot/internal/readings/readings.go"), `Name: "ropewalk_pivotcluster_`, `desc("`)
	var out []string
	for _, m := range regexp.MustCompile(`desc\("([a-z_]+)"`).FindAllStringSubmatch(source, -1) {
		out = append(out, "pivotcluster_"+m[1])
	}
	require.Greater(t, len(out), 6)
	return out
}

// walk visits every value below v with its key.
func walk(v any, visit func(key string, v any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			visit(key, v[key])
			walk(v[key], visit)
		}
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	}
}
