// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

const (
	folder    = "../../deploy/chart"
	namespace = "ropewalk-system"
)

// render is what helm template gives for values, as YAML.
func render(values map[string]any) (map[string]string, error) { return renderIn(namespace, values) }

func renderIn(namespace string, values map[string]any) (map[string]string, error) {
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: "ropewalk", Namespace: namespace, IsInstall: true, Revision: 1}
	all, err := chartutil.ToRenderValues(chart, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

// objects are those of all templates, by kind and name, and by namespace where it is
// another one.
func objects(t *testing.T, values string) map[string]map[string]any {
	t.Helper()
	given := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(values), &given))
	files, err := render(given)
	require.NoError(t, err)
	out := map[string]map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".tpl") {
			continue
		}
		if strings.HasSuffix(name, "/NOTES.txt") {
			require.Contains(t, files[name], "kubectl -n "+namespace+" rollout status deployment/ropewalk-controller")
			continue
		}
		for _, o := range documents(t, files[name]) {
			meta := o["metadata"].(map[string]any)
			key := o["kind"].(string) + " " + meta["name"].(string)
			if in, ok := meta["namespace"].(string); ok && in != namespace {
				key += " " + in
			}
			require.NotContains(t, out, key, "it is there twice")
			out[key] = o
		}
	}
	return out
}

// documents are those of YAML.
func documents(t *testing.T, text string) []map[string]any {
	t.Helper()
	var out []map[string]any
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var o map[string]any
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err, "%s", text)
		if len(o) > 0 {
			out = append(out, o)
		}
	}
}

// args are those of the container.
func args(o map[string]map[string]any) []string {
	var out []string
	for _, a := range pod(o)["containers"].([]any)[0].(map[string]any)["args"].([]any) {
		out = append(out, a.(string))
	}
	return out
}

func pod(o map[string]map[string]any) map[string]any {
	spec := o["Deployment ropewalk-controller"]["spec"].(map[string]any)
	return spec["template"].(map[string]any)["spec"].(map[string]any)
}

const everything = `
replicas: 2
image: {repository: registry.example.com/ropewalk, digest: "sha256:` + digest + `"}
imagePullSecrets: [{name: registry}]
storage: {enabled: false}
cache: {claim: ropewalk-cache}
tenants: {serviceAccount: ropewalk, impersonate: [deployer]}
workloadIdentity: true
argocd: {namespaces: [argocd, apps], projects: [shop]}
pullPolicy: {default: Deny, rules: [{name: ours, effect: Allow, sources: ["oci://registry.example.com/**"]}]}
extraArgs: [--workers=1]
extraEnv: [{name: HTTPS_PROXY, value: "http://proxy.example.com:3128"}]
monitoring: {enabled: true, labels: {release: prometheus}, dashboard: true}
priorityClassName: system-cluster-critical
tolerations: [{key: control-plane, operator: Exists}]
affinity: {nodeAffinity: {}}
podLabels: {team: platform}
`

// parent is what test/kustomize/testdata/pivot has.
const parent = `
image: {repository: registry.example.com/ropewalk, tag: main}
pivot: {enabled: true, cell: {host: parent.example.com}, childManifestFrom: ropewalk-parent}
`

const digest = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"

func TestHelmFindsNothingWrong(t *testing.T) {
	var found []string
	for _, m := range lint.All(folder, nil, namespace, true).Messages {
		if m.Severity >= support.WarningSev {
			found = append(found, m.Error())
		}
	}
	require.Empty(t, found)
}

// TestTheChartIsRendered keeps what test/deploy reads.
func TestTheChartIsRendered(t *testing.T) {
	for name, values := range map[string]string{"default.yaml": "", "everything.yaml": everything, "pivot.yaml": parent} {
		t.Run(name, func(t *testing.T) {
			all := objects(t, values)
			var b bytes.Buffer
			e := yaml.NewEncoder(&b)
			for _, key := range slices.Sorted(maps.Keys(all)) {
				require.NoError(t, e.Encode(all[key]))
			}
			file := filepath.Join("testdata", name)
			if os.Getenv("ROPEWALK_UPDATE") != "" {
				require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), b.String(), "regenerate with ROPEWALK_UPDATE=1 make helm")
		})
	}
}

