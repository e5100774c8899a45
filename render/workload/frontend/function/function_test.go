// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package function_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/frontend/function"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

const head = `apiVersion: ropewalk.dev/v1alpha1
kind: Function
metadata: {name: resize}
spec:
`

const small = head + "  container: {image: a}\n"

// decoded is the workload of a document, with what is wrong with it.
func decoded(t *testing.T, text string) (score.Workload, object.Errors) {
	docs, err := spec.Parse([]spec.File{{Name: "f.yaml", Data: []byte(text)}})
	errs := object.AsErrors(err, object.StageSpec)
	for _, doc := range docs.Sources {
		made, more := function.Compile(doc)
		errs = append(errs, more...)
		docs.Workloads = append(docs.Workloads, made...)
	}
	require.Len(t, docs.Workloads, 1)
	doc := docs.Workloads[0]
	require.Equal(t, spec.KindFunction, doc.Kind)
	v, more := function.Lower(doc.Value)
	errs = append(errs, more...)
	w, more := score.Decode(score.Document{Value: v, Blocks: doc.Blocks, Last: doc.Last})
	return w, append(errs, function.Written(more)...).Sorted()
}

func said(errs object.Errors) string {
	var lines []string
	for _, e := range errs {
		line := e.Error()
		if e.Severity == object.SeverityWarning {
			line = "warning " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestMessagesNameTheFieldsOfTheAuthor(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no container", head + "  port: 80\n", `f.yaml:5:3: spec: spec.container: is missing (write container: {image: …})`},
		{"an unknown field", small + "  containers: {}\n", `f.yaml:6:3: spec: spec.containers: unknown field "containers" (did you mean "container"?)`},
		{"a field beside the spec", small + "scale: 1\n", `f.yaml:6:1: spec: scale: unknown field "scale" (move it under spec)`},
		{"an unknown target", small + "  target: kda\n  scale: 1\n", `f.yaml:6:11: spec: spec.target: "kda" is not known: expected knative, keda (did you mean "keda"?)`},
		{"an image that is missing", head + "  container: {command: [a]}\n", `f.yaml:5:14: spec: spec.container.image: is missing (write image: . where it is given at deployment)`},
		{"a field of the container", head + "  container: {image: a, env: {}}\n", `f.yaml:5:25: spec: spec.container.env: unknown field "env" (environment variables go under variables)`},
		{"a port that is none", small + "  port: 70000\n", `f.yaml:6:9: spec: spec.port: 70000 is out of range: expected 1 to 65535`},
		{"a port of Knative", small + "  port: 8012\n", `f.yaml:6:9: spec: spec.port: port 8012 of the pods is Knative's own (let the container listen at another port, such as 8080)`},
		{"a field of scale", small + "  scale: {mx: 1}\n", `f.yaml:6:11: spec: spec.scale.mx: unknown field "mx" (did you mean "max"?)`},
		{"max below min", small + "  scale: {min: 3, max: 2}\n", `f.yaml:6:24: spec: spec.scale.max: max is 2, less than min, which is 3`},
		{"two targets of scale", small + "  scale: {rate: 3, concurrency: 2}\n", `f.yaml:6:10: spec: spec.scale: expected one of concurrency and rate, got 2 (write one of concurrency: 100 and rate: 50 for requests per second, of one pod)`},
		{"hosts for Knative", small + "  scale: {rate: 3, hosts: [a.b]}\n", `f.yaml:6:27: spec: spec.scale.hosts: is for KEDA's HTTP add-on: Knative knows which requests are for the workload (remove it)`},
		{"a limit", small + "  concurrencyLimit: -1\n", `f.yaml:6:21: spec: spec.concurrencyLimit: -1 is out of range: expected 0 to 1000`},
		{"a timeout", small + "  timeout: 1m\n", `f.yaml:6:12: spec: spec.timeout: expected a number of seconds, got a string (write 60)`},
		{"KEDA without a scale", small + "  target: keda\n", `f.yaml:5:3: spec: spec.scale: is missing: KEDA needs to know how far to scale, and which requests to count (write scale: {max: 10, concurrency: 100, hosts: [api.example.com]})`},
		{"KEDA without hosts", small + "  target: keda\n  scale: {max: 2, rate: 3}\n", `f.yaml:7:10: spec: spec.scale.hosts: is missing (write the hosts that requests are for: hosts: [api.example.com])`},
		{"KEDA with a limit", small + "  target: keda\n  scale: {max: 2, rate: 3, hosts: [a.b]}\n  concurrencyLimit: 5\n", `f.yaml:8:21: spec: spec.concurrencyLimit: KEDA's HTTP add-on has no limit of requests (write target: knative, or scale.concurrency)`},
		{"scale that is text", small + "  scale: many\n", `f.yaml:6:10: spec: spec.scale: expected a number or a map such as {min: 2, max: 10}, got a string`},
		{"bounds that are none, and hosts that are missing", small + "  target: keda\n  scale: {max: many, rate: 3}\n", `f.yaml:7:16: spec: spec.scale.max: expected a number, got a string`},
		{"a cooldown that is text", small + "  scale: {max: 2, rate: 3, cooldown: 30s}\n", `f.yaml:6:38: spec: spec.scale.cooldown: expected a number of seconds, got a string (write 30)`},
		{"a spec that is missing", strings.TrimSuffix(head, "spec:\n"), `f.yaml:1:1: spec: spec.container: is missing (write container: {image: …})`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, errs := decoded(t, tt.text)
			require.Equal(t, tt.want, said(errs))
		})
	}
}

func TestAFunctionBecomesAWorkload(t *testing.T) {
	w, errs := decoded(t, small+"  port: 9000\n  scale: {max: 5, rate: 50}\n  timeout: 30\n  resources: {db: {type: postgres}}\n  labels: {a: b}\n")
	require.Empty(t, said(errs))
	require.Equal(t, score.KindKnativeService, w.Kind.Value)
	require.Equal(t, function.Container, w.Containers[0].Name)
	require.Equal(t, [2]int{80, 9000}, [2]int{w.Ports[0].Port, w.Ports[0].Target})
	require.JSONEq(t, `{"max": 5, "metric": "rps", "target": 50, "timeout": 30}`, string(w.Serving.JSON()))
	require.Equal(t, "db", w.Resources[0].Name)
	w, errs = decoded(t, small+"  target: keda\n  scale: {max: 5, rate: 50, hosts: [a.b]}\n  timeout: 30\n")
	require.Empty(t, said(errs))
	require.Equal(t, score.KindDeployment, w.Kind.Value)
	require.Equal(t, [2]int{0, 5}, [2]int{w.Replicas.Min, w.Replicas.Max})
	require.JSONEq(t, `{"timeout": 30}`, string(w.Serving.JSON()))
}

// funcs begins a func.yaml.
const funcs = "specVersion: 0.36.0\nname: resize\nruntime: go\n"

func TestAFuncYAMLBecomesAFunction(t *testing.T) {
	w, errs := decoded(t, funcs+`created: 2026-07-02T14:07:38+02:00
namespace: images
domain: example.com
image: ghcr.io/shop/resize:1
build: {builder: pack}
run:
  envs:
    - {name: LEVEL, value: "${x}"}
    - {name: REGION, value: "{{ env:REGION }}"}
    - {name: TOKEN, value: "{{ secret:api:token }}"}
  volumes:
    - {persistentVolumeClaim: {claimName: pics, readOnly: true}, path: /pics}
    - {secret: tls, path: /tls}
    - {emptyDir: {medium: Memory}, path: /scratch}
deploy:
  image: ghcr.io/shop/resize@sha256:0000000000000000000000000000000000000000000000000000000000000000
  annotations: {a: b}
  labels: [{key: c, value: d}, {key: e}]
  serviceAccountName: robot
  imagePullSecret: registry
  healthEndpoints: {liveness: /live}
  options:
    scale: {min: 1, max: 0, metric: rps, target: 50, utilization: 75}
    resources: {requests: {cpu: 100m}, limits: {memory: 64Mi, concurrency: 10}}
`)
	require.Empty(t, said(errs))
	require.Equal(t, "images", w.Namespace.Value)
	require.JSONEq(t, `{"min": 1, "metric": "rps", "target": 50, "concurrencyLimit": 10}`, string(w.Serving.JSON()))
	c := w.Containers[0]
	require.Equal(t, "ghcr.io/shop/resize@sha256:0000000000000000000000000000000000000000000000000000000000000000", c.Image.Value)
	require.Equal(t, []string{"$${x}", "${REGION}"}, []string{c.Variables[0].Value.Value, c.Variables[1].Value.Value})
	require.Len(t, c.Volumes, 3)
	require.True(t, c.Volumes[0].ReadOnly)
	require.JSONEq(t, `{"claimName": "pics"}`, string(w.Resources[0].Params.JSON()))
	require.JSONEq(t, `{"httpGet": {"path": "/live", "port": 8080}}`, string(c.LivenessProbe.JSON()))
	require.JSONEq(t, `{"httpGet": {"path": "/health/readiness", "port": 8080}}`, string(c.ReadinessProbe.JSON()))
	require.Equal(t, "robot", w.ServiceAccount.Name.Value)
	require.True(t, w.ServiceAccount.Existing)
	require.Len(t, w.Labels, 3)
	require.JSONEq(t, `{"imagePullSecrets": [{"name": "registry"}]}`, string(w.Pod.JSON()))
	require.Equal(t, "autoscaling.knative.dev/target-utilization-percentage", w.PodAnnotations[0].Name)
}

func TestMessagesOnFuncYAML(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"an unknown field", funcs + "scal: 1\n", `f.yaml:4:1: spec: scal: unknown field "scal" (known: annotations, build, buildEnvs, builder, builderImages, builderMap, builders, buildpacks, created, deploy, deployer, domain and 20 more)`},
		{"KEDA", funcs + "deployer: keda\n", `f.yaml:4:11: spec: deployer: func.yaml names no hosts, by which KEDA's HTTP add-on knows the requests of the function (write a document of kind Function with target: keda and scale: {max, concurrency, hosts})`},
		{"no deployer that is known", funcs + "deployer: raw\n", `f.yaml:4:11: spec: deployer: the deployer "raw" has no Service of Knative (write a document of kind Workload)`},
		{"subscriptions", funcs + "deploy: {subscriptions: [{source: a}]}\n", `f.yaml:4:25: spec: deploy.subscriptions: subscriptions to events are not made (write a Trigger of Knative Eventing beside it, and remove the field)`},
		{"kafka", funcs + "run: {kafka: {topic: a}}\n", `f.yaml:4:14: spec: run.kafka: a source of events is not made (write a KafkaSource of Knative Eventing beside it, and remove the field)`},
		{"a start timeout", funcs + "run: {startTimeout: 5}\n", `warning f.yaml:4:21: spec: run.startTimeout: is left out: only the tool func waits by it`},
		{"all keys of a Secret", funcs + "run: {envs: [{value: \"{{ secret:a }}\"}]}\n", `f.yaml:4:14: spec: run.envs[0]: all keys of a secret cannot be variables (write an entry with a name for each key)`},
		{"a Secret without a key", funcs + "run: {envs: [{name: A, value: \"{{ secret:a }}\"}]}\n", `f.yaml:4:31: spec: run.envs[0].value: names no key (write {{ secret:a:KEY }})`},
		{"a key of a ConfigMap", funcs + "run: {envs: [{name: A, value: \"{{configMap:a:b}}\"}]}\n", `f.yaml:4:31: spec: run.envs[0].value: a key of a ConfigMap cannot be a variable (mount the ConfigMap with volumes, or write the value)`},
		{"a variable of the machine in small letters", funcs + "run: {envs: [{name: A, value: \"{{ env:home }}\"}]}\n", `f.yaml:4:31: spec: run.envs[0].value: "home" is not a name that a declared source can have (call it by A-Z, 0-9 and _)`},
		{"another template", funcs + "run: {envs: [{name: A, value: \"x{{ env:A }}\"}]}\n", `f.yaml:4:31: spec: run.envs[0].value: is neither text nor a reference of func (write {{ env:NAME }}, {{ secret:NAME:KEY }} or plain text)`},
		{"a variable without a name", funcs + "run: {envs: [{value: a}]}\n", `f.yaml:4:14: spec: run.envs[0]: is an entry without a name (write name: NAME)`},
		{"a variable without a value", funcs + "run: {envs: [{name: A}]}\n", `warning f.yaml:4:14: spec: run.envs[0]: is left out: "A" has no value (write value: "" for an empty one)`},
		{"a volume of nothing", funcs + "run: {volumes: [{path: /a}]}\n", `f.yaml:4:17: spec: run.volumes[0]: is not a volume (write path, and one of secret, configMap, persistentVolumeClaim and emptyDir)`},
		{"a label of a variable", funcs + "deploy: {labels: [{key: a, value: \"{{ env:A }}\"}]}\n", `f.yaml:4:35: spec: deploy.labels[0].value: labels cannot come from variables (write the value)`},
		{"a metric that is not known", funcs + "deploy: {options: {scale: {metric: cpu}}}\n", `f.yaml:4:36: spec: deploy.options.scale.metric: "cpu" is not known: expected concurrency or rps`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, errs := decoded(t, tt.text)
			require.Equal(t, tt.want, said(errs))
		})
	}
}
