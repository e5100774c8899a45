// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// rulesOf are the usual rules for a preview.
func rulesOf(id string) Rules {
	return Rules{
		ID: id, From: []string{"shop"},
		Previews: spec.Previews{Namespace: spec.Text{Text: "${namespace}-pr-${preview}"}, Host: spec.Text{Text: "pr-${preview}.${host}"}},
	}
}

// nodesOf are the objects of a stream of YAML.
func nodesOf(t *testing.T, text string) (out []*object.Node) {
	t.Helper()
	for doc := range strings.SplitSeq(text, "---\n") {
		data, err := yaml.YAMLToJSON([]byte(doc))
		require.NoError(t, err)
		o, err := object.Decode(data)
		require.NoError(t, err)
		out = append(out, &object.Node{ID: object.MakeID("s", strings.ToLower(o.Kind())+"-"+o.Name()), Object: o})
	}
	return out
}

func isOfCluster(n *object.Node) bool { return n.Object.Namespace() == "" }

const namespaces = "{apiVersion: v1, kind: Service, metadata: {name: api, namespace: shop}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: db}}\n---\n"

// served is an Ingress for shop.example and *.tls.example.
const served = "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web, namespace: shop}, spec: {rules: [{host: Shop.example}, {host: www.shop.example}]}}\n---\n"

func TestTextsAreRewrittenWhereTheyNameTheRender(t *testing.T) {
	for from, want := range map[string]string{
		// Services and accounts.
		"http://api.shop.svc.cluster.local/x":   "http://api.shop-pr-7.svc.cluster.local/x",
		"api.shop.svc,pg.db.svc:5432":           "api.shop-pr-7.svc,pg.db-pr-7.svc:5432",
		"$(HOST).shop.svc":                      "$(HOST).shop-pr-7.svc",
		"http://api.shop:80":                    "http://api.shop-pr-7:80",
		"web.shop":                              "web.shop",
		"api.shop.svcs":                         "api.shop.svcs",
		"cluster.local/ns/shop/sa/api":          "cluster.local/ns/shop-pr-7/sa/api",
		"--watch-namespace=shop":                "--watch-namespace=shop-pr-7",
		"istiod.istio-system.svc":               "istiod.istio-system.svc",
		"https://kubernetes.default.svc":        "https://kubernetes.default.svc",
		"shop":                                  "shop",
		"api.shop.svc.cluster.local.shop.svc":   "api.shop-pr-7.svc.cluster.local.shop-pr-7.svc",
		"host=pg.db.svc url=https://api.shop/x": "host=pg.db-pr-7.svc url=https://api.shop-pr-7/x",
		// Hosts.
		"https://shop.example/x?to=www.shop.example": "https://pr-7.shop.example/x?to=pr-7.www.shop.example",
		"https%3A%2F%2Fshop.example%2F":              "https%3A%2F%2Fpr-7.shop.example%2F",
		`a\nshop.example\nb`:                         `a\npr-7.shop.example\nb`,
		"Open SHOP.example.":                         "Open pr-7.shop.example.",
		".shop.example":                              ".pr-7.shop.example",
		"api.shop.example my-shop.example":           "api.shop.example my-shop.example",
		"shop.example.com shop.example-x":            "shop.example.com shop.example-x",
		"{tenant}.shop.example $(X)-shop.example":    "{tenant}.shop.example $(X)-shop.example",
		"ops@shop.example":                           "ops@shop.example",
		"amqp://me:word@shop.example/":               "amqp://me:word@pr-7.shop.example/",
	} {
		nodes := nodesOf(t, namespaces+served+"{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {}}")
		config := nodes[len(nodes)-1].Object
		config["data"] = map[string]any{"text": from}
		out, errs := Rewrite(rulesOf("7"), nodes, isOfCluster)
		require.Empty(t, errs)
		require.Equal(t, want, out[len(out)-1].Object.Text("data", "text"), from)
		require.Equal(t, from, config.Text("data", "text"), "what was given is not changed")
	}
}

