// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package apps_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/frontend/apps"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// project is what a project says about applications.
const project = "apps: {queue: {address: \"valkey.valkey.svc:6379\"}}\n"

// compiled is what becomes of a file, with all that has something against it.
func compiled(t *testing.T, text, config, environment string) ([]spec.Document, []spec.Transform, []string) {
	t.Helper()
	docs, err := spec.Parse([]spec.File{{Name: "apps.yaml", Data: []byte(text)}})
	require.NoError(t, err)
	require.Len(t, docs.Sources, 1)
	var settings object.Value
	if config != "" {
		manifests, err := spec.ParseManifests(spec.File{Name: "ropewalk.yaml", Data: []byte(config)}, spec.MaxFile)
		require.NoError(t, err)
		settings = manifests[0].Value
	}
	made, gateways, errs := apps.Compile(docs.Sources[0], environment, settings)
	for _, d := range made {
		_, more := score.Decode(score.Document{Value: d.Value})
		errs = append(errs, d.Written(more)...)
	}
	for _, g := range gateways {
		if !g.InputUnsure {
			_, more := gateway.Decode(g.Name, g.Pos, object.Context{Namespace: g.Namespace}, g.Input)
			errs = append(errs, g.Written(more)...)
		}
	}
	var messages []string
	for _, e := range errs.Sorted() {
		messages = append(messages, strings.TrimPrefix(e.Error(), "spec: "))
	}
	return made, gateways, messages
}