func TestValuesDoWhatTheySay(t *testing.T) {
	all := objects(t, everything)
	require.NotContains(t, all, "Service ropewalk-controller", "nobody fetches what is not served")
	require.NotContains(t, all, "ClusterRoleBinding ropewalk-delivery", "the controller delivers for no tenant")
	rules := all["ClusterRole ropewalk-controller"]["rules"].([]any)
	require.Equal(t, []any{"ropewalk", "deployer"}, rules[0].(map[string]any)["resourceNames"])
	for _, rule := range all["ClusterRole ropewalk-workload-identity"]["rules"].([]any) {
		require.Equal(t, []any{"ropewalk", "deployer"}, rule.(map[string]any)["resourceNames"], "tokens of no other accounts")
	}
	require.Equal(t, []string{
		"--enable-leader-election", "--events-addr=http://notification-controller.flux-system.svc.cluster.local./",
		"--cache-dir=/var/cache/ropewalk", "--memory-total=896MiB", "--pull-policy=/etc/ropewalk/policy/pull-policy.yaml",
		"--default-service-account=ropewalk", "--no-cross-namespace-refs", "--feature-gates=ObjectLevelWorkloadIdentity=true",
		"--argocd-namespaces=argocd,apps", "--argocd-projects=shop", "--workers=1",
	}, args(all))
	require.Contains(t, all, "Role ropewalk-applications apps", "Applications can be written where they may be")
	container := pod(all)["containers"].([]any)[0].(map[string]any)
	require.Equal(t, "registry.example.com/ropewalk@sha256:"+digest, container["image"])
	policy := all["ConfigMap ropewalk-pull-policy"]["data"].(map[string]any)["pull-policy.yaml"].(string)
	require.Equal(t, "Deny", documents(t, policy)[0]["default"])
	for _, key := range []string{"ServiceMonitor ropewalk-controller", "PrometheusRule ropewalk-controller"} {
		require.Equal(t, "prometheus", all[key]["metadata"].(map[string]any)["labels"].(map[string]any)["release"])
	}
	// Braces in an alert are Prometheus' own, and Helm leaves them alone.
	text, err := yaml.Marshal(all["PrometheusRule ropewalk-controller"])
	require.NoError(t, err)
	require.Contains(t, string(text), "{{ $labels.namespace }}")
}

// TestDefaultsInstallARelease: the tag is that of the chart, and nothing has to be filled in.
func TestDefaultsInstallARelease(t *testing.T) {
	all := objects(t, "")
	require.Regexp(t, `^ghcr\.io/ropewalk/ropewalk:v\d+\.\d+\.\d+$`, pod(all)["containers"].([]any)[0].(map[string]any)["image"])
	require.NotContains(t, all["ServiceAccount ropewalk-controller"]["metadata"], "annotations")
	all = objects(t, "{image: {tag: main}, serviceAccount: {annotations: {eks.amazonaws.com/role-arn: arn}}}")
	require.Equal(t, "ghcr.io/ropewalk/ropewalk:main", pod(all)["containers"].([]any)[0].(map[string]any)["image"])
	require.Equal(t, map[string]any{"eks.amazonaws.com/role-arn": "arn"}, all["ServiceAccount ropewalk-controller"]["metadata"].(map[string]any)["annotations"])
}

