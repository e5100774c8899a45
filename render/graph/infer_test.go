// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// objects reads nodes of one spec from a YAML map of names to objects; the
// object is in namespace p unless it says otherwise or is of cluster scope.
func objects(t testing.TB, text string) []*object.Node {
	t.Helper()
	var all map[string]map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &all))
	var nodes []*object.Node
	for _, name := range object.SortedKeys(all) {
		o := object.Object(all[name])
		meta, ok := o["metadata"].(map[string]any)
		if !ok {
			meta = map[string]any{}
			o["metadata"] = meta
		}
		if meta["name"] == nil {
			meta["name"] = name
		}
		if meta["namespace"] == nil {
			meta["namespace"] = "p"
		}
		if meta["namespace"] == "" {
			delete(meta, "namespace")
		}
		nodes = append(nodes, &object.Node{ID: object.MakeID("s", name), Object: o})
	}
	return nodes
}

// inferred writes edges with the field that makes them.
func inferredEdges(t testing.TB, text string) []string {
	t.Helper()
	g, err := graph.Build(objects(t, text), nil)
	require.NoError(t, err)
	var out []string
	for _, e := range g.Edges {
		require.False(t, e.Explicit)
		out = append(out, fmt.Sprintf("%s -> %s %s %s", e.From.Node(), e.To.Node(), e.Rule, e.Path))
	}
	return out
}

const (
	crb      = "apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding"
	role     = "apiVersion: rbac.authorization.k8s.io/v1, kind: Role"
	rb       = "apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding"
	deploy   = "apiVersion: apps/v1, kind: Deployment"
	svc      = "apiVersion: v1, kind: Service"
	secret   = "apiVersion: v1, kind: Secret"
	cluster  = "metadata: {namespace: ''}"
	template = "spec: {template: {metadata: {labels: {app: web}}, spec: {containers: []}}}"
)