func TestFieldsAreRewrittenByWhatTheyHold(t *testing.T) {
	const before = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: shop
  namespace: shop
  annotations: {ref: shop/secret, other: infra/secret}
spec:
  apiGroup: shop.example
  image: shop.example/shop:1
  gateways: [shop/gw, mesh]
  hosts: [shop.example, api.shop]
  namespaces: [shop, istio-system]
  targetNamespace: db
  env: [{name: POD_NAMESPACE, value: shop}, {name: NAME, value: shop}]
  matchLabels: {kubernetes.io/metadata.name: shop, k8s:io.kubernetes.pod.namespace: db, name: shop}
  matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: In, values: [shop, kube-system]}
    - {key: app, operator: In, values: [shop]}
`
	const after = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: shop
  namespace: shop-pr-7
  annotations: {ref: shop-pr-7/secret, other: infra/secret}
spec:
  apiGroup: shop.example
  image: shop.example/shop:1
  gateways: [shop-pr-7/gw, mesh]
  hosts: [pr-7.shop.example, api.shop-pr-7]
  namespaces: [shop-pr-7, istio-system]
  targetNamespace: db-pr-7
  env: [{name: POD_NAMESPACE, value: shop-pr-7}, {name: NAME, value: shop}]
  matchLabels: {kubernetes.io/metadata.name: shop-pr-7, k8s:io.kubernetes.pod.namespace: db-pr-7, name: shop}
  matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: In, values: [shop-pr-7, kube-system]}
    - {key: app, operator: In, values: [shop]}
`
	gateway := "{apiVersion: networking.istio.io/v1, kind: Gateway, metadata: {name: gw, namespace: shop}}\n---\n"
	out, errs := Rewrite(rulesOf("7"), nodesOf(t, namespaces+gateway+before), isOfCluster)
	require.Empty(t, errs)
	require.Equal(t, nodesOf(t, after)[0].Object, out[len(out)-1].Object)
	require.Equal(t, "db-pr-7", out[1].Object.Name(), "the name of a Namespace")

	// A second time changes nothing: the destination of Argo CD may be that of the preview.
	rules := rulesOf("7")
	rules.From, rules.Host.Text = nil, "${host}.${preview}"
	for _, namespace := range []string{"shop", "shop-pr-7"} {
		own, err := rules.Enter(namespace)
		require.NoError(t, err)
		require.Equal(t, "shop-pr-7", own)
		require.Equal(t, []string{"shop"}, rules.From)
	}
}

func TestHostsAreThoseThatAnyKindServes(t *testing.T) {
	for name, text := range map[string]string{
		"TLS of an Ingress":    "apiVersion: networking.k8s.io/v1\nkind: Ingress\nspec: {tls: [{hosts: [a.example]}]}",
		"a Gateway":            "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nspec: {listeners: [{name: x}, {hostname: a.example}]}",
		"a route":              "apiVersion: gateway.networking.k8s.io/v1\nkind: GRPCRoute\nspec: {hostnames: [a.example]}",
		"a VirtualService":     "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec: {hosts: [api, api.shop, api.shop.svc.cluster.local, a.example]}",
		"a Gateway of Istio":   "apiVersion: networking.istio.io/v1\nkind: Gateway\nspec: {servers: [{hosts: [shop/a.example]}]}",
		"a Certificate":        "apiVersion: cert-manager.io/v1\nkind: Certificate\nspec: {commonName: My authority, dnsNames: [a.example, api.shop.svc]}",
		"an IngressRoute":      "apiVersion: traefik.io/v1alpha1\nkind: IngressRoute\nspec: {routes: [{match: 'Host(`a.example`) && PathPrefix(`/`)'}]}",
		"an HTTPScaledObject":  "apiVersion: http.keda.sh/v1alpha1\nkind: HTTPScaledObject\nspec: {hosts: [a.example]}",
		"an InterceptorRoute":  "apiVersion: http.keda.sh/v1beta1\nkind: InterceptorRoute\nspec: {rules: [{hosts: [a.example]}]}",
		"a Canary":             "apiVersion: flagger.app/v1beta1\nkind: Canary\nspec: {service: {hosts: [a.example]}}",
		"an HTTPProxy":         "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nspec: {virtualhost: {fqdn: a.example}}",
		"a Route of OpenShift": "apiVersion: route.openshift.io/v1\nkind: Route\nspec: {host: a.example}",
	} {
		t.Run(name, func(t *testing.T) {
			text += "\nmetadata: {name: x, namespace: shop}\n"
			nodes := nodesOf(t, namespaces+text)
			out, errs := Rewrite(rulesOf("7"), nodes, isOfCluster)
			require.Empty(t, errs)
			data, err := yaml.Marshal(out[2].Object)
			require.NoError(t, err)
			require.Contains(t, string(data), "pr-7.a.example")
			require.Equal(t, 1, strings.Count(string(data), "pr-7.a"))

			rules := rulesOf("7")
			rules.Host = spec.Text{}
			_, errs = Rewrite(rules, nodes, isOfCluster)
			require.Len(t, errs, 1)
			require.ErrorContains(t, errs, `the host "a.example" is served, and spec.previews has no rule for hosts`)
			require.NotEmpty(t, errs[0].Path)
		})
	}
	text := "{apiVersion: v1, kind: Service, metadata: {name: x, namespace: shop, annotations: {external-dns.alpha.kubernetes.io/hostname: 'a.example, b.example'}}}"
	out, errs := Rewrite(rulesOf("7"), nodesOf(t, text), isOfCluster)
	require.Empty(t, errs)
	require.Equal(t, "pr-7.a.example, pr-7.b.example", out[0].Object.Annotations()["external-dns.alpha.kubernetes.io/hostname"])
}

