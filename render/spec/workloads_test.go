// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func TestWorkloadsAreKeptAsTheyStand(t *testing.T) {
	docs, err := spec.Parse([]spec.File{
		{Name: "score.yaml", Data: []byte("apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {}\n")},
		{Name: "own.yaml", Data: []byte("apiVersion: ropewalk.dev/v1alpha1\nkind: Workload\nmetadata: {name: api}\nspec: {}\n"), Found: true},
		{Name: "old.yaml", Data: []byte("apiVersion: score.sh/v1b1\nmetadata:\n  name: 3\n"), Found: true},
	})
	require.NoError(t, err)
	require.Len(t, docs.Workloads, 3)
	require.Equal(t, "web", docs.Workloads[0].Name)
	require.True(t, docs.Workloads[0].Score)
	require.Equal(t, object.Pos{File: "score.yaml", Line: 2, Column: 18}, docs.Workloads[0].NamePos)
	require.Equal(t, "api", docs.Workloads[1].Name)
	require.False(t, docs.Workloads[1].Score)
	require.Equal(t, object.Fields("spec"), docs.Workloads[1].InputPath())
	require.Empty(t, docs.Workloads[2].Name, "what it is called is said when it is decoded")
	require.True(t, docs.Incomplete)
}

func TestAWorkloadAndATransformShareNames(t *testing.T) {
	_, err := spec.Parse([]spec.File{
		{Name: "score.yaml", Data: []byte("apiVersion: score.dev/v1b1\nmetadata: {name: web}\n")},
		{Name: "b.yaml", Data: []byte("apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\n" +
			"spec: {cueRef: {type: embedded, ref: webservice}}\n")},
	})
	require.EqualError(t, err,
		`score.yaml:2:18: spec: metadata.name: a second spec is called "web"; the first is at b.yaml:3:18`)
}

const projectHead = "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec:\n"

func TestAnEnvironmentLiesOverWhatAProjectSaysOfWorkloads(t *testing.T) {
	docs, err := spec.Parse([]spec.File{{Name: "ropewalk.yaml", Data: []byte(projectHead + `
  workloads:
    provisioners:
      - {name: team, cueRef: {type: path, ref: ./provisioners}}
    secrets: {refreshInterval: 10m}
    network: {policies: [istio, cilium], mesh: ambient, routesFrom: gateways, trustDomain: td_1.example, dns: {namespace: openshift-dns, labels: {dns: default}, port: 5353}}
    canary: {provider: "gatewayapi:v1"}
    config: {domain: example.com, gateway: {name: public}}
  environments:
    prod:
      workloads:
        secrets: {store: {name: prod, provider: {gcp: {projectID: shop-prod}}}}
        network: {dns: {cidr: 169.254.20.10/32}}
        config: {domain: example.org}
    dev:
      workloads: {secrets: {backend: kubernetes}}
`)}})
	require.NoError(t, err)
	none, err := docs.Projects[0].Workloads("")
	require.NoError(t, err)
	require.Equal(t, "default", none.Secrets.StoreName)
	require.Equal(t, []string{"cilium", "istio"}, none.Policies)
	require.Equal(t, "team", none.Provisioners[0].Name)
	network := spec.Network{
		Ambient: true, RoutesFrom: "gateways", TrustDomain: "td_1.example", DNS: spec.DNS{Namespace: "openshift-dns", Labels: map[string]string{"dns": "default"}, Port: 5353},
	}
	require.Equal(t, network, none.Network)
	require.Equal(t, "gatewayapi:v1", none.CanaryProvider)

	prod, err := docs.Projects[0].Workloads("prod")
	require.NoError(t, err)
	require.Equal(t, "prod", prod.Secrets.StoreName)
	require.Equal(t, "ClusterSecretStore", prod.Secrets.StoreKind)
	require.Equal(t, "10m", prod.Secrets.RefreshInterval)
	network.DNS.CIDR = "169.254.20.10/32"
	require.Equal(t, network, prod.Network)
	require.JSONEq(t, `{"gcpsm": {"projectID": "shop-prod"}}`, string(prod.Secrets.Provider.JSON()))
	require.JSONEq(t, `{"domain": "example.org", "gateway": {"name": "public"}}`, string(prod.Config.JSON()))

	dev, err := docs.Projects[0].Workloads("dev")
	require.NoError(t, err)
	require.Equal(t, spec.BackendKubernetes, dev.Secrets.Backend)
}