// Every field is wrong in turn, and the mistake is at its line, once.
func TestAMistakeIsAtTheFieldOfTheAuthor(t *testing.T) {
	for text, want := range map[string]string{
		"name: 5":                                "apps[0].name: expected a string",
		"name: \"!\"":                            "apps[0].name: has no letter",
		"path: [a]":                              "apps[0].path",
		"namespace: Shop":                        "apps[0].namespace: \"Shop\"",
		"port: 0":                                "apps[0].port: expected a whole number from 1 on",
		"prot: 80":                               "apps[0].prot: unknown field \"prot\" (did you mean \"port\"?)",
		"scaling: {type: keda}":                  "apps[0].scaling.type: \"keda\" is not known: expected hpa, keda-cron, keda-http, keda-queue, none",
		"scaling: {type: none, min_instance: 1}": "apps[0].scaling.min_instance: unknown field \"min_instance\" (did you mean \"min_instances\"?)",
		"scaling: {type: hpa}":                   "apps[0].scaling.max_instances: is missing",
		"scaling: []":                            "apps[0].scaling: expected a map, got a list",
		"scaling: {type: none, min_instances: 0}":                                                                                         "apps[0].scaling.min_instances: expected a whole number from 1 on",
		"scaling: {type: none, max_instances: 3}":                                                                                         "apps[0].scaling.max_instances: has no effect with the type none",
		"scaling: {type: hpa, min_instances: 0, max_instances: 3}":                                                                        "apps[0].scaling: an autoscaler keeps one pod at least",
		"scaling: {type: hpa, min_instances: 4, max_instances: 3}":                                                                        "apps[0].scaling.max_instances: max is 3, less than min",
		"scaling: {type: hpa, max_instances: 3, cooldown_period: 3}":                                                                      "apps[0].scaling.cooldown_period: has no effect with the type hpa",
		"scaling: {type: keda-queue, max_instances: 3}":                                                                                   "apps[0].scaling.queue_name: is missing",
		"scaling: {type: keda-queue, max_instances: 3, queue_name: [a]}":                                                                  "apps[0].scaling.queue_name: expected a string",
		"scaling: {type: keda-queue, max_instances: 3, queue_name: a, queue_length: 0}":                                                   "apps[0].scaling.queue_length: expected a whole number from 1 on, got 0",
		"scaling: {type: keda-queue, max_instances: 3, min_instances: 0, queue_name: a, cooldown_period: a}":                              "apps[0].scaling.cooldown_period: expected",
		"scaling: {type: keda-queue, max_instances: 3, queue_name: a, hosts: [a.b]}":                                                      "apps[0].scaling.hosts: has no effect with the type keda-queue",
		"scaling: {type: keda-cron, max_instances: 3}":                                                                                    "apps[0].scaling.cron_schedules: is missing",
		"scaling: {type: keda-cron, max_instances: 3, cron_schedules: [{start: 0 8 * * *, end: 0 9 * * *, replicas: 5}]}":                 "apps[0].scaling.cron_schedules[0].replicas: 5 is more than max",
		"scaling: {type: keda-cron, max_instances: 3, cron_schedules: [{start: 8, end: 0 9 * * *, replicas: 1}]}":                         "apps[0].scaling.cron_schedules[0].start: expected a string",
		"scaling: {type: keda-cron, max_instances: 3, cron_schedules: [{start: 0 8 * * *, end: 0 9 * *, replicas: 1}]}":                   "apps[0].scaling.cron_schedules[0].end: \"0 9 * *\" is not a cron expression",
		"scaling: {type: keda-cron, max_instances: 3, cron_schedules: [{timezone: Mars, start: 0 8 * * *, end: 0 9 * * *, replicas: 1}]}": "apps[0].scaling.cron_schedules[0].timezone: \"Mars\" is not a time zone",
		"scaling: {type: keda-http, max_instances: 3, concurrency: 5}":                                                                    "apps[0].scaling.hosts: is missing",
		"scaling: {type: keda-http, max_instances: 3, concurrency: 5, hosts: [\"a b\"]}":                                                  "apps[0].scaling.hosts[0]: \"a b\" is not a host",
		"resources: {cpu: lots}":                                              "apps[0].resources.cpu: \"lots\"",
		"resources: {memory: lots}":                                           "apps[0].resources.memory: \"lots\"",
		"resources: {memory_limit: lots}":                                     "apps[0].resources.memory_limit: \"lots\"",
		"resources: {gpu: 1}":                                                 "apps[0].resources.gpu: unknown field",
		"security: {user: a}":                                                 "apps[0].security.user: unknown field",
		"security: {service_account: A_B}":                                    "apps[0].security.service_account: \"A_B\" is not a service account name",
		"security: {create_service_account: 5}":                               "apps[0].security.create_service_account: expected a bool, got a number (write true or false)",
		"security: {service_account: a, service_account_annotations: {a: b}}": "apps[0].security.service_account_annotations: only an account that is made here has annotations",
		"security: {create_service_account: true, service_account_annotations: {\"a b\": c}}": "apps[0].security.service_account_annotations[\"a b\"]: ",
		"security: {network_policy: {enabled: 5}}":                                            "apps[0].security.network_policy.enabled: expected a bool, got a number (write true or false)",
		"security: {network_policy: {allow_to: [{cidr: 10.0.0.0/99}]}}":                       "apps[0].security.network_policy.allow_to[0].cidr: \"10.0.0.0/99\"",
		"security: {network_policy: {allow_from: [{namespace: A}]}}":                          "apps[0].security.network_policy.allow_from[0].namespace: \"A\"",
		"security: {network_policy: {allow_from: [{labels: {a: b}}]}}":                        "apps[0].security.network_policy.allow_from[0].labels: unknown field \"labels\" (known: cidr, namespace, pod_labels)",
		"security: {network_policy: {allow_to: {cidr: 10.0.0.0/8}}}":                          "apps[0].security.network_policy.allow_to: expected a list, got a map (write a list of {namespace, pod_labels, cidr}, which allows nothing where it is empty, or remove allow_to)",
		"security: {network_policy: {enabled: false, allow_from: 5}}":                         "apps[0].security.network_policy.allow_from: expected a list, got a number",
		"overrides: {dev: {security: {network_policy: {allow_from: }}}}":                      "apps[0].overrides.dev.security.network_policy.allow_from: expected a list, got null",
		"security: {network_policy: {allow_to: [{}]}}":                                        "apps[0].security.network_policy.allow_to[0]: the rule says nothing",
		"environment: [A]":                              "apps[0].environment: expected a map, got a list",
		"environment: {A: }":                            "apps[0].environment.A: expected a string or a map, got null (write \"\" for empty text)",
		"environment: {A: [b]}":                         "apps[0].environment.A: expected a string or a map, got a list",
		"environment: {A: {secret: a, provider: ibm}}":  "apps[0].environment.A.provider: \"ibm\" is not known",
		"environment: {A: {key: a}}":                    "apps[0].environment.A: expected one of secret and local",
		"environment: {\"A=B\": c}":                     "apps[0].environment.A=B: ",
		"overrides: {prod: {port: 0}}":                  "apps[0].overrides.prod.port: expected a whole number from 1 on",
		"overrides: {Prod: {}}":                         "apps[0].overrides.Prod: \"Prod\"",
		"overrides: {gcp: {name: b}}":                   "apps[0].overrides.gcp.name: unknown field",
		"overrides: {gcp: {scaling: {type: a}}}":        "apps[0].overrides.gcp.scaling.type: \"a\" is not known",
		"overrides: {dev: {scaling: {type: keda}}}":     "apps[0].overrides.dev.scaling.type: \"keda\" is not known",
		"overrides: {gcp: {port: 0}}":                   "apps[0].overrides.gcp.port: expected a whole number from 1 on",
		"scaling: {type: hpa, max_instances: a}":        "apps[0].scaling.max_instances: expected a number, got a string",
		"overrides: {dev: {scaling: {type: hpa}}}":      "apps[0].scaling.max_instances: is missing",
		"overrides: {dev: {resources: {memory: lots}}}": "apps[0].resources.memory: \"lots\"",
	} {
		name := "name: web, "
		if strings.HasPrefix(text, "name: ") {
			name = ""
		}
		_, _, errs := compiled(t, "apps:\n- {"+name+text+"}\n", project, "dev")
		require.Len(t, errs, 1, "%s: %v", text, errs)
		require.Contains(t, errs[0], want, text)
		require.Contains(t, errs[0], "apps.yaml:2:", text)
	}
}

