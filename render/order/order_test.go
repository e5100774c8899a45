// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// parse reads nodes from a YAML map of ids to objects, which may have the
// fields deps and ready beside those of Kubernetes.
func parse(t testing.TB, text string) []*object.Node {
	t.Helper()
	var all map[string]map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &all))
	var nodes []*object.Node
	for i, id := range object.SortedKeys(all) {
		n := &object.Node{ID: object.ID(id), Object: all[id], SpecPos: object.Pos{File: object.ID(id).Spec() + ".yaml", Line: 1}}
		deps, _ := all[id]["deps"].([]any)
		for _, d := range deps {
			n.DependsOn = append(n.DependsOn, object.Dependency{
				ID: object.ID(d.(string)), Pos: object.Pos{File: "m.cue", Line: i + 1, Column: 3},
			})
		}
		ready, _ := all[id]["ready"].([]any)
		for _, r := range ready {
			n.ReadyWhen = append(n.ReadyWhen, object.Ready{Type: r.(string)})
		}
		delete(all[id], "deps")
		delete(all[id], "ready")
		nodes = append(nodes, n)
	}
	return nodes
}

func plan(t testing.TB, engine string, nodes []*object.Node, specs ...graph.Spec) *order.Plan {
	t.Helper()
	g, err := graph.Build(nodes, specs)
	require.NoError(t, err)
	return order.New(g, engineOf(t, engine))
}

func engineOf(t testing.TB, name string) dialect.Dialect {
	t.Helper()
	d, err := dialect.Find(dialect.Name(name))
	require.NoError(t, err)
	return d
}

// waves writes a plan as one line for each wave.
func waves(p *order.Plan) []string {
	var out []string
	for _, w := range p.Waves {
		var ids []string
		for _, n := range w.Nodes {
			ids = append(ids, string(n.ID))
		}
		out = append(out, strings.Join(ids, " "))
	}
	return out
}

func dependsOn(name, on string) graph.Spec {
	return graph.Spec{Name: name, DependsOn: []object.SpecDependency{{
		Name: on, Pos: object.Pos{File: "shop.yaml", Line: 12, Column: 9},
	}}}
}

const (
	namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`
	settings  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}}`
	stateful  = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop}}`
)

// waveCases are nodes and the waves that each engine gets.
var waveCases = map[string]struct {
	nodes string
	specs []graph.Spec
	// want holds for every engine but those in other.
	want  []string
	other map[string][]string
}{
	"passive kinds share a wave with the workload that uses them": {
		nodes: `
a/ns: ` + namespace + `
a/config: ` + settings + `
a/account: {apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: shop}}
a/web:
  {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template: {spec:
  {serviceAccountName: web, containers: [{envFrom: [{configMapRef: {name: settings}}]}]}}}}`,
		want: []string{"a/ns a/account a/config a/web"},
	},
	"a workload that depends on a workload opens a wave": {
		nodes: `
a/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, deps: [b/db]}
b/db: ` + stateful,
		want: []string{"b/db", "a/web"},
	},
	"a dependency that only has to exist opens none": {
		nodes: `
a/web: {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web, namespace: shop}, deps: [b/db]}
b/db: {apiVersion: apps/v1, kind: Deployment, metadata: {name: db, namespace: shop}, ready: [Exists]}`,
		want: []string{"b/db a/web"},
	},
	"a custom resource shares the wave of its definition": {
		nodes: `
a/crd: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {group: e.io, names: {kind: X, plural: xs}}}
a/x: {apiVersion: e.io/v1, kind: X, metadata: {name: x}}`,
		want: []string{"a/crd a/x"},
	},
	"a custom resource without its definition stays where edges put it": {
		nodes: `
a/x: {apiVersion: e.io/v1, kind: X, metadata: {name: x}, deps: [a/op]}
a/op: {apiVersion: apps/v1, kind: Deployment, metadata: {name: op}}`,
		want: []string{"a/op", "a/x"},
	},
	"an order against the engine's opens a wave, unless the engine keeps ours": {
		nodes: `