// inferredCases are objects and the edges that follow from them.
var inferredCases = map[string]struct {
	objects string
	want    []string
}{
	"a Namespace": {
		"ns: {apiVersion: v1, kind: Namespace, metadata: {name: p, namespace: ''}}\ns: {" + svc + "}",
		[]string{"s -> ns namespace metadata.namespace"},
	},
	"a definition of custom resources, by group and kind": {
		`
x: {apiVersion: e.io/v1, kind: X}
y: {apiVersion: other.io/v1, kind: X}
crd: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, ` + cluster + `, spec: {group: e.io, names: {kind: X}}}`,
		[]string{"x -> crd crd kind"},
	},
	"a Role, its subject, and the workload that uses the account": {
		`
role: {` + role + `}
bind: {` + rb + `, roleRef: {kind: Role, name: role}, subjects: [{kind: ServiceAccount, name: me}, {kind: User, name: you}]}
all: {` + crb + `, ` + cluster + `, subjects: [{kind: ServiceAccount, name: me, namespace: p}]}
me: {apiVersion: v1, kind: ServiceAccount}
web: {` + deploy + `, spec: {template: {spec: {serviceAccountName: me, containers: []}}}}`,
		[]string{
			"all -> me role subjects[0].name",
			"bind -> me role subjects[0].name", "bind -> role role roleRef.name",
			"web -> all role spec.template.spec.serviceAccountName",
			"web -> bind role spec.template.spec.serviceAccountName",
			"web -> me serviceAccount spec.template.spec.serviceAccountName",
		},
	},
	"the default account, where the render has it": {
		"default: {apiVersion: v1, kind: ServiceAccount}\nweb: {" + deploy + ", " + template + "}",
		[]string{"web -> default serviceAccount spec.template.spec"},
	},
	"storage": {
		`
fast: {apiVersion: storage.k8s.io/v1, kind: StorageClass, ` + cluster + `}
pv: {apiVersion: v1, kind: PersistentVolume, ` + cluster + `, spec: {storageClassName: fast}}
pvc: {apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: fast, volumeName: pv}}
db: {apiVersion: apps/v1, kind: StatefulSet, spec: {volumeClaimTemplates: [{spec: {storageClassName: fast}}]}}`,
		[]string{
			"db -> fast class spec.volumeClaimTemplates[0].spec.storageClassName",
			"pv -> fast class spec.storageClassName",
			"pvc -> fast class spec.storageClassName", "pvc -> pv persistentVolume spec.volumeName",
		},
	},
	"an Ingress: class, certificate and backends": {
		`
fast: {apiVersion: networking.k8s.io/v1, kind: IngressClass, ` + cluster + `}
cert: {apiVersion: cert-manager.io/v1, kind: Certificate, spec: {secretName: tls, issuerRef: {name: ca, kind: ClusterIssuer}}}
ca: {apiVersion: cert-manager.io/v1, kind: ClusterIssuer, ` + cluster + `}
one: {` + svc + `}
two: {` + svc + `}
in:
  {apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {ingressClassName: fast, tls: [{secretName: tls}],
  defaultBackend: {service: {name: one}}, rules: [{http: {paths: [{backend: {service: {name: two}}}]}}]}}`,
		[]string{
			"cert -> ca reference spec.issuerRef.name",
			"in -> cert secret spec.tls[0].secretName", "in -> fast class spec.ingressClassName",
			"in -> one service spec.defaultBackend.service.name",
			"in -> two service spec.rules[0].http.paths[0].backend.service.name",
		},
	},
	"the Gateway API": {
		`
class: {apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, ` + cluster + `}
tls: {` + secret + `, metadata: {namespace: certs}}
gw: {apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, spec: {gatewayClassName: class, listeners: [{tls: {certificateRefs: [{name: tls, namespace: certs}]}}]}}
s: {` + svc + `}
route: {apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: s}]}]}}`,
		[]string{
			"gw -> class class spec.gatewayClassName",
			"gw -> tls secret spec.listeners[0].tls.certificateRefs[0].name",
			"route -> gw reference spec.parentRefs[0].name",
			"route -> s service spec.rules[0].backendRefs[0].name",
		},
	},
	"a route of Traefik": {
		`
route:
  apiVersion: traefik.io/v1alpha1
  kind: IngressRoute
  spec:
    tls: {secretName: tls}
    routes: [{services: [{name: s, serversTransport: slow}], middlewares: [{name: limit}]}]
s: {` + svc + `, spec: {}}
tls: {` + secret + `}
slow: {apiVersion: traefik.io/v1alpha1, kind: ServersTransport, spec: {}}
limit: {apiVersion: traefik.io/v1alpha1, kind: Middleware, spec: {}}`,
		[]string{
			"route -> limit reference spec.routes[0].middlewares[0].name",
			"route -> s service spec.routes[0].services[0].name",
			"route -> slow reference spec.routes[0].services[0].serversTransport",
			"route -> tls secret spec.tls.secretName",
		},
	},
	"what scales and what guards a workload": {
		`
web: {` + deploy + `, ` + template + `}
hpa: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}
keda: {apiVersion: keda.sh/v1alpha1, kind: ScaledObject, spec: {scaleTargetRef: {name: web}, triggers: [{authenticationRef: {name: auth}}]}}
auth: {apiVersion: keda.sh/v1alpha1, kind: TriggerAuthentication, spec: {secretTargetRef: [{name: token}]}}
token: {` + secret + `}
pdb: {apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {selector: {matchLabels: {app: web}}}}
other: {apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {selector: {matchLabels: {app: web, tier: x}}}}
canary: {apiVersion: flagger.app/v1beta1, kind: Canary, spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`,
		[]string{
			"auth -> token secret spec.secretTargetRef[0].name",
			"canary -> web scaleTarget spec.targetRef.name",
			"hpa -> web scaleTarget spec.scaleTargetRef.name",
			"keda -> auth reference spec.triggers[0].authenticationRef.name",
			"keda -> web scaleTarget spec.scaleTargetRef.name",
			"pdb -> web selector spec.selector.matchLabels",
		},
	},
	"a webhook, its Service, the workload behind it, and what it validates": {
		`
hook:
  apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingWebhookConfiguration
  ` + cluster + `
  webhooks:
  - {clientConfig: {service: {name: s, namespace: p}}, rules: [{apiGroups: [e.io], resources: [xs]}]}
  - {clientConfig: {service: {name: s, namespace: p}}, failurePolicy: Ignore, rules: [{apiGroups: [e.io], resources: ['*']}]}
s: {` + svc + `, spec: {selector: {app: web}}}
web: {` + deploy + `, ` + template + `}
api: {apiVersion: apiregistration.k8s.io/v1, kind: APIService, ` + cluster + `, spec: {service: {name: s, namespace: p}}}
crd: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, ` + cluster + `, spec: {group: e.io, names: {kind: X, plural: xs}}}
crd2: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, ` + cluster + `, spec: {group: e.io, names: {kind: Y, plural: ys}}}
x: {apiVersion: e.io/v1, kind: X}
y: {apiVersion: e.io/v1, kind: Y}`,
		[]string{
			"api -> s service spec.service.name", "api -> web webhook spec.service.name",
			"hook -> s service webhooks[0].clientConfig.service.name",
			"hook -> web webhook webhooks[0].clientConfig.service.name",
			"x -> crd crd kind", "x -> hook webhook kind",
			"y -> crd2 crd kind",
		},
	},
	"owners, and references of any custom resource": {
		`
owner: {apiVersion: e.io/v1, kind: X, spec: {auth: [{passwordSecretRef: {name: token}}], configMapRef: {name: conf}}}
owned: {` + svc + `, metadata: {ownerReferences: [{apiVersion: e.io/v1, kind: X, name: owner}]}}
token: {` + secret + `}
conf: {apiVersion: v1, kind: ConfigMap}`,
		[]string{
			"owned -> owner owner metadata.ownerReferences[0].name",
			"owner -> conf configMap spec.configMapRef.name",
			"owner -> token secret spec.auth[0].passwordSecretRef.name",
		},
	},
	"limits of the namespace": {
		"limit: {apiVersion: v1, kind: LimitRange}\nweb: {" + deploy + ", " + template + "}",
		[]string{"web -> limit quota metadata.namespace"},
	},
	"another namespace is another object": {
		"me: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: q}}\n" +
			"web: {" + deploy + ", spec: {template: {spec: {containers: [{envFrom: [{configMapRef: {name: me}}]}]}}}}",
		nil,
	},
}

