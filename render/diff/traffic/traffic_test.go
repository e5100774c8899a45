// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package traffic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/diff/traffic"
	"github.com/ropewalk/ropewalk/render/object"
)

// kinds are the policies by what the tables call them.
var kinds = map[string]string{ //nolint:gochecknoglobals // a constant
	"k8s": "networking.k8s.io/v1 NetworkPolicy", "cilium": "cilium.io/v2 CiliumNetworkPolicy",
	"clusterwide": "cilium.io/v2 CiliumClusterwideNetworkPolicy", "istio": "security.istio.io/v1 AuthorizationPolicy",
}

// policy is an object of a kind with fields of its spec, or with specs.
func policy(t testing.TB, kind, spec string) object.Object {
	t.Helper()
	apiVersion, name, _ := strings.Cut(kinds[kind], " ")
	namespace := ", namespace: prod"
	if kind == "clusterwide" {
		namespace = ""
	}
	if !strings.HasPrefix(spec, "specs:") {
		spec = "spec: " + spec
	}
	data, err := yaml.YAMLToJSON(fmt.Appendf(nil, "apiVersion: %s\nkind: %s\nmetadata: {name: x%s}\n%s\n", apiVersion, name, namespace, spec))
	require.NoError(t, err)
	o, err := object.Decode(data)
	require.NoError(t, err)
	return o
}

// step is a change in one direction that loosens a policy, and the other way around does
// not, unless back says that it does too.
type step struct {
	name, kind, strict, loose string
	want, back                []string
}

func more(paths ...string) (out []string) {
	for _, p := range paths {
		out = append(out, "it allows more traffic than before: "+p)
	}
	return out
}

// found is what is loosened, as text.
func found(before, after object.Object) (out []string) {
	for _, f := range traffic.Loosened(before, after) {
		out = append(out, strings.TrimSuffix(f.What+": "+f.Path, ": "))
	}
	return out
}

