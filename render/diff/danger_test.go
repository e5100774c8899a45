// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/diff"
)

// items reads objects of YAML.
func items(t testing.TB, text string) (out []diff.Item) {
	t.Helper()
	for _, one := range strings.Split(text, "\n---\n") {
		out = append(out, item(t, one))
	}
	return out
}

func container(fields string) string {
	return deployment("{template: {spec: {containers: [{name: web, " + fields + "}]}}}")
}

func pods(fields string) string { return deployment("{template: {spec: {" + fields + "}}}") }

func of(apiVersion, kind, rest string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\n" + head + rest
}

func ingress(hosts ...string) string {
	return of("networking.k8s.io/v1", "Ingress", "spec: {rules: [{host: "+strings.Join(hosts, "}, {host: ")+"}]}")
}

func networkPolicy(spec string) string {
	return of("networking.k8s.io/v1", "NetworkPolicy", "spec: "+spec)
}

func binding(subjects string) string {
	return of("rbac.authorization.k8s.io/v1", "RoleBinding", "roleRef: {kind: Role, name: reader}\nsubjects: "+subjects)
}

func schemaOf(schema string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n" +
		"spec: {names: {kind: X}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: " + schema + "}}]}"
}

func TestDangers(t *testing.T) {
	for _, tt := range []struct {
		name, before, after string
		want                []string
	}{
		{"a Service that is deleted", service("{}"), "", []string{"deleted: its name and its address are gone: clients that use it fail"}},
		{"a ConfigMap that is deleted", of("v1", "ConfigMap", ""), "", nil},
		{"an ExternalSecret that is deleted", of("external-secrets.io/v1", "ExternalSecret", "spec: {target: {name: db}}"), "",
			[]string{"secret: the Secret db that it makes may be deleted with it: pods that use it do not start"}},
		{"objects of operators that hold no data", strings.Join([]string{
			of("keda.sh/v1alpha1", "TriggerAuthentication", ""), of("keda.sh/v1alpha1", "ScaledObject", ""), of("cert-manager.io/v1", "Certificate", ""),
			of("monitoring.coreos.com/v1", "ServiceMonitor", ""), of("gateway.envoyproxy.io/v1alpha1", "ClientTrafficPolicy", ""), of("example.com/v1", "SomePolicy", ""),
		}, "\n---\n"), "", nil},
		{"an object of an operator with data", of("monitoring.coreos.com/v1", "Prometheus", ""), "", []string{"data-loss: its operator may delete the data that belongs to it"}},
		{"a host that is removed", ingress("a.example.com", "b.example.com"), ingress("a.example.com"), []string{"unreachable: the host b.example.com is no longer served"}},
		{"a host that changes", ingress("a.example.com"), ingress("b.example.com"),
			[]string{"exposure: it serves a new host: b.example.com", "unreachable: the host a.example.com is no longer served"}},
		{"an Ingress that is deleted", ingress("a.example.com"), "", []string{"unreachable: the host a.example.com is no longer served"}},
		{"a host of Traefik", of("traefik.io/v1alpha1", "IngressRoute", "spec: {routes: [{match: 'Host(`a.example.com`, `b.example.com`) && Path(`/x`)'}]}"),
			of("traefik.io/v1alpha1", "IngressRoute", "spec: {routes: [{match: 'Host(`a.example.com`)'}]}"), []string{"unreachable: the host b.example.com is no longer served"}},
		{"a Service that is reachable no more", service("{type: LoadBalancer}"), service("{type: ClusterIP}"),
			[]string{"unreachable: it is no longer reachable from outside the cluster: type LoadBalancer"}},
		{"a Service for other pods", service("{selector: {app: a}}"), service("{selector: {app: b}}"), []string{"selector: its selector changes: it sends its traffic to other pods"}},
		{"a policy for other pods", networkPolicy("{podSelector: {matchLabels: {app: a}}}"), networkPolicy("{podSelector: {}}"),
			[]string{"selector: its selector changes: it restricts other pods"}},
		{"a policy that is deleted", networkPolicy("{}"), "", []string{"policy: the traffic that it did not allow may be allowed from now on"}},
		{"a policy of Cilium that is deleted", of("cilium.io/v2", "CiliumNetworkPolicy", ""), "", []string{"policy: the traffic that it did not allow may be allowed from now on"}},
		{"a policy of Cilium for all namespaces that is deleted", of("cilium.io/v2", "CiliumClusterwideNetworkPolicy", ""), "", []string{"policy: the traffic that it did not allow may be allowed from now on"}},
		{"a policy of Istio that is deleted", of("security.istio.io/v1", "AuthorizationPolicy", "spec: {action: DENY, rules: [{}]}"), "", []string{"policy: the traffic that it did not allow may be allowed from now on"}},
		{"a policy of Cilium for other pods", of("cilium.io/v2", "CiliumNetworkPolicy", "spec: {endpointSelector: {matchLabels: {a: b}}, ingress: [{}]}"), of("cilium.io/v2", "CiliumNetworkPolicy", "spec: {endpointSelector: {matchLabels: {a: c}}, ingress: [{}]}"),
			[]string{"selector: its selector changes: it restricts other pods"}},
		{"a policy of Istio for other pods that allows more", of("security.istio.io/v1", "AuthorizationPolicy", "spec: {selector: {matchLabels: {a: b}}}"), of("security.istio.io/v1", "AuthorizationPolicy", "spec: {rules: [{}]}"),
			[]string{"selector: its selector changes: it restricts other pods", "policy: it allows more traffic than before: spec.rules[0]"}},
		{"a budget that is deleted", of("policy/v1", "PodDisruptionBudget", ""), "", []string{"policy: all pods that it protects may be evicted at once"}},
		{"a policy that allows more", networkPolicy("{ingress: [{from: [{podSelector: {}}]}]}"), networkPolicy("{ingress: [{from: [{podSelector: {}}, {ipBlock: {cidr: 0.0.0.0/0}}]}, {}]}"),
			[]string{"policy: it allows more traffic than before: spec.ingress[0].from[1]", "policy: it allows more traffic than before: spec.ingress[1]"}},
		{"a policy that allows traffic from everywhere", networkPolicy("{ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}]}"), networkPolicy("{ingress: [{ports: [{port: 80}]}]}"),
			[]string{"policy: it allows more traffic than before: spec.ingress[0].from"}},
		{"a policy that opens a port", networkPolicy("{ingress: [{ports: [{port: 80}]}]}"), networkPolicy("{ingress: [{ports: [{port: 80}, {port: 81}]}]}"),
			[]string{"policy: it allows more traffic than before: spec.ingress[0].ports[81]"}},
		{"a policy that allows less", networkPolicy("{ingress: [{from: [{podSelector: {}}, {namespaceSelector: {}}]}]}"), networkPolicy("{ingress: [{from: [{podSelector: {}}]}]}"), nil},
		{"a policy that restricts one direction only", networkPolicy("{policyTypes: [Ingress, Egress]}"), networkPolicy("{policyTypes: [Ingress]}"), []string{"policy: it no longer restricts Egress"}},
		{"a namespace that enforces less", "apiVersion: v1\nkind: Namespace\nmetadata: {name: x, labels: {pod-security.kubernetes.io/enforce: restricted}}",
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: x}", []string{"policy: the level of pod security that it enforces goes from restricted to that of the cluster"}},
		{"a namespace that enforces more", "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}",
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: x, labels: {pod-security.kubernetes.io/enforce: restricted}}", nil},
		{"a role that grants more", role("[{apiGroups: [''], resources: [pods], verbs: [get]}]"), role("[{apiGroups: [''], resources: [pods, services], verbs: [get, list]}]"),
			[]string{"rbac: it grants more than before: get, list on pods, services"}},
		{"a role for more names", role("[{apiGroups: [''], resources: [configmaps], resourceNames: [a], verbs: [get]}]"), role("[{apiGroups: [''], resources: [configmaps], verbs: [get]}]"),
			[]string{"rbac: it grants more than before: get on configmaps"}},
		{"a role in another order grants no more", role("[{apiGroups: ['', apps], resources: [pods], verbs: [get, list]}]"), role("[{apiGroups: [apps], resources: [pods], verbs: [list]}, {apiGroups: [''], resources: [pods], verbs: [get]}]"), nil},
		{"a role that grants less", role("[{apiGroups: [''], resources: ['*'], verbs: ['*']}]"), role("[{apiGroups: [''], resources: [pods], verbs: [get]}]"), nil},
		{"a role with another URL", role("[{nonResourceURLs: [/healthz], verbs: [get]}]"), role("[{nonResourceURLs: [/healthz, /metrics], verbs: [get]}]"), []string{"rbac: it grants more than before: get on /metrics"}},
		{"a binding with another subject", binding("[{kind: User, name: a}]"), binding("[{kind: User, name: a}, {kind: User, name: b}]"), []string{"rbac: it grants the role reader to User b"}},
		{"a new binding of an ordinary role", "", binding("[{kind: User, name: a}]"), nil},
		{"an image without its digest", container("image: 'i:1@sha256:0'"), container("image: 'i:1'"),
			[]string{"image: the image of container web is no longer pinned by a digest: i:1 can be moved to another image"}},
		{"an image by a tag that moves", container("image: 'r:5000/i:1'"), container("image: 'r:5000/i'"),
			[]string{"image: the image of container web is r:5000/i, whose tag is moved from release to release: pin it by a version or a digest"}},
		{"an image that goes back", container("image: 'i:1.10.0'"), container("image: 'i:1.9.3-alpine'"), []string{"image: the image of container web goes back from 1.10.0 to 1.9.3-alpine"}},
		{"an image that goes forward", container("image: 'i:v1.9.0'"), container("image: 'i:v1.10.0'"), nil},
		{"another image", container("image: 'i:2.0.0'"), container("image: 'j:1.0.0'"), nil},
		{"a container without a name", pods("containers: [{name: {}, image: 'i:1'}]"), pods("containers: [{name: {}, image: 'i:2'}]"), nil},
		{"a Secret that pods no longer use", container("env: [{name: A, valueFrom: {secretKeyRef: {name: db, key: password}}}], envFrom: [{secretRef: {name: all}}]"), container("env: []"),
			[]string{"secret: its pods no longer use the key password of the Secret db", "secret: its pods no longer use the Secret all"}},
		{"a Secret under another variable", container("env: [{name: A, valueFrom: {secretKeyRef: {name: db, key: password}}}]"), container("env: [{name: B, valueFrom: {secretKeyRef: {name: db, key: password}}}]"), nil},
		{"Secrets of volumes and pulls", pods("volumes: [{name: v, secret: {secretName: tls}}, {name: w, projected: {sources: [{secret: {name: p}}]}}], imagePullSecrets: [{name: pull}]"), pods("volumes: []"),
			[]string{"secret: its pods no longer use the Secret tls", "secret: its pods no longer use the Secret p", "secret: its pods no longer use the Secret pull"}},
		{"a key of an ExternalSecret", of("external-secrets.io/v1", "ExternalSecret", "spec: {data: [{secretKey: a}, {secretKey: b}]}"), of("external-secrets.io/v1", "ExternalSecret", "spec: {data: [{secretKey: b}]}"),
			[]string{"secret: the key a is no longer in the Secret that it makes"}},
		{"a claim that is not mounted", pods("volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"), pods("volumes: [{name: v, emptyDir: {}}]"),
			[]string{"data-loss: its pods no longer mount the PersistentVolumeClaim data, and no longer see its data"}},
		{"a CronJob that is suspended", of("batch/v1", "CronJob", "spec: {}"), of("batch/v1", "CronJob", "spec: {suspend: true}"), []string{"stopped: it is suspended: it starts no Job any more"}},
		{"a field that leaves a definition", schemaOf("{properties: {spec: {properties: {a: {type: string}, list: {items: {properties: {b: {type: string}}}}}}}}"),
			schemaOf("{properties: {spec: {properties: {list: {items: {properties: {}}}}}}}"),
			[]string{"crd: the field spec.a of version v1 is removed: the API server drops it from objects", "crd: the field spec.list[].b of version v1 is removed: the API server drops it from objects"}},
		{"a field that a definition requires", schemaOf("{properties: {a: {type: string}}}"), schemaOf("{properties: {a: {type: string}}, required: [a]}"),
			[]string{`crd: fields of version v1 become required: objects without them are rejected: ["a"]`}},
		{"a description in a definition", schemaOf("{properties: {a: {type: string, description: x}}}"), schemaOf("{properties: {a: {type: string}}}"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range one(t, tt.before, tt.after).Changes {
				for _, d := range c.Dangers {
					got = append(got, d.Code+": "+d.Message)
				}
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestAHostThatAnotherObjectServesIsNotLost(t *testing.T) {
	before := diff.Snapshot{Items: []diff.Item{item(t, ingress("a.example.com"))}}
	after := diff.Snapshot{Items: []diff.Item{item(t, of("gateway.networking.k8s.io/v1", "HTTPRoute", "spec: {hostnames: [a.example.com]}"))}}
	for _, c := range compare(before, after).Changes {
		for _, d := range c.Dangers {
			require.NotEqual(t, diff.DangerUnreachable, d.Code, d.Message)
		}
	}
	require.Equal(t, diff.DangerUnreachable, compare(before, diff.Snapshot{}).Changes[0].Dangers[0].Code)
}