func TestAMistakeOfTheGatewayIsAtItsLine(t *testing.T) {
	const good = "routes: [{path: /, service: \"web.shop:80\"}]"
	for text, want := range map[string]string{
		good:                                  "gateway.provider: is missing",
		"provider: nginx, " + good:            "gateway.provider: \"nginx\" is not known: expected haproxy, haproxytech, jcmoraisjr, traefik",
		"provider: haproxy, " + good:          "gateway.provider: \"haproxy\" is not known: expected haproxytech, jcmoraisjr",
		"provider: traefik":                   "gateway.routes: is missing",
		"provider: traefik, host: a, " + good: "gateway.host: unknown field",
		"provider: traefik, rate_limit: {burst: 1}, " + good:                                                        "gateway.rate_limit.requests_per_second: is missing",
		"provider: traefik, rate_limit: {requests_per_second: 0}, " + good:                                          "gateway.rate_limit.requests_per_second: expected a whole number from 1 on",
		"provider: jcmoraisjr, rate_limit: {requests_per_second: 1, burst: 2}, " + good:                             "gateway.rate_limit.burst: the target jcmoraisjr has no rateLimit.burst (remove it, or set provider: haproxytech or traefik)",
		"provider: traefik, cors: {enabled: true}, " + good:                                                         "gateway.cors: must not be empty",
		"provider: traefik, cors: {allow_origins: [\"*.a\"]}, " + good:                                              "gateway.cors.allow_origins[0]: \"*.a\" is not an origin",
		"provider: traefik, cors: {allow_origins: [\"*\"], max_age: a}, " + good:                                    "gateway.cors.max_age: expected a number",
		"provider: traefik, cors: {origins: []}, " + good:                                                           "gateway.cors.origins: unknown field",
		"provider: traefik, routes: [{path: a, service: \"web.shop:80\"}]":                                          "gateway.routes[0].path: \"a\" is not a path",
		"provider: traefik, routes: [{path: /, service: web}]":                                                      "gateway.routes[0].service: \"web\" is not the service of an application",
		"provider: traefik, routes: [{path: /, service: \"web.apps:80\"}]":                                          "gateway.routes[0].service: the application \"web\" is in the namespace \"shop\"",
		"provider: haproxytech, routes: [{path: /, service: \"web.shop:80\", auth: {type: api-key, secret: a}}]":    "gateway.routes[0].auth.type: the target haproxytech has no auth.type: api-key (remove it, or set provider: jcmoraisjr, traefik or envoy-gateway)",
		"provider: traefik, routes: [{path: /, service: \"web.shop:80\", auth: {typ: basic, secret: a}}]":           "gateway.routes[0].auth.typ: unknown field \"typ\" (did you mean \"type\"?)",
		"provider: traefik, routes: [{path: /, service: \"web.shop:80\", rate_limit: {requests_per_second: many}}]": "gateway.routes[0].rate_limit.requests_per_second: expected a number, got a string",
	} {
		_, _, errs := compiled(t, "apps:\n- {name: web, namespace: shop}\ngateway: {"+text+"}\n", "", "")
		require.Len(t, errs, 1, "%s: %v", text, errs)
		require.Contains(t, errs[0], want, text)
		require.Contains(t, errs[0], "apps.yaml:3:", text)
	}
}

func TestWhatTheProjectSaysIsCheckedThere(t *testing.T) {
	const queue = "apps:\n- {name: web, scaling: {type: keda-queue, max_instances: 3, queue_name: a}}\n"
	for config, want := range map[string]string{
		"":                                 "apps.yaml:2:24: spec: apps[0].scaling: the address of the queue is not known",
		"apps: {queues: {}}":               "ropewalk.yaml:1:8: spec: spec.workloads.config.apps.queues: unknown field \"queues\"",
		"apps: {queue: {host: a}}":         "ropewalk.yaml:1:16: spec: spec.workloads.config.apps.queue.host: unknown field \"host\"",
		"apps: {queue: {type: sqs}}":       "apps.yaml:2:24: spec: spec.workloads.config.apps.queue.region: is missing",
		"apps: {queue: {address: valkey}}": "ropewalk.yaml:1:25: spec: spec.workloads.config.apps.queue.address: is not host:port",
	} {
		_, _, errs := compiled(t, queue, config, "")
		require.NotEmpty(t, errs, config)
		require.Contains(t, strings.Join(errs, "\n"), want, config)
	}
}