func TestWhatPreviewsWouldShareIsRefusedAllAtOnce(t *testing.T) {
	const text = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: kube-system}, data: {nodePort: "1", hostNetwork: "true"}}
---
{apiVersion: v1, kind: Service, metadata: {name: c, namespace: shop}, spec: {clusterIP: None, loadBalancerIP: 192.0.2.1, externalIPs: [192.0.2.2], ports: [{nodePort: 30080}, {nodePort: 0}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: d, namespace: shop}, spec: {hostNetwork: true, containers: [{ports: [{hostPort: 80}]}]}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: e, namespace: shop}, spec: {volumeName: pv}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: f, namespace: shop}, spec: {rules: [{http: {}}], defaultBackend: {}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: g, namespace: shop}, spec: {parentRefs: [{name: public}]}}
---
{apiVersion: traefik.io/v1alpha1, kind: IngressRoute, metadata: {name: h, namespace: shop}, spec: {routes: [{match: "PathPrefix(` + "`/`" + `)"}, {match: "HostRegexp(` + "`.+`" + `)"}]}}
---
{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: i, namespace: shop}, spec: {gateways: [infra/public], hosts: ["*"]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: j, namespace: shop}, spec: {addresses: [{value: 192.0.2.3}]}}
`
	_, errs := Rewrite(rulesOf("7"), nodesOf(t, text), isOfCluster)
	var got []string
	for _, e := range errs.Sorted() {
		require.NotEmpty(t, e.Hint)
		got = append(got, e.Sentence())
	}
	require.Equal(t, []string{
		"s/clusterrole-a: kind: ClusterRole.rbac.authorization.k8s.io a belongs to the cluster: all previews would share it",
		"s/configmap-b: metadata.namespace: ConfigMap kube-system/b is in a namespace of Kubernetes: all previews would share it",
		"s/httproute-g: spec: every host is served here: previews would fight over them",
		"s/gateway-j: spec.addresses: the addresses are fixed: previews would fight over them",
		"s/pod-d: spec.containers[0].ports[0].hostPort: port 80 of the nodes is fixed: previews would fight over it",
		"s/ingress-f: spec.defaultBackend: every host is served here: previews would fight over them",
		"s/service-c: spec.externalIPs: the addresses are fixed: previews would fight over it",
		"s/pod-d: spec.hostNetwork: the pods have the ports of their node: previews would fight over it",
		"s/virtualservice-i: spec.hosts[0]: every host is served here: previews would fight over them",
		"s/service-c: spec.loadBalancerIP: the address \"192.0.2.1\" is fixed: previews would fight over it",
		"s/service-c: spec.ports[0].nodePort: port 30080 of the nodes is fixed: previews would fight over it",
		"s/ingressroute-h: spec.routes[0].match: every host is served here: previews would fight over them",
		"s/ingressroute-h: spec.routes[1].match: every host is served here: previews would fight over them",
		"s/ingress-f: spec.rules[0]: every host is served here: previews would fight over them",
		"s/persistentvolumeclaim-e: spec.volumeName: the volume \"pv\" is of the cluster: previews would fight over it",
	}, got)
}

func TestRulesThatMakeOneOfTwoPreviewsAreRefused(t *testing.T) {
	rules := func(namespace, host string) Rules {
		r := rulesOf("7")
		r.Namespace.Text, r.Host.Text = namespace, host
		return r
	}
	two := "{apiVersion: v1, kind: Service, metadata: {name: api, namespace: shop-db}}\n---\n" + strings.ReplaceAll(served, "www.", "a-")
	for name, c := range map[string]struct {
		rules Rules
		text  string
		want  string
	}{
		"namespace first":          {rules("${namespace}-${preview}", "${preview}.${host}"), two, `two previews can have one namespace, because there are "shop" and "shop-db"`},
		"preview first":            {rules("${preview}-${namespace}", "${preview}.${host}"), strings.ReplaceAll(two, "shop-db", "db-shop"), `two previews can have one namespace, because there are "shop" and "db-shop"`},
		"hosts":                    {rules("pr-${preview}", "${preview}-${host}"), two, `two previews can have one host, because there are "shop.example" and "a-shop.example"`},
		"one host for two":         {rules("pr-${preview}", "${preview}.example"), two, "the rule is for one host, and 2 are served: a-shop.example, shop.example"},
		"a namespace that is long": {rules("${namespace}-pr-${preview}", "${preview}.${host}"), strings.ReplaceAll(two, "shop-db", strings.Repeat("a", 60)), "has 65 characters, more than 63"},
		"a host that is long":      {rules("pr-${preview}", "${preview}-"+strings.Repeat("b", 56)+"${host}"), two, "is no host"},
		"a wildcard":               {rules("pr-${preview}", "${preview}.${host}"), strings.ReplaceAll(two, "a-shop", `"*.shop"`), `"7.*.shop.example" is no host`},
		"good":                     {rules("pr-${preview}", "${preview}.${host}"), two, ""},
		"another good one":         {rules("${namespace}-pr-${preview}", "${host}.${preview}.test"), strings.ReplaceAll(two, "a-shop", `"*.shop"`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll(c.text, `"*.shop".example`, `"*.shop.example"`)
			_, errs := Rewrite(c.rules, nodesOf(t, strings.TrimSuffix(text, "---\n")), isOfCluster)
			if c.want == "" {
				require.Empty(t, errs)
				return
			}
			require.Len(t, errs, 1, errs.Error())
			require.ErrorContains(t, errs, c.want)
			require.Contains(t, errs[0].Path, "spec.previews.")
		})
	}
}

func TestDataOfSecretsStayWithAWarning(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("postgres://u:p4ssw0rd@pg.db.svc/x"))
	text := namespaces + "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}, data: {url: " + encoded + ", other: YWJj}, stringData: {host: https://api.shop.svc, word: abc}}"
	nodes := nodesOf(t, text)
	out, errs := Rewrite(rulesOf("7"), nodes, isOfCluster)
	require.NoError(t, errs.Err())
	require.Len(t, errs, 2)
	require.Equal(t, []string{"data.url", "stringData.host"}, []string{errs[0].Path, errs[1].Path})
	require.NotContains(t, errs.Error(), "p4ssw0rd")
	require.True(t, errs[0].Secret)
	require.Equal(t, nodes[2].Object["data"], out[2].Object["data"])
	require.Equal(t, nodes[2].Object["stringData"], out[2].Object["stringData"])
	require.Equal(t, "shop-pr-7", out[2].Object.Namespace())
}