a/config: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, deps: [a/service]}
a/service: {apiVersion: v1, kind: Service, metadata: {name: s}}`,
		want:  []string{"a/service", "a/config"},
		other: map[string][]string{"plain": {"a/service a/config"}},
	},
	"objects of one kind are applied at once by Argo CD, and by name by Flux": {
		nodes: `
a/one: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
a/two: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, deps: [a/one]}`,
		want:  []string{"a/one a/two"},
		other: map[string][]string{"argocd": {"a/one", "a/two"}},
	},
	"a spec waits for what must be ready in another": {
		nodes: `
api/config: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
api/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
db/service: {apiVersion: v1, kind: Service, metadata: {name: s}}
db/db: ` + stateful,
		specs: []graph.Spec{dependsOn("api", "db"), {Name: "db"}},
		want:  []string{"db/service db/db", "api/config api/web"},
	},
	"an autoscaler and a budget settle beside their target": {
		nodes: `
a/hpa: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: shop}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}}}
a/db: ` + stateful,
		want:  []string{"a/db a/hpa"},
		other: map[string][]string{"argocd": {"a/hpa a/db"}},
	},
	"an autoscaler goes to the last wave of Argo CD, which waits for its controller": {
		nodes: `
a/hpa: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: shop}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}
a/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}
b/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: other}}`,
		specs: []graph.Spec{dependsOn("b", "a")},
		want:  []string{"a/web a/hpa", "b/web"},
		other: map[string][]string{"argocd": {"a/web", "b/web a/hpa"}},
	},
	"an autoscaler stays beside the canary that waits for it": {
		nodes: `
a/canary:
  apiVersion: flagger.app/v1beta1
  kind: Canary
  metadata: {name: web, namespace: shop}
  spec:
    targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
    autoscalerRef: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: h}
a/hpa: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: shop}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}
a/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}
b/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: other}}`,
		specs: []graph.Spec{dependsOn("b", "a")},
		want:  []string{"a/web a/hpa a/canary", "b/web"},
	},
	"an autoscaler that a dependency names is waited for": {
		nodes: `
a/hpa: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}}
a/job: {apiVersion: batch/v1, kind: Job, metadata: {name: j}, deps: [a/hpa]}`,
		want:  []string{"a/hpa a/job"},
		other: map[string][]string{"argocd": {"a/hpa", "a/job"}},
	},
	"a claim shares the wave of its first user": {
		nodes: `
a/claim: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}}
a/job: {apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: shop}}
a/web:
  {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, deps: [a/job, a/claim], spec: {template: {spec:
  {containers: [], volumes: [{persistentVolumeClaim: {claimName: data}}]}}}}`,
		want:  []string{"a/job", "a/claim a/web"},
		other: map[string][]string{"flux": {"a/job", "a/web a/claim"}},
	},
	"of two users of a claim the first one counts": {
		nodes: `
a/claim: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}}
a/job: {apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: shop}}
a/early: {apiVersion: v1, kind: Pod, metadata: {name: e, namespace: shop}, spec: {volumes: [{persistentVolumeClaim: {claimName: data}}]}}
a/late: {apiVersion: v1, kind: Pod, metadata: {name: l, namespace: shop}, deps: [a/job], spec: {volumes: [{persistentVolumeClaim: {claimName: data}}]}}`,
		want:  []string{"a/claim a/early a/job", "a/late"},
		other: map[string][]string{"flux": {"a/claim a/early a/job", "a/late"}},
	},
	"a claim whose user follows, as a spec, what waits for the claim": {
		nodes: `
store/claim: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}}
fill/job: {apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: shop}, deps: [store/claim]}
web/pod: {apiVersion: v1, kind: Pod, metadata: {name: w, namespace: shop}, spec: {volumes: [{persistentVolumeClaim: {claimName: data}}]}}`,
		specs: []graph.Spec{dependsOn("web", "fill")},
		want:  []string{"store/claim", "fill/job", "web/pod"},
	},
	"users of a claim that follow each other inside a wave": {
		nodes: `