func TestInferredEdges(t *testing.T) {
	for name, c := range inferredCases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, inferredEdges(t, c.objects)) })
	}
}

// podTemplate uses one of everything.
const podTemplate = `{
  imagePullSecrets: [{name: pull}], priorityClassName: high, runtimeClassName: kata,
  initContainers: [{env: [{valueFrom: {configMapKeyRef: {name: c1}}}]}],
  containers: [{env: [{valueFrom: {secretKeyRef: {name: s1}}}], envFrom: [{secretRef: {name: s2}}, {configMapRef: {name: c2}}]}],
  volumes: [{secret: {secretName: s3}}, {configMap: {name: c3}}, {persistentVolumeClaim: {claimName: data}},
    {projected: {sources: [{secret: {name: s4}}, {configMap: {name: c4}}]}}]}`

func TestPodsOfEveryKindAreFound(t *testing.T) {
	parts := "pull: {" + secret + "}\ndata: {apiVersion: v1, kind: PersistentVolumeClaim}\n" +
		"high: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, " + cluster + "}\n" +
		"kata: {apiVersion: node.k8s.io/v1, kind: RuntimeClass, " + cluster + "}\n"
	for i := 1; i <= 4; i++ {
		parts += fmt.Sprintf("s%d: {%s}\nc%d: {apiVersion: v1, kind: ConfigMap}\n", i, secret, i)
	}
	kinds := map[string]string{
		"Pod":                "w: {apiVersion: v1, kind: Pod, spec: " + podTemplate + "}",
		"CronJob":            "w: {apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: " + podTemplate + "}}}}}",
		"Rollout, unknown":   "w: {apiVersion: argoproj.io/v1alpha1, kind: Rollout, spec: {template: {spec: " + podTemplate + "}}}",
		"Deployment":         "w: {apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: " + podTemplate + "}}}",
		"StatefulSet":        "w: {apiVersion: apps/v1, kind: StatefulSet, spec: {template: {spec: " + podTemplate + "}}}",
		"DaemonSet":          "w: {apiVersion: apps/v1, kind: DaemonSet, spec: {template: {spec: " + podTemplate + "}}}",
		"ReplicaSet":         "w: {apiVersion: apps/v1, kind: ReplicaSet, spec: {template: {spec: " + podTemplate + "}}}",
		"Job, not the other": "w: {apiVersion: batch/v1, kind: Job, spec: {template: {spec: " + podTemplate + "}}}",
	}
	for name, text := range kinds {
		t.Run(name, func(t *testing.T) {
			g, err := graph.Build(objects(t, parts+text), nil)
			require.NoError(t, err)
			var got []string
			for _, e := range g.Edges {
				got = append(got, e.To.Node())
			}
			require.Equal(t, []string{"c1", "c2", "c3", "c4", "data", "high", "kata", "pull", "s1", "s2", "s3", "s4"}, got)
		})
	}
}