func steps() []step {
	return []step{
		// NetworkPolicy: directions, rules, peers, ports.
		{"a direction", "k8s", `{policyTypes: [Ingress, Egress]}`, `{policyTypes: [Ingress]}`, []string{"it no longer restricts Egress"}, nil},
		{"a direction by its rules", "k8s", `{egress: [{to: [{podSelector: {}}]}]}`, `{}`, []string{"it no longer restricts Egress"}, nil},
		{"both directions by none", "k8s", `{policyTypes: [Ingress, Egress]}`, `{}`, []string{"it no longer restricts Egress"}, nil},
		{"the first rule", "k8s", `{}`, `{ingress: [{from: [{podSelector: {}}]}]}`, more("spec.ingress[0]"), nil},
		{"another rule", "k8s", `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}`, `{ingress: [{from: [{podSelector: {matchLabels: {a: c}}}]}, {from: [{podSelector: {matchLabels: {a: b}}}]}]}`, more("spec.ingress[0]"), nil},
		{"another peer", "k8s", `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}`, `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}, {namespaceSelector: {}}]}]}`, more("spec.ingress[0].from[1]"), nil},
		{"all peers", "k8s", `{egress: [{to: [{podSelector: {}}], ports: [{port: 1}]}]}`, `{egress: [{ports: [{port: 1}]}]}`, more("spec.egress[0].to"), nil},
		{"no peers", "k8s", `{ingress: [{from: [{podSelector: {}}]}]}`, `{ingress: [{from: []}]}`, more("spec.ingress[0].from"), nil},
		{"fewer labels", "k8s", `{ingress: [{from: [{podSelector: {matchLabels: {a: b, c: d}}}]}]}`, `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}`, more("spec.ingress[0]"), nil},
		{"more values", "k8s", `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}`, `{ingress: [{from: [{podSelector: {matchExpressions: [{key: a, operator: In, values: [b, c]}]}}]}]}`, more("spec.ingress[0]"), nil},
		{"any value", "k8s", `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}`, `{ingress: [{from: [{podSelector: {matchExpressions: [{key: a, operator: Exists}]}}]}]}`, more("spec.ingress[0]"), nil},
		{"fewer values that are not", "k8s", `{ingress: [{from: [{podSelector: {matchExpressions: [{key: a, operator: NotIn, values: [b, c]}]}}]}]}`, `{ingress: [{from: [{podSelector: {matchExpressions: [{key: a, operator: NotIn, values: [b]}]}}]}]}`, more("spec.ingress[0]"), nil},
		{"all namespaces", "k8s", `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}`, `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}, namespaceSelector: {}}]}]}`, more("spec.ingress[0]"), nil},
		{"all pods of a namespace", "k8s", `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}`, `{ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: prod}}}]}]}`, more("spec.ingress[0]"), nil},
		{"a larger range", "k8s", `{egress: [{to: [{ipBlock: {cidr: 10.1.0.0/16}}]}]}`, `{egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}`, more("spec.egress[0]"), nil},
		{"a smaller exception", "k8s", `{egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}]}`, `{egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.1.0/24]}}]}]}`, more("spec.egress[0]"), nil},
		{"no exception", "k8s", `{egress: [{to: [{ipBlock: {cidr: "fd00::/8", except: ["fd01::/16"]}}]}]}`, `{egress: [{to: [{ipBlock: {cidr: "fd00::/8"}}]}]}`, more("spec.egress[0]"), nil},
		{"pods by all addresses", "k8s", `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}`, `{ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0}}]}]}`, more("spec.ingress[0]"), nil},
		{"another port", "k8s", `{ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}]}`, `{ingress: [{from: [{podSelector: {}}], ports: [{port: 80}, {port: 81}]}]}`, more("spec.ingress[0].ports[1]"), nil},
		{"all ports", "k8s", `{ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}]}`, `{ingress: [{from: [{podSelector: {}}]}]}`, more("spec.ingress[0].ports"), nil},
		{"all ports of a protocol", "k8s", `{ingress: [{ports: [{port: 80}]}]}`, `{ingress: [{ports: [{protocol: TCP}]}]}`, more("spec.ingress[0]"), nil},
		{"a range of ports", "k8s", `{ingress: [{ports: [{port: 8000, endPort: 8010}]}]}`, `{ingress: [{ports: [{port: 8000, endPort: 8020}]}]}`, more("spec.ingress[0]"), nil},
		{"another protocol", "k8s", `{ingress: [{ports: [{port: 53}]}]}`, `{ingress: [{ports: [{port: 53, protocol: UDP}]}]}`, more("spec.ingress[0]"), more("spec.ingress[0]")},
		{"a port by its name", "k8s", `{ingress: [{ports: [{port: http}]}]}`, `{ingress: [{ports: [{port: admin}]}]}`, more("spec.ingress[0]"), more("spec.ingress[0]")},
		{"peers and ports", "k8s", `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}], ports: [{port: 1}]}, {from: [{podSelector: {matchLabels: {a: c}}}], ports: [{port: 2}]}]}`,
			`{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}, {podSelector: {matchLabels: {a: c}}}], ports: [{port: 1}, {port: 2}]}]}`, more("spec.ingress[0]"), nil},

		// Cilium.
		{"no rules", "cilium", `{endpointSelector: {}, ingress: [{}]}`, `{endpointSelector: {}, ingress: []}`, []string{"it no longer restricts ingress"}, nil},
		{"no default", "cilium", `{endpointSelector: {}, egress: [{toEntities: [host]}]}`, `{endpointSelector: {}, enableDefaultDeny: {egress: false}, egress: [{toEntities: [host]}]}`, []string{"it no longer restricts egress"}, nil},
		{"a first peer", "cilium", `{endpointSelector: {}, ingress: [{}]}`, `{endpointSelector: {}, ingress: [{fromEndpoints: [{}]}]}`, more("spec.ingress[0]"), nil},
		{"endpoints without labels", "cilium", `{ingress: [{fromEndpoints: [{matchLabels: {"k8s:app": a}}]}]}`, `{ingress: [{fromEndpoints: [{}]}]}`, more("spec.ingress[0]"), nil},
		{"endpoints of other namespaces", "cilium", `{ingress: [{fromEndpoints: [{matchLabels: {app: a}}]}]}`, `{ingress: [{fromEndpoints: [{matchLabels: {app: a, "k8s:io.kubernetes.pod.namespace": other}}]}]}`, more("spec.ingress[0]"), more("spec.ingress[0]")},
		{"endpoints of all namespaces", "clusterwide", `{ingress: [{fromEndpoints: [{matchLabels: {app: a, io.kubernetes.pod.namespace: other}}]}]}`, `{ingress: [{fromEndpoints: [{matchLabels: {app: a}}]}]}`, more("spec.ingress[0]"), nil},
		{"another entity", "cilium", `{ingress: [{fromEntities: [host]}]}`, `{ingress: [{fromEntities: [host, world]}]}`, more("spec.ingress[0].fromEntities[1]"), nil},
		{"the cluster", "cilium", `{ingress: [{fromEntities: [host, remote-node]}]}`, `{ingress: [{fromEntities: [cluster]}]}`, more("spec.ingress[0]"), nil},
		{"everything", "cilium", `{ingress: [{fromCIDRSet: [{cidr: 10.0.0.0/8}]}]}`, `{ingress: [{fromEntities: [all]}]}`, more("spec.ingress[0]"), nil},
		{"the world for a name", "cilium", `{egress: [{toFQDNs: [{matchName: api.example.com}]}]}`, `{egress: [{toEntities: [world]}]}`, more("spec.egress[0]"), nil},
		{"a pattern of names", "cilium", `{egress: [{toFQDNs: [{matchName: api.example.com}]}]}`, `{egress: [{toFQDNs: [{matchPattern: "*.example.com"}]}]}`, more("spec.egress[0]"), nil},
		{"a larger range of Cilium", "cilium", `{egress: [{toCIDR: [10.1.0.0/16]}]}`, `{egress: [{toCIDRSet: [{cidr: 10.0.0.0/8}]}]}`, more("spec.egress[0]"), nil},
		{"all ports of Cilium", "cilium", `{ingress: [{fromEntities: [host], toPorts: [{ports: [{port: "80", protocol: TCP}]}]}]}`, `{ingress: [{fromEntities: [host]}]}`, more("spec.ingress[0].toPorts"), nil},
		{"any protocol", "cilium", `{ingress: [{toPorts: [{ports: [{port: "80", protocol: TCP}]}]}]}`, `{ingress: [{toPorts: [{ports: [{port: "80", protocol: ANY}]}]}]}`, more("spec.ingress[0]"), nil},
		{"another port of Cilium", "cilium", `{ingress: [{toPorts: [{ports: [{port: "80"}]}]}]}`, `{ingress: [{toPorts: [{ports: [{port: "80"}, {port: "81"}]}]}]}`, more("spec.ingress[0].toPorts[0].ports[1]"), nil},
		{"requests without rules", "cilium", `{ingress: [{toPorts: [{ports: [{port: "80"}], rules: {http: [{method: GET}]}}]}]}`, `{ingress: [{toPorts: [{ports: [{port: "80"}]}]}]}`, more("spec.ingress[0]"), nil},
		{"another request", "cilium", `{ingress: [{toPorts: [{ports: [{port: "80"}], rules: {http: [{method: GET, path: /a}]}}]}]}`, `{ingress: [{toPorts: [{ports: [{port: "80"}], rules: {http: [{method: GET}]}}]}]}`, more("spec.ingress[0]"), nil},
		{"requests without headers", "cilium", `{ingress: [{toPorts: [{ports: [{port: "80"}], rules: {http: [{headers: [a, b]}]}}]}]}`, `{ingress: [{toPorts: [{ports: [{port: "80"}], rules: {http: [{headers: [a]}]}}]}]}`, more("spec.ingress[0]"), nil},
		{"names that may be looked up", "cilium", `{egress: [{toPorts: [{ports: [{port: "53"}], rules: {dns: [{matchName: a.example.com}]}}]}]}`, `{egress: [{toPorts: [{ports: [{port: "53"}], rules: {dns: [{matchPattern: "*"}]}}]}]}`, more("spec.egress[0]"), nil},
		{"no authentication", "cilium", `{ingress: [{fromEntities: [host], authentication: {mode: required}}]}`, `{ingress: [{fromEntities: [host]}]}`, more("spec.ingress[0]"), nil},
		{"another group", "cilium", `{egress: [{toGroups: [{aws: {region: a}}]}]}`, `{egress: [{toGroups: [{aws: {region: b}}]}]}`, more("spec.egress[0]"), more("spec.egress[0]")},
		{"nothing is denied", "cilium", `{ingressDeny: [{fromEntities: [world]}], ingress: [{}]}`, `{ingress: [{}]}`, []string{"it no longer denies all that it did: spec.ingressDeny[0]"}, nil},
		{"less is denied", "cilium", `{egressDeny: [{toCIDR: [10.0.0.0/8, 1.1.1.1/32]}]}`, `{egressDeny: [{toCIDR: [10.0.0.0/8]}]}`, []string{"it no longer denies all that it did: spec.egressDeny[0].toCIDR[1]"}, nil},
		{"one of several specs", "cilium", `specs: [{endpointSelector: {matchLabels: {a: b}}, ingress: [{}]}, {endpointSelector: {matchLabels: {a: c}}, ingress: [{}]}]`,
			`specs: [{endpointSelector: {matchLabels: {a: b}}, ingress: [{}]}]`, []string{"it no longer restricts what this selected: specs[1]"}, nil},

		// Istio.
		{"a first rule", "istio", `{}`, `{rules: [{from: [{source: {namespaces: [a]}}]}]}`, more("spec.rules[0]"), nil},
		{"a rule for everything", "istio", `{rules: [{from: [{source: {namespaces: [a]}}]}]}`, `{rules: [{}]}`, more("spec.rules[0].from"), nil},
		{"another source", "istio", `{rules: [{from: [{source: {principals: [td/ns/a/sa/b]}}]}]}`, `{rules: [{from: [{source: {principals: [td/ns/a/sa/b]}}, {source: {principals: [td/ns/a/sa/c]}}]}]}`, more("spec.rules[0].from[1]"), nil},
		{"another principal", "istio", `{rules: [{from: [{source: {principals: [td/ns/a/sa/b]}}]}]}`, `{rules: [{from: [{source: {principals: [td/ns/a/sa/b, td/ns/a/sa/c]}}]}]}`, more("spec.rules[0]"), nil},
		{"the namespace of a principal", "istio", `{rules: [{from: [{source: {principals: [td/ns/a/sa/b]}}]}]}`, `{rules: [{from: [{source: {namespaces: [a]}}]}]}`, more("spec.rules[0]"), nil},
		{"the account of a principal", "istio", `{rules: [{from: [{source: {principals: [td/ns/prod/sa/b]}}]}]}`, `{rules: [{from: [{source: {serviceAccounts: [b]}}]}]}`, more("spec.rules[0]"), nil},
		{"any principal", "istio", `{rules: [{from: [{source: {namespaces: [a]}}]}]}`, `{rules: [{from: [{source: {principals: ["*"]}}]}]}`, more("spec.rules[0]"), nil},
		{"principals by a prefix", "istio", `{rules: [{from: [{source: {principals: [td/ns/a/sa/b]}}]}]}`, `{rules: [{from: [{source: {principals: [td/ns/*]}}]}]}`, more("spec.rules[0]"), nil},
		{"fewer that are not", "istio", `{rules: [{from: [{source: {notNamespaces: [a, b]}}]}]}`, `{rules: [{from: [{source: {notNamespaces: [a]}}]}]}`, more("spec.rules[0]"), nil},
		{"all but one", "istio", `{rules: [{from: [{source: {namespaces: [b]}}]}]}`, `{rules: [{from: [{source: {notNamespaces: [a]}}]}]}`, more("spec.rules[0]"), nil},
		{"a larger range of Istio", "istio", `{rules: [{from: [{source: {ipBlocks: [10.1.2.3]}}]}]}`, `{rules: [{from: [{source: {ipBlocks: [10.0.0.0/8]}}]}]}`, more("spec.rules[0]"), nil},
		{"a range but for a part of it", "istio", `{rules: [{from: [{source: {ipBlocks: [10.0.0.0/8], notIpBlocks: [10.1.0.0/16]}}]}]}`, `{rules: [{from: [{source: {ipBlocks: [10.0.0.0/8]}}]}]}`, more("spec.rules[0]"), nil},
		{"another method", "istio", `{rules: [{to: [{operation: {methods: [GET]}}]}]}`, `{rules: [{to: [{operation: {methods: [GET, POST]}}]}]}`, more("spec.rules[0]"), nil},
		{"all operations", "istio", `{rules: [{to: [{operation: {ports: ["80"]}}]}]}`, `{rules: [{}]}`, more("spec.rules[0].to"), nil},
		{"paths by a prefix", "istio", `{rules: [{to: [{operation: {paths: [/api/v1]}}]}]}`, `{rules: [{to: [{operation: {paths: ["/api/*"]}}]}]}`, more("spec.rules[0]"), nil},
		{"no condition", "istio", `{rules: [{when: [{key: "request.auth.claims[iss]", values: [a]}]}]}`, `{rules: [{}]}`, more("spec.rules[0].when"), nil},
		{"another value of a condition", "istio", `{rules: [{when: [{key: source.ip, values: [10.0.0.0/8]}]}]}`, `{rules: [{when: [{key: source.ip, values: [10.0.0.0/8, 11.0.0.0/8]}]}]}`, more("spec.rules[0]"), nil},
		{"nothing is denied by Istio", "istio", `{action: DENY, rules: [{to: [{operation: {paths: [/admin]}}]}]}`, `{action: DENY}`, []string{"it no longer denies all that it did: spec.rules[0]"}, nil},
		{"less is denied by Istio", "istio", `{action: DENY, rules: [{}]}`, `{action: DENY, rules: [{from: [{source: {notNamespaces: [a]}}]}]}`, []string{"it no longer denies all that it did: spec.rules[0].from"}, nil},
		{"an action that only records", "istio", `{action: DENY, rules: [{}]}`, `{action: AUDIT, rules: [{}]}`, []string{"its action changes from DENY to AUDIT: it no longer denies what its rules name"}, nil},
		{"an action that is the default", "istio", `{action: DENY, rules: [{}]}`, `{rules: [{}]}`, []string{"its action changes from DENY to ALLOW: it no longer denies what its rules name"},
			[]string{"its action changes from ALLOW to DENY: it no longer denies what its rules do not allow"}},
		{"another server that is asked", "istio", `{action: CUSTOM, provider: {name: a}, rules: [{}]}`, `{action: CUSTOM, provider: {name: b}, rules: [{}]}`, []string{"it asks b and no longer a"}, []string{"it asks a and no longer b"}},
	}
}