a/cron: {apiVersion: batch/v1, kind: CronJob, metadata: {name: z, namespace: shop}, ready: [Exists], spec: {jobTemplate: {spec: {template: {spec: {volumes: [{persistentVolumeClaim: {claimName: data}}]}}}}}}
b/claim: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}}
b/cron: {apiVersion: batch/v1, kind: CronJob, metadata: {name: a, namespace: shop}, ready: [Exists], spec: {jobTemplate: {spec: {template: {spec: {volumes: [{persistentVolumeClaim: {claimName: data}}]}}}}}}`,
		specs: []graph.Spec{dependsOn("a", "b")},
		want:  []string{"b/claim b/cron a/cron"},
		other: map[string][]string{"argocd": {"b/claim b/cron", "a/cron"}, "flux": {"b/cron a/cron b/claim"}},
	},
	"a bare Pod is refused without its PriorityClass": {
		nodes: `
a/class: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}}
a/pod: {apiVersion: v1, kind: Pod, metadata: {name: w, namespace: shop}, spec: {priorityClassName: high}}`,
		want:  []string{"a/class a/pod"},
		other: map[string][]string{"argocd": {"a/class", "a/pod"}},
	},
	"a claim that binds at once may be waited for": {
		nodes: `
a/class: {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, volumeBindingMode: Immediate}
a/claim: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}, spec: {storageClassName: fast}}
a/job: {apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: shop}, deps: [a/claim]}`,
		want: []string{"a/class a/claim", "a/job"},
	},
	"an Ingress goes to the last wave where the engine waits for its address": {
		nodes: `
a/service: {apiVersion: v1, kind: Service, metadata: {name: web}}
a/ingress: {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}, spec: {defaultBackend: {service: {name: web}}}}
a/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
b/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: other}}`,
		specs: []graph.Spec{dependsOn("b", "a"), {Name: "a"}},
		want:  []string{"a/service a/web", "b/web a/ingress"},
		other: map[string][]string{"flux": {"a/service a/web a/ingress", "b/web"}},
	},
	"a route comes with the canary that makes its Service, and holds nobody up": {
		nodes: `
a/route: {apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web}, spec: {rules: [{backendRefs: [{name: web}]}]}}
a/store: {apiVersion: external-secrets.io/v1, kind: SecretStore, metadata: {name: s}, ready: [ConditionMatch]}
a/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, deps: [a/store]}
a/canary: {apiVersion: flagger.app/v1beta1, kind: Canary, metadata: {name: web}, spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`,
		want:  []string{"a/store", "a/web a/canary a/route"},
		other: map[string][]string{"flux": {"a/store a/route", "a/web a/canary"}},
	},
	"a paused Deployment and a suspended Job go to the last wave": {
		nodes: `
a/job: {apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {suspend: true}}
a/one: {apiVersion: apps/v1, kind: Deployment, metadata: {name: one}}
a/paused: {apiVersion: apps/v1, kind: Deployment, metadata: {name: paused}, spec: {paused: true}}
a/two: {apiVersion: apps/v1, kind: Deployment, metadata: {name: two}, deps: [a/one]}`,
		want: []string{"a/one", "a/paused a/two a/job"},
	},
	"a suspended CronJob goes to the last wave of Argo CD, which calls it suspended": {
		nodes: `
a/cron: {apiVersion: batch/v1, kind: CronJob, metadata: {name: c}, spec: {suspend: true}}
a/running: {apiVersion: batch/v1, kind: CronJob, metadata: {name: r}}
a/one: {apiVersion: apps/v1, kind: Deployment, metadata: {name: one}}
a/two: {apiVersion: apps/v1, kind: Deployment, metadata: {name: two}, deps: [a/one]}`,
		want:  []string{"a/one a/cron a/running", "a/two"},
		other: map[string][]string{"argocd": {"a/one a/running", "a/two a/cron"}},
	},
	"a webhook waits for the workload behind it, and custom resources for the webhook": {
		nodes: `
a/crd: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {group: e.io, names: {kind: X, plural: xs}}}
a/x: {apiVersion: e.io/v1, kind: X, metadata: {name: x}}
a/hook:
  apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingWebhookConfiguration
  metadata: {name: hook}
  webhooks: [{clientConfig: {service: {namespace: op, name: hook}}, rules: [{apiGroups: [e.io], resources: [xs]}]}]