func TestWorkloadsOfAProjectThatSayNothing(t *testing.T) {
	w, err := spec.Project{}.Workloads("")
	require.NoError(t, err)
	require.Equal(t, "workload", w.Module.Ref)
	require.Equal(t, spec.BackendExternalSecrets, w.Secrets.Backend)
	require.Equal(t, "1h", w.Secrets.RefreshInterval)
	require.Zero(t, w.Network)
	require.Empty(t, w.CanaryProvider, "routes decide")
}

func TestMistakesInTheNetworkOfAProject(t *testing.T) {
	_, err := spec.Parse([]spec.File{{Name: "p.yaml", Data: []byte(projectHead + `
  workloads:
    network:
      mesh: none
      routesFrom: Gate
      dns: {port: 70000, cidr: 169.254.20.10, labels: {a: 1}}
    canary: {provider: traefik}
  environments:
    a: {workloads: {network: {trustDomain: "*"}}}
    b: {workloads: {network: {trustDomain: ""}}}
    c: {workloads: {network: {trustDomain: 5}}}
`)}})
	for _, want := range []string{
		`p.yaml:8:13: spec: spec.workloads.network.mesh: "none" is not known: expected sidecar, ambient`,
		`p.yaml:9:19: spec: spec.workloads.network.routesFrom: "Gate" `,
		`p.yaml:10:19: spec: spec.workloads.network.dns.port: 70000 is out of range: expected 1 to 65535`,
		`p.yaml:10:32: spec: spec.workloads.network.dns.cidr: "169.254.20.10" is not a range of addresses: expected one such as 169.254.20.10/32`,
		`p.yaml:10:59: spec: spec.workloads.network.dns.labels.a: expected a string, got a number`,
		`p.yaml:11:24: spec: spec.workloads.canary.provider: "traefik" is not known: expected gatewayapi:v1, istio, kubernetes, linkerd, nginx`,
		`p.yaml:13:44: spec: spec.environments.a.workloads.network.trustDomain: "*" is not a trust domain (write meshConfig.trustDomain of Istio, such as cluster.local)`,
		`p.yaml:14:44: spec: spec.environments.b.workloads.network.trustDomain: "" is not a trust domain`,
		`p.yaml:15:44: spec: spec.environments.c.workloads.network.trustDomain: expected a string, got a number`,
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestMistakesInWhatAProjectSaysOfWorkloads(t *testing.T) {
	_, err := spec.Parse([]spec.File{{Name: "p.yaml", Data: []byte(projectHead + `
  workloads:
    provisioner: []
    provisioners: [{cueRef: {type: path, ref: a}}, {name: b}]
    secrets:
      backend: sealed
      refreshInterval: 1d
      store: {kind: Store, provider: {gcp: {}, aws: {}}}
    network: {policies: [calico, istio, istio]}
  environments:
    prod: {workloads: {config: 3}}
`)}})
	require.Error(t, err)
	require.Len(t, strings.Split(err.Error(), "\n"), 11)
	for i, line := range strings.Split(err.Error(), "\n") {
		require.Contains(t, line, []string{
			`p.yaml:7:5: spec: spec.workloads.provisioner: unknown field "provisioner" (did you mean "provisioners"?`,
			`p.yaml:8:20: spec: spec.workloads.provisioners[0].name: is missing`,
			`p.yaml:8:52: spec: spec.workloads.provisioners[1].cueRef: is missing (write cueRef: {type: path, ref: ./modules/NAME}, or another type: embedded, inline, configmap, git, oci, source)`,
			`p.yaml:10:16: spec: spec.workloads.secrets.backend: "sealed" is not known: expected external-secrets, kubernetes`,
			`p.yaml:11:24: spec: spec.workloads.secrets.refreshInterval: "1d" is not a duration`,
			`p.yaml:12:14: spec: spec.workloads.secrets.store.name: is missing`,
			`p.yaml:12:21: spec: spec.workloads.secrets.store.kind: "Store" is not known`,
			`p.yaml:12:48: spec: spec.workloads.secrets.store.provider: expected at most 1 field, got 2`,
			`p.yaml:13:26: spec: spec.workloads.network.policies[0]: "calico" is not known`,
			`p.yaml:13:41: spec: spec.workloads.network.policies[2]: "istio" is written twice`,
			`p.yaml:15:32: spec: spec.environments.prod.workloads.config: expected a map, got a number`,
		}[i])
	}
}