func TestWhatIsLoosenedIsFoundAndWhatIsNarrowedIsNot(t *testing.T) {
	for _, s := range steps() {
		t.Run(s.kind+": "+s.name, func(t *testing.T) {
			strict, loose := policy(t, s.kind, s.strict), policy(t, s.kind, s.loose)
			require.Equal(t, s.want, found(strict, loose))
			require.Equal(t, s.back, found(loose, strict))
			require.Empty(t, found(strict, strict))
			require.Empty(t, found(loose, loose))
		})
	}
}

func TestPoliciesThatSayTheSameAreNotLoosened(t *testing.T) {
	for _, s := range []step{
		{name: "rules in another order", kind: "k8s", strict: `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}, {ports: [{port: 1}]}]}`, loose: `{ingress: [{ports: [{port: 1}]}, {from: [{podSelector: {matchLabels: {a: b}}}]}]}`},
		{name: "a rule that is split", kind: "k8s", strict: `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}], ports: [{port: 1}, {port: 2}]}]}`,
			loose: `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}], ports: [{port: 2}]}, {from: [{podSelector: {matchLabels: {a: b}}}], ports: [{port: 1}]}]}`},
		{name: "labels as expressions", kind: "k8s", strict: `{ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}`, loose: `{ingress: [{from: [{podSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}}]}]}`},
		{name: "types that are the default", kind: "k8s", strict: `{ingress: []}`, loose: `{policyTypes: [Ingress]}`},
		{name: "a protocol that is the default", kind: "k8s", strict: `{ingress: [{ports: [{port: 1}]}]}`, loose: `{ingress: [{ports: [{port: 1, protocol: TCP}]}]}`},
		{name: "the namespace of the policy", kind: "k8s", strict: `{ingress: [{from: [{podSelector: {}}]}]}`, loose: `{ingress: [{from: [{podSelector: {}, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: prod}}}]}]}`},
		{name: "the source of labels", kind: "cilium", strict: `{ingress: [{fromEndpoints: [{matchLabels: {"k8s:app": a}}]}]}`, loose: `{ingress: [{fromEndpoints: [{matchLabels: {app: a, "k8s:io.kubernetes.pod.namespace": prod}}]}]}`},
		{name: "a range in both fields", kind: "cilium", strict: `{egress: [{toCIDR: [10.0.0.0/8]}]}`, loose: `{egress: [{toCIDRSet: [{cidr: 10.0.0.0/8}]}]}`},
		{name: "one spec as several", kind: "cilium", strict: `{endpointSelector: {}, ingress: [{}]}`, loose: `specs: [{endpointSelector: {}, ingress: [{}]}]`},
		{name: "an action that is the default", kind: "istio", strict: `{rules: []}`, loose: `{action: ALLOW}`},
	} {
		t.Run(s.kind+": "+s.name, func(t *testing.T) {
			a, b := policy(t, s.kind, s.strict), policy(t, s.kind, s.loose)
			require.Empty(t, found(a, b))
			require.Empty(t, found(b, a))
		})
	}
	require.Empty(t, traffic.Loosened(object.Object{"kind": "Service", "apiVersion": "v1"}, object.Object{"kind": "Service", "apiVersion": "v1"}))
}