a/service: {apiVersion: v1, kind: Service, metadata: {name: hook, namespace: op}, spec: {selector: {app: op}}}
a/op: {apiVersion: apps/v1, kind: Deployment, metadata: {name: op, namespace: op}, spec: {template: {metadata: {labels: {app: op}}, spec: {containers: []}}}}`,
		want:  []string{"a/crd a/service a/op", "a/hook a/x"},
		other: map[string][]string{"flux": {"a/crd a/service a/op", "a/x a/hook"}},
	},
	"a Secret that a custom resource makes is waited for where readyWhen says how": {
		nodes: `
a/cert: {apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c, namespace: shop}, spec: {secretName: tls}, ready: [ConditionMatch]}
a/web:
  {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template: {spec:
  {containers: [], volumes: [{secret: {secretName: tls}}]}}}}`,
		want: []string{"a/cert", "a/web"},
	},
}

func TestWaves(t *testing.T) {
	for name, c := range waveCases {
		t.Run(name, func(t *testing.T) {
			for _, engine := range []string{"plain", "argocd", "flux"} {
				want := c.want
				if c.other[engine] != nil {
					want = c.other[engine]
				}
				require.Equal(t, want, waves(plan(t, engine, parse(t, c.nodes), c.specs...)), engine)
			}
		})
	}
}

func TestReasons(t *testing.T) {
	nodes := parse(t, `
db/main: `+stateful+`
api/config: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
api/web:
  {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, deps: [db/main], spec: {template: {spec:
  {containers: [{envFrom: [{configMapRef: {name: c}}]}]}}}}
api/late: {apiVersion: v1, kind: ConfigMap, metadata: {name: d}, deps: [api/service]}
api/service: {apiVersion: v1, kind: Service, metadata: {name: s}}
front/ingress: {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}}
front/one: {apiVersion: v1, kind: ConfigMap, metadata: {name: e}}
front/two: {apiVersion: apps/v1, kind: Deployment, metadata: {name: f}, deps: [front/one]}
`)
	p := plan(t, "argocd", nodes, dependsOn("front", "api"))
	reasons := map[object.ID]string{}
	for id, at := range p.Placements {
		reasons[id] = at.Reason
	}
	require.Equal(t, map[object.ID]string{
		"db/main":     "wave 0 because it has no dependencies",
		"api/config":  "wave 0 because it has no dependencies",
		"api/service": "wave 0 because it has no dependencies",
		"api/web":     "wave 1 because it depends on db/main (dependsOn, m.cue:4:3), a StatefulSet that must be ready first",
		"api/late": "wave 1 because it depends on api/service (dependsOn, m.cue:2:3): api/service (Service) has no " +
			"readiness to wait for, but in the same wave Argo CD applies a ConfigMap before it",
		"front/one":     "wave 2 because spec front depends on spec api (dependsOn, shop.yaml:12:9), which contains api/web, a Deployment that must be ready first",
		"front/two":     "wave 2 because spec front depends on spec api (dependsOn, shop.yaml:12:9), which contains api/web, a Deployment that must be ready first",
		"front/ingress": "wave 2 because spec front depends on spec api (dependsOn, shop.yaml:12:9), which contains api/web, a Deployment that must be ready first",
	}, reasons)
	require.Equal(t, object.ID("api/web"), p.Placements["front/one"].After)
	require.Equal(t, order.Gate{Gating: true, Reason: "api/web (Deployment) must be ready first"}, p.JoinGates[0])
	i := slices.IndexFunc(p.Graph.Edges, func(e graph.Edge) bool { return e.Rule == graph.RuleConfigMap })
	require.Equal(t, order.Gate{Reason: "in the same wave Argo CD applies a ConfigMap before a Deployment"}, p.Gates[i])
	require.Empty(t, p.Warnings)
}

// warningCases are plans that may hang or wait for nothing.
var warningCases = map[string]struct {
	engine, nodes string
	specs         []graph.Spec
	want          []string
}{
	"a dependency that names an Ingress may hang": {
		engine: "argocd",
		nodes: `