func TestAParentHasWhatItsChildrenNeed(t *testing.T) {
	all := objects(t, `
pivot:
  enabled: true
  cell: {host: parent.example.com, port: 443, linkPort: 444, serviceType: NodePort, annotations: {a: b}}
  childManifest: "kind: Namespace\n---\nkind: Deployment\n"
  requireFIPS: true
`)
	require.Equal(t, []string{
		"--child-manifest=/etc/ropewalk/parent/child.yaml", "--parts=transforms,pivot", "--cell-host=parent.example.com", "--cell-port=443", "--cell-link-port=444", "--require-fips",
	}, args(all)[6:])
	require.Equal(t, map[string]any{"child.yaml": "kind: Namespace\n---\nkind: Deployment\n"}, all["ConfigMap ropewalk-parent"]["data"])
	service := all["Service ropewalk-cell"]
	require.Equal(t, map[string]any{"a": "b"}, service["metadata"].(map[string]any)["annotations"])
	require.Equal(t, "NodePort", service["spec"].(map[string]any)["type"])
	require.Equal(t, []any{
		map[string]any{"name": "registration", "port": 443, "targetPort": "registration"}, map[string]any{"name": "link", "port": 444, "targetPort": "link"},
	}, service["spec"].(map[string]any)["ports"], "children call these; the pod listens where it may")
	for key := range objects(t, "") {
		require.NotContains(t, key, "pivot")
		require.NotContains(t, key, "cell")
	}
}

// TestAClusterWithoutAHostIsNotReached: a bootstrap cluster has no children, and a cluster with a
// cell of its own has a Service from its controller.
func TestAClusterWithoutAHostIsNotReached(t *testing.T) {
	all := objects(t, "pivot: {enabled: true}")
	require.Equal(t, []string{"--parts=transforms,pivot"}, args(all)[6:])
	require.NotContains(t, all, "Service ropewalk-cell")
	require.NotContains(t, all, "ConfigMap ropewalk-parent")
	for _, volume := range pod(all)["volumes"].([]any) {
		require.NotEqual(t, "parent", volume.(map[string]any)["name"])
	}
	require.Contains(t, all, "NetworkPolicy ropewalk-cell", "its controller may make the Service")
	require.Contains(t, all, "ClusterRole ropewalk-pivot")

	all = objects(t, "pivot: {enabled: true, childManifest: x}")
	require.Equal(t, []string{"--child-manifest=/etc/ropewalk/parent/child.yaml", "--parts=transforms,pivot"}, args(all)[6:])
	require.Equal(t, map[string]any{"child.yaml": "x"}, all["ConfigMap ropewalk-parent"]["data"])
	require.NotContains(t, all, "Service ropewalk-cell")
}

func TestTheRightsOfAParentAreInTheNamespaceOfTheRelease(t *testing.T) {
	given := map[string]any{"pivot": map[string]any{"enabled": true, "cell": map[string]any{"host": "h"}, "childManifestFrom": "c"}}
	files, err := renderIn("platform", given)
	require.NoError(t, err)
	for name, text := range files {
		require.NotContains(t, text, "ropewalk-system", name)
	}
}

func TestValuesThatMeanNothingAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ values, says string }{
		"a value that is misspelt":                   {"replica: 2", "replica"},
		"two pods that would both need to lead":      {"replicas: 2", "replicas"},
		"a size that is none":                        {"cache: {size: much}", "size"},
		"an argument that is no flag":                {"extraArgs: [workers=1]", "extraArgs"},
		"a pull policy with another kind of default": {"pullPolicy: {default: Perhaps}", "pullPolicy"},
		"a digest that is not one":                   {"image: {digest: latest}", "digest"},
		"a parent without a manifest":                {"pivot: {enabled: true, cell: {host: parent}}", "childManifest"},
		"a port that is none":                        {"pivot: {cell: {port: 70000}}", "port"},
		"a type that no Service has":                 {"pivot: {cell: {serviceType: ExternalName}}", "serviceType"},
		"a number where a name belongs":              {"tenants: {serviceAccount: 5}", "serviceAccount"},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]any{}
			require.NoError(t, yaml.Unmarshal([]byte(c.values), &values))
			_, err := render(values)
			require.ErrorContains(t, err, c.says)
		})
	}
}