func TestSecretsAreFoundWhereTheyAreMade(t *testing.T) {
	producers := map[string]string{
		"Certificate":      "maker: {apiVersion: cert-manager.io/v1, kind: Certificate, spec: {secretName: token}}",
		"ExternalSecret":   "maker: {apiVersion: external-secrets.io/v1, kind: ExternalSecret, spec: {target: {name: token}}}",
		"its own name":     "maker: {apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: token}}",
		"SealedSecret":     "maker: {apiVersion: bitnami.com/v1alpha1, kind: SealedSecret, metadata: {name: token}}",
		"VaultPKISecret":   "maker: {apiVersion: secrets.hashicorp.com/v1beta1, kind: VaultPKISecret, spec: {destination: {name: token}}}",
		"Crossplane":       "maker: {apiVersion: rds.aws.upbound.io/v1, kind: Instance, " + cluster + ", spec: {writeConnectionSecretToRef: {name: token, namespace: p}}}",
		"the Secret first": "maker: {" + secret + ", metadata: {name: token}}\nother: {apiVersion: cert-manager.io/v1, kind: Certificate, spec: {secretName: token}}",
	}
	pod := "\nweb: {apiVersion: v1, kind: Pod, spec: {volumes: [{secret: {secretName: token}}]}}"
	for name, text := range producers {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []string{"web -> maker secret spec.volumes[0].secret.secretName"}, inferredEdges(t, text+pod))
		})
	}
	pod = "\nweb: {apiVersion: v1, kind: Pod, spec: {volumes: [{secret: {secretName: maker-app}}]}}"
	text := "maker: {apiVersion: postgresql.cnpg.io/v1, kind: Cluster}"
	require.Equal(t, []string{"web -> maker secret spec.volumes[0].secret.secretName"}, inferredEdges(t, text+pod))
}

func TestInferredEdgesGiveWayToExplicitOnes(t *testing.T) {
	nodes := objects(t, `
apart: {apiVersion: v1, kind: Pod, spec: {volumes: [{configMap: {name: conf}}]}}
conf: {apiVersion: v1, kind: ConfigMap}
web: {apiVersion: v1, kind: Pod, spec: {volumes: [{configMap: {name: conf}}]}}`)
	nodes[1].DependsOn = []object.Dependency{{ID: "s/web"}}
	g, err := graph.Build(nodes, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"s/apart -> s/conf configMap", "s/conf -> s/web dependsOn"}, lines(g))
	require.Len(t, g.Dropped, 1)
	require.Equal(t, graph.RuleConfigMap, g.Dropped[0].Rule)
}

func TestInferredEdgesGiveWayToJoins(t *testing.T) {
	nodes := objects(t, `
conf: {apiVersion: v1, kind: ConfigMap}
web: {apiVersion: v1, kind: Pod, spec: {volumes: [{configMap: {name: conf}}]}}`)
	nodes[0].ID = "late/conf"
	g, err := graph.Build(nodes, []graph.Spec{spec("late", "s")})
	require.NoError(t, err)
	require.Equal(t, []string{"late => s spec"}, lines(g))
	require.Len(t, g.Dropped, 1)
}

// An operator whose own webhook serves with a certificate that a resource of
// its own asks for.
func TestTheLeastCertainOfInferredEdgesGivesWay(t *testing.T) {
	g, err := graph.Build(objects(t, `
hook:
  apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingWebhookConfiguration
  webhooks: [{clientConfig: {service: {name: s, namespace: p}}, rules: [{apiGroups: [cert-manager.io], resources: [certificates]}]}]
s: {apiVersion: v1, kind: Service, spec: {selector: {app: web}}}
web: {apiVersion: apps/v1, kind: Deployment, spec: {template: {metadata: {labels: {app: web}}, spec: {containers: [], volumes: [{secret: {secretName: tls}}]}}}}
crd: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: cert-manager.io, names: {kind: Certificate, plural: certificates}}}
cert: {apiVersion: cert-manager.io/v1, kind: Certificate, spec: {secretName: tls}}`), nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		"s/cert -> s/crd crd", "s/hook -> s/s service", "s/hook -> s/web webhook", "s/web -> s/cert secret",
	}, lines(g))
	require.Len(t, g.Dropped, 1)
	require.Equal(t, object.ID("s/cert"), g.Dropped[0].From)
	require.Equal(t, object.ID("s/hook"), g.Dropped[0].To)
}