// What is emitted has no default of the author's tool any more, and every one of its parts
// a place in the file.
func TestAnApplicationBecomesAWorkload(t *testing.T) {
	made, gateways, errs := compiled(t, `apps:
- name: web
  namespace: shop
  path:
  resources: {cpu: , memory: 1Gi}
  port: 8080
  security: {network_policy: {allow_from: []}}
  environment: {PORT: 8080, DEBUG: true, TOKEN: {secret: projects/acme/secrets/a, version: latest}}
  overrides: {local: {environment: {EXTRA: y}, resources: {memory: }}}
gateway:
  provider: traefik
  rate_limit: {requests_per_second: 5}
  routes:
  - {path: /, service: "web.shop:80"}
  - {path: /a, service: "web.shop:81", rate_limit: {enabled: false}}
  - {path: /b, service: "other.apps:80"}
`, "", "local")
	require.Empty(t, errs)
	require.JSONEq(t, `{"apiVersion":"ropewalk.dev/v1alpha1","kind":"Workload","metadata":{"name":"web"},"spec":{
		"namespace":"shop","containers":{"web":{"image":".","variables":{"PORT":"8080","DEBUG":"true","TOKEN":{"local":"a","key":"TOKEN"},"EXTRA":"y"}}},
		"network":{"allowFrom":[]},"service":{"ports":{"http":{"port":80,"targetPort":8080},"http-81":{"port":81,"targetPort":8080}}}}}`, string(made[0].Value.JSON()))
	require.Len(t, gateways, 2)
	require.Equal(t, []string{"gateway-apps", "gateway-shop"}, []string{gateways[0].Name, gateways[1].Name})
	require.JSONEq(t, `{"target":"traefik","rateLimit":{"requests":5,"per":"second","burst":10},"routes":[
		{"path":"/","to":{"workload":"web","port":80}},{"path":"/a","rateLimit":false,"to":{"workload":"web","port":81}}]}`, string(gateways[1].Input.JSON()))
}

func TestAPolicyWithoutADirectionRestrictsCallers(t *testing.T) {
	for text, want := range map[string]string{
		"{enabled: true}":                `{"allowFrom":[]}`,
		"{}":                             `{"allowFrom":[]}`,
		"{enabled: true, allow_to: []}":  `{"allowTo":[]}`,
		"{enabled: false}":               "",
		"{enabled: false, allow_to: []}": "",
	} {
		made, _, errs := compiled(t, "apps:\n- {name: web, security: {network_policy: "+text+"}}\n", "", "dev")
		require.Empty(t, errs, text)
		spec, _ := made[0].Value.Get("spec")
		network, _ := spec.Get("network")
		require.Equal(t, want, strings.TrimPrefix(string(network.JSON()), "null"), text)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("apps:\n- {name: web, scaling: {type: none}, overrides: {dev: {environment: 5}}}\ngateway: {routes: [{service: \"a.b:1\"}]}\n")
	f.Fuzz(func(_ *testing.T, text string) {
		docs, _ := spec.Parse([]spec.File{{Name: "apps.yaml", Data: []byte(text)}})
		for _, d := range docs.Sources {
			if d.Kind == spec.KindApps {
				apps.Compile(d, "dev", object.Value{})
			}
		}
	})
}

// An override may be for any environment. Where the project declares some, it is for one of them,
// or for one of those that every file may have.
func TestOverridesAreForTheEnvironmentsOfTheProject(t *testing.T) {
	const text = "apps:\n- {name: web, port: 80, overrides: {staging: {port: 81}, local: {}}}\n"
	docs, err := spec.Parse([]spec.File{{Name: "apps.yaml", Data: []byte(text)}})
	require.NoError(t, err)
	for _, declared := range [][]string{nil, {"prod", "staging"}} {
		_, _, errs := apps.Compile(docs.Sources[0], "staging", object.Value{}, declared...)
		require.Empty(t, errs)
	}
	_, _, errs := apps.Compile(docs.Sources[0], "prod", object.Value{}, "prod", "stagin")
	require.Equal(t, `apps.yaml:2:37: spec: apps[0].overrides.staging: the project has no environment "staging" (did you mean "stagin"?)`, errs.Error())
	all := apps.Overridden(docs.Sources[0])
	require.Equal(t, []string{"dev", "gcp", "local", "staging"}, object.SortedKeys(all))
	require.JSONEq(t, `{"secrets":{"backend":"kubernetes"}}`, string(all["local"].JSON()))
}
