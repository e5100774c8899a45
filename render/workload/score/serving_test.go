// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const knative = own + "  kind: KnativeService\n"

func TestMessagesOnKnative(t *testing.T) {
	const requests = " (write http: {concurrency: 100}, or kind: Deployment)"
	told(t, []message{
		{"serving of a Deployment", own + "  serving: {timeout: 60}\n",
			`s.yaml:6:12: spec: spec.serving: nothing counts the requests of the workload (write kind: KnativeService, or replicas.http)`},
		{"a limit of KEDA", own + "  replicas: {max: 2, http: {rate: 1, hosts: [a.b]}}\n  serving: {concurrencyLimit: 5}\n",
			`s.yaml:7:31: spec: spec.serving.concurrencyLimit: KEDA's HTTP add-on has no limit of requests (write kind: KnativeService, or replicas.http.concurrency)`},
		{"a limit above that of Knative", knative + "  serving: {concurrencyLimit: 1001}\n",
			`s.yaml:7:31: spec: spec.serving.concurrencyLimit: 1001 is out of range: expected 0 to 1000`},
		{"a limit below the target", knative + "  serving: {concurrencyLimit: 5}\n  replicas: {http: {concurrency: 10}}\n",
			`warning s.yaml:7:31: spec: spec.serving.concurrencyLimit: Knative scales by it, as the concurrency that pods are scaled by is higher: 10`},
		{"a timeout of none", knative + "  serving: {timeout: 0}\n",
			`s.yaml:7:22: spec: spec.serving.timeout: 0 is out of range: expected 1 to 2147483647`},
		{"a timeout with a unit", knative + "  serving: {timeout: 60s}\n",
			`s.yaml:7:22: spec: spec.serving.timeout: expected a number of seconds, got a string (write 60)`},
		{"a long timeout", knative + "  serving: {timeout: 601}\n",
			`warning s.yaml:7:22: spec: spec.serving.timeout: Knative refuses more than 600 seconds, unless max-revision-timeout-seconds of its ConfigMap config-defaults is higher`},
		{"a field of serving with a typo", knative + "  serving: {timout: 5}\n",
			`s.yaml:7:13: spec: spec.serving.timout: unknown field "timout" (did you mean "timeout"?)`},
		{"no pods", knative + "  replicas: 0\n",
			`s.yaml:7:13: spec: spec.replicas: 0 is out of range: expected 1 to 2147483647`},
		{"replicas that are text", knative + "  replicas: many\n",
			`s.yaml:7:13: spec: spec.replicas: expected a number, or a map such as {min: 2, max: 10}, got a string`},
		{"max below min", knative + "  replicas: {min: 3, max: 2}\n",
			`s.yaml:7:27: spec: spec.replicas.max: max is 2, less than min, which is 3`},
		{"a long retention", knative + "  replicas: {cooldown: 3601}\n",
			`s.yaml:7:24: spec: spec.replicas.cooldown: 3601 is out of range: expected 0 to 3600`},
		{"other triggers", knative + "  replicas: {max: 2, cpu: 80, cron: [], queue: {}, pollingInterval: 5}\n",
			`s.yaml:7:27: spec: spec.replicas.cpu: Knative scales by requests alone` + requests + "\n" +
				`s.yaml:7:37: spec: spec.replicas.cron: Knative scales by requests alone` + requests + "\n" +
				`s.yaml:7:48: spec: spec.replicas.queue: Knative scales by requests alone` + requests + "\n" +
				`s.yaml:7:69: spec: spec.replicas.pollingInterval: Knative scales by requests alone` + requests},
		{"two targets", knative + "  replicas: {http: {concurrency: 1, rate: 2}}\n",
			`s.yaml:7:20: spec: spec.replicas.http: expected one of concurrency and rate, got 2 (write one of concurrency: 100 and rate: 50 for requests per second, of one pod)`},
		{"hosts", knative + "  replicas: {http: {concurrency: 1, hosts: [a.b]}}\n",
			`s.yaml:7:44: spec: spec.replicas.http.hosts: is for KEDA's HTTP add-on: Knative knows which requests are for the workload (remove it)`},
		{"two ports", knative + "  service: {ports: {a: {port: 80}, b: {port: 81}}}\n",
			`s.yaml:7:36: spec: spec.service.ports.b: a KnativeService has one port, and "a" is another (remove it, or write kind: Deployment)`},
		{"a port of UDP", knative + "  service: {ports: {a: {port: 80, protocol: UDP}}}\n",
			`s.yaml:7:21: spec: spec.service.ports.a: a KnativeService serves HTTP, and the port is of UDP (write kind: Deployment)`},
		{"another port", knative + "  service: {ports: {a: {port: 8080}}}\n",
			`s.yaml:7:21: spec: spec.service.ports.a: Knative answers at port 80, and not at 8080 (write port: 80 and targetPort: 8080)`},
		{"a port of Knative", knative + "  service: {ports: {a: {port: 80, targetPort: 8012}}}\n",
			`s.yaml:7:21: spec: spec.service.ports.a: port 8012 of the pods is Knative's own (let the container listen at another port, such as 8080)`},
		{"a budget and a canary", knative + "  disruption: {minAvailable: 1}\n  deploy: {strategy: canary}\n",
			`s.yaml:7:15: spec: spec.disruption: a KnativeService has no disruption budget: Knative starts and stops its pods (remove it)` + "\n" +
				`s.yaml:8:11: spec: spec.deploy: only a Deployment has canaries, and this is a KnativeService (write strategy: rolling)`},
		{"an annotation of the pods", knative + "  annotations: {autoscaling.knative.dev/window: 40s}\n",
			`s.yaml:7:17: spec: spec.annotations["autoscaling.knative.dev/window"]: Knative wants it at the template of the pods (move it to podAnnotations)`},
	})
}

func TestAKnativeServiceHasAPortAndItsScaling(t *testing.T) {
	w, errs := decode(t, knative+"  replicas: 2\n")
	require.Empty(t, said(errs))
	require.Len(t, w.Ports, 1)
	require.Equal(t, [2]int{80, 8080}, [2]int{w.Ports[0].Port, w.Ports[0].Target})
	require.JSONEq(t, `{"min": 2, "max": 2}`, string(w.Serving.JSON()))
	require.Nil(t, w.Replicas)
	w, errs = decode(t, own+"  replicas: {max: 2, http: {rate: 1, hosts: [a.b]}}\n  serving: {timeout: 5}\n")
	require.Empty(t, said(errs))
	require.JSONEq(t, `{"timeout": 5}`, string(w.Serving.JSON()))
}
