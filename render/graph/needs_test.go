// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

const needing = `
apiVersion: v1
kind: ConfigMap
metadata: {name: made, namespace: a}
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: produced, namespace: a}
spec: {secretStoreRef: {kind: ClusterSecretStore, name: vault}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: ours, namespace: a}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: a}
spec:
  template:
    spec:
      serviceAccountName: default
      priorityClassName: system-node-critical
      imagePullSecrets: [{name: registry}]
      containers:
      - name: api
        envFrom:
        - configMapRef: {name: made}
        - configMapRef: {name: other}
        - configMapRef: {name: perhaps, optional: true}
        - secretRef: {name: produced}
        - secretRef: {name: registry}
        env:
        - {name: A, valueFrom: {secretKeyRef: {name: maybe, key: k, optional: true}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: a, annotations: {cert-manager.io/cluster-issuer: acme}}
spec: {ingressClassName: nginx, tls: [{secretName: web-tls}], rules: [{http: {paths: [{backend: {service: {name: api}}}]}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web2, namespace: a, annotations: {cert-manager.io/issuer: ours, kubernetes.io/ingress.class: nginx}}
spec: {tls: [{secretName: web2-tls}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: view, namespace: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: later}]
---
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: own}
spec: {acme: {privateKeySecretRef: {name: account}}}
---
apiVersion: external-secrets.io/v1
kind: ClusterSecretStore
metadata: {name: store}
spec: {provider: {vault: {auth: {tokenSecretRef: {name: token, namespace: vault}}}}}
---
apiVersion: external-secrets.io/v1
kind: SecretStore
metadata: {name: aws, namespace: a}
spec: {provider: {aws: {auth: {secretRef: {accessKeyIDSecretRef: {name: key}}}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: old, namespace: a, annotations: {kubernetes.io/ingress.class: traefik}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: chart, namespace: a}
spec: {chart: {spec: {sourceRef: {kind: HelmRepository, name: charts, namespace: flux}}}, valuesFrom: [{kind: Secret, name: values}, {kind: ConfigMap, name: perhaps, optional: true}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: a}
spec:
  containers: []
  volumes:
  - {name: v, csi: {driver: secrets-store.csi.k8s.io, volumeAttributes: {secretProviderClass: azure}}}
  - {name: w, azureFile: {secretName: share}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web3, namespace: a, annotations: {cert-manager.io/issuer: theirs, kubernetes.io/ingress.class: nginx}}
spec: {tls: [{secretName: web3-tls}]}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: a}
spec: {sourceRef: {kind: GitRepository, name: repo}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: made, namespace: a}
spec: {sourceRef: {kind: OCIRepository, name: made}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: made, namespace: a}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: other, namespace: a}
spec: {chartRef: {kind: OCIRepository, name: chart}}
---
apiVersion: v1
kind: Pod
metadata: {name: tls, namespace: a}
spec: {containers: [], volumes: [{name: t, secret: {secretName: web3-tls}}, {name: u, secret: {secretName: gate-tls}}, {name: v, secret: {secretName: plain-tls}}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gate, namespace: a, annotations: {cert-manager.io/issuer: ours}}
spec: {listeners: [{tls: {certificateRefs: [{name: gate-tls}]}}]}
`

// What objects name is a need unless the render has it or makes it, the reference is optional,
// or every cluster has it.
func TestNeedsAreWhatNoObjectAnswers(t *testing.T) {
	var nodes []*object.Node
	for i, text := range strings.Split(needing, "---\n") {
		nodes = append(nodes, node(t, fmt.Sprintf("a/%d", i), text))
	}
	g, err := graph.Build(nodes, nil)
	require.NoError(t, err)
	var got []string
	for _, n := range g.Needs {
		got = append(got, fmt.Sprintf("%s %s/%s: %s at %s", n.Ref.GroupKind(), n.Ref.Namespace, n.Ref.Name, n.From, n.Path))
	}
	require.Equal(t, []string{
		"ConfigMap a/other: a/3 at spec.template.spec.containers[0].envFrom[1].configMapRef.name",
		"Namespace /a: a/0 at metadata.namespace",
		"Secret a/key: a/9 at spec.provider.aws.auth.secretRef.accessKeyIDSecretRef.name",
		"Secret a/plain-tls: a/18 at spec.volumes[2].secret.secretName",
		"Secret a/registry: a/3 at spec.template.spec.imagePullSecrets[0].name",
		"Secret a/share: a/12 at spec.volumes[1].azureFile.secretName",
		"Secret a/values: a/11 at spec.valuesFrom[0].name",
		"Secret vault/token: a/8 at spec.provider.vault.auth.tokenSecretRef.name",
		"Service a/api: a/4 at spec.rules[0].http.paths[0].backend.service.name",
		`ClusterIssuer.cert-manager.io /acme: a/4 at metadata.annotations["cert-manager.io/cluster-issuer"]`,
		`Issuer.cert-manager.io a/theirs: a/13 at metadata.annotations["cert-manager.io/issuer"]`,
		"ClusterSecretStore.external-secrets.io /vault: a/1 at spec.secretStoreRef.name",
		"IngressClass.networking.k8s.io /nginx: a/4 at spec.ingressClassName",
		"SecretProviderClass.secrets-store.csi.x-k8s.io a/azure: a/12 at spec.volumes[0].csi.volumeAttributes.secretProviderClass",
		"GitRepository.source.toolkit.fluxcd.io a/repo: a/14 at spec.sourceRef.name",
		"HelmRepository.source.toolkit.fluxcd.io flux/charts: a/11 at spec.chart.spec.sourceRef.name",
		"OCIRepository.source.toolkit.fluxcd.io a/chart: a/17 at spec.chartRef.name",
	}, got)
}