a/ingress: {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}}
a/job: {apiVersion: batch/v1, kind: Job, metadata: {name: j}, deps: [a/ingress]}`,
		want: []string{"m.cue:2:3: order: a/ingress: Ingress.networking.k8s.io i is in wave 0 of 0 to 1 because a/job depends on it, but " +
			"an Ingress may never get an address: the sync may hang in that wave " +
			"(remove that dependency, or give a/ingress a readyWhen that comes true, such as type: Exists)"},
	},
	"a spec with a LoadBalancer that another depends on may hang": {
		engine: "argocd",
		nodes: `
a/lb: {apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer}}
b/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: w}}`,
		specs: []graph.Spec{dependsOn("b", "a")},
		want: []string{"shop.yaml:12:9: order: a/lb: Service s is in wave 0 of 0 to 1 because spec b depends on it, but " +
			"a LoadBalancer may never get an address: the sync may hang in that wave " +
			"(remove that dependency, or give a/lb a readyWhen that comes true, such as type: Exists)"},
	},
	"Argo CD does not wait for a kind that it has no health check of": {
		engine: "argocd",
		nodes: `
a/redis: {apiVersion: redis.redis.opstreelabs.in/v1beta2, kind: Redis, metadata: {name: r}}
a/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, deps: [a/redis]}`,
		want: []string{"m.cue:2:3: order: a/web: depends on a/redis (Redis.redis.redis.opstreelabs.in r), but Argo CD has no health check " +
			"for Redis.redis.redis.opstreelabs.in and does not wait until it is ready (give a/redis a readyWhen)"},
	},
	"Flux looks at the conditions of any custom resource": {
		engine: "flux",
		nodes: `
a/redis: {apiVersion: redis.redis.opstreelabs.in/v1beta2, kind: Redis, metadata: {name: r}}
a/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, deps: [a/redis]}`,
	},
	"a spec of which nothing is waited for": {
		engine: "argocd",
		nodes: `
a/redis: {apiVersion: redis.redis.opstreelabs.in/v1beta2, kind: Redis, metadata: {name: r}}
b/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: w}}`,
		specs: []graph.Spec{dependsOn("b", "a")},
		want: []string{"shop.yaml:12:9: order: a/redis: spec b depends on spec a, but Argo CD has no health check " +
			"for Redis.redis.redis.opstreelabs.in and does not wait until it is ready (give a/redis a readyWhen)"},
	},
	"a claim whose user must follow what waits for it": {
		engine: "argocd",
		nodes: `
a/claim: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}}
a/job: {apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: shop}, deps: [a/claim]}
a/web:
  {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, deps: [a/job], spec: {template: {spec:
  {containers: [], volumes: [{persistentVolumeClaim: {claimName: data}}]}}}}`,
		want: []string{"m.cue:2:3: order: a/claim: PersistentVolumeClaim shop/data is in wave 0 of 0 to 2 because a/job depends on it, but " +
			"a PersistentVolumeClaim may bind only when a pod uses it: the sync may hang in that wave " +
			"(remove that dependency, or give a/claim a readyWhen that comes true, such as type: Exists)"},
	},
}

func TestWarnings(t *testing.T) {
	for name, c := range warningCases {
		t.Run(name, func(t *testing.T) {
			p := plan(t, c.engine, parse(t, c.nodes), c.specs...)
			var got []string
			for _, w := range p.Warnings {
				require.Equal(t, object.SeverityWarning, w.Severity)
				got = append(got, w.Error())
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestEmptyPlan(t *testing.T) {
	require.Empty(t, plan(t, "argocd", nil).Waves)
}

func TestAwaitedIsWhatLaterWavesWaitFor(t *testing.T) {
	nodes := parse(t, `
db/main: `+stateful+`
db/service: {apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}}
db/paused: {apiVersion: apps/v1, kind: Deployment, metadata: {name: p, namespace: shop}, spec: {paused: true}}
job/one: {apiVersion: batch/v1, kind: Job, metadata: {name: one}}
job/two: {apiVersion: batch/v1, kind: Job, metadata: {name: two}, deps: [job/one]}
api/web: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
`)
	for _, engine := range []string{"plain", "argocd", "flux"} {
		p := plan(t, engine, nodes, dependsOn("api", "db"))
		require.Equal(t, map[object.ID]bool{"db/main": true, "job/one": true}, p.Blocking, engine)
	}
}