// What is not compared is said, and the rules that stay the same cost nothing.
func TestTheWorkIsBounded(t *testing.T) {
	rules := func(n int, change string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "{from: [{podSelector: {matchLabels: {a: %q}}}]}, ", fmt.Sprint(change, i))
		}
		return "{ingress: [" + b.String() + "{ports: [{port: 1}]}]}"
	}
	const many = 5000
	require.Equal(t, []string{"it has so many rules that what they let through is not compared"},
		last(found(policy(t, "k8s", rules(many, "a")), policy(t, "k8s", rules(many, "b")))))
	same := policy(t, "k8s", rules(many, "a"))
	more := policy(t, "k8s", strings.Replace(rules(many, "a"), "port: 1", "port: 2", 1))
	require.Equal(t, []string{fmt.Sprintf("it allows more traffic than before: spec.ingress[%d]", many)}, found(same, more))
}

func last(all []string) []string { return all[len(all)-1:] }

func FuzzLoosened(f *testing.F) {
	for _, s := range steps() {
		f.Add(s.kind, s.strict, s.loose)
	}
	f.Fuzz(func(t *testing.T, kind, before, after string) {
		objects := [2]object.Object{}
		for i, spec := range []string{before, after} {
			apiVersion, name, ok := strings.Cut(kinds[kind], " ")
			data, err := yaml.YAMLToJSON([]byte("spec: " + spec))
			if !ok || err != nil {
				return
			}
			o, err := object.Decode(data)
			if err != nil {
				return
			}
			o["apiVersion"], o["kind"], objects[i] = apiVersion, name, o
		}
		require.Empty(t, traffic.Loosened(objects[0], objects[0]))
		traffic.Loosened(objects[0], objects[1])
	})
}
