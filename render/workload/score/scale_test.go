// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/workload/score"
)

func TestMessagesOnScaling(t *testing.T) {
	told(t, []message{
		{"a queue without a server", own + `  replicas: {max: 2, queue: {name: jobs}}
`, `s.yaml:6:29: spec: spec.replicas.queue: expected one of resource and address, got 0 (write resource: NAME, or address: host:port)`},
		{"a queue with two servers", own + `  replicas: {max: 2, queue: {name: jobs, resource: db, address: "a.b:1"}}
`, `s.yaml:6:29: spec: spec.replicas.queue: expected one of resource and address, got 2 (write resource: NAME, or address: host:port)`},
		{"a queue without a name", own + `  replicas: {max: 2, queue: {address: "a.b:1"}}
`, `s.yaml:6:29: spec: spec.replicas.queue.name: is missing (write the name of the queue)`},
		{"an empty name", own + `  replicas: {max: 2, queue: {name: "", address: "a.b:1"}}
`, `s.yaml:6:36: spec: spec.replicas.queue.name: must not be empty`},
		{"an address with a password", own + `  replicas: {max: 2, queue: {name: jobs, address: "redis://:s3cret@cache.shop:6379"}}
`, `s.yaml:6:51: spec: spec.replicas.queue.address: is not host:port (write host:port, such as redis.shop.svc.cluster.local:6379; a server that wants a password is a resource)`},
		{"an address without a port", own + `  replicas: {max: 2, queue: {name: jobs, address: cache.shop}}
`, `s.yaml:6:51: spec: spec.replicas.queue.address: is not host:port (write host:port, such as redis.shop.svc.cluster.local:6379; a server that wants a password is a resource)`},
		{"an address with a port that is none", own + `  replicas: {max: 2, queue: {name: jobs, address: "cache.shop:70000"}}
`, `s.yaml:6:51: spec: spec.replicas.queue.address: is not host:port (write host:port, such as redis.shop.svc.cluster.local:6379; a server that wants a password is a resource)`},
		{"a length of none", own + `  replicas: {max: 2, queue: {name: jobs, address: "a.b:1", length: 0}}
`, `s.yaml:6:68: spec: spec.replicas.queue.length: 0 is out of range: expected 1 to 2147483647`},
		{"a length in quotes", own + `  replicas: {max: 2, queue: {name: jobs, address: "a.b:1", length: "5"}}
`, `s.yaml:6:68: spec: spec.replicas.queue.length: expected a number, got a string (write it without quotes)`},
		{"a negative activation", own + `  replicas: {max: 2, queue: {name: jobs, address: "a.b:1", activation: -1}}
`, `s.yaml:6:72: spec: spec.replicas.queue.activation: -1 is out of range: expected 0 to 2147483647`},
		{"a negative database", own + `  replicas: {max: 2, queue: {name: jobs, address: "a.b:1", database: -1}}
`, `s.yaml:6:70: spec: spec.replicas.queue.database: -1 is out of range: expected 0 to 2147483647`},
		{"tls that is text", own + `  replicas: {max: 2, queue: {name: jobs, address: "a.b:1", tls: "yes"}}
`, `s.yaml:6:65: spec: spec.replicas.queue.tls: expected a bool, got a string`},
		{"a field of a queue with a typo", own + `  replicas: {max: 2, queue: {name: jobs, addresz: "a.b:1"}}
`, `s.yaml:6:42: spec: spec.replicas.queue.addresz: unknown field "addresz" (did you mean "address"?)`},
		{"a queue that is text", own + `  replicas: {max: 2, queue: jobs}
`, `s.yaml:6:29: spec: spec.replicas.queue: expected a map, got a string`},
		{"no max", own + `  replicas: {queue: {name: jobs, address: "a.b:1"}}
`, `s.yaml:6:13: spec: spec.replicas: max is missing: triggers need an autoscaler (write max too)`},
		{"max below min", own + `  replicas: {min: 3, max: 2, cron: [{start: "0 8 * * *", end: "0 9 * * *", replicas: 1}]}
`, `s.yaml:6:27: spec: spec.replicas.max: max is 2, less than min, which is 3`},
		{"min 0 with the cpu alone", own + `  replicas: {min: 0, max: 2, cpu: 80}
`, `s.yaml:6:13: spec: spec.replicas: an autoscaler keeps one pod at least (write min: 1 or more, or a queue, cron or http, which start a pod where there is none)`},
		{"a polling interval of none", own + `  replicas: {max: 2, pollingInterval: 0, queue: {name: jobs, address: "a.b:1"}}
`, `s.yaml:6:39: spec: spec.replicas.pollingInterval: 0 is out of range: expected 1 to 2147483647`},
		{"a cooldown and an interval with units", own + `  replicas: {min: 0, max: 2, cooldown: 5m, pollingInterval: 1500ms, queue: {name: jobs, address: "a.b:1"}}
`, `s.yaml:6:40: spec: spec.replicas.cooldown: expected a number of seconds, got a string (write 300)
s.yaml:6:61: spec: spec.replicas.pollingInterval: expected a number of seconds, got a string (write one such as 30)`},
		{"a cooldown in quotes", own + `  replicas: {min: 0, max: 2, cooldown: "30", queue: {name: jobs, address: "a.b:1"}}
`, `s.yaml:6:40: spec: spec.replicas.cooldown: expected a number of seconds, got a string (write 30)`},
		{"a bound that lacks a letter", own + `  replicas: {mn: 0, max: 2}
`, `s.yaml:6:14: spec: spec.replicas.mn: unknown field "mn" (did you mean "min"?)`},
		{"a negative cooldown", own + `  replicas: {min: 0, max: 2, cooldown: -1, queue: {name: jobs, address: "a.b:1"}}
`, `s.yaml:6:40: spec: spec.replicas.cooldown: -1 is out of range: expected 0 to 2147483647`},
		{"a cooldown that never comes", own + `  replicas: {min: 1, max: 2, cooldown: 60, queue: {name: jobs, address: "a.b:1"}}
`, `warning s.yaml:6:40: spec: spec.replicas.cooldown: has no effect: it is the time before the last pod is stopped, and min is 1 (remove it, or write min: 0)`},
		{"an interval and a cooldown without a trigger", own + `  replicas: {max: 2, cooldown: 60, pollingInterval: 5}
`, `warning s.yaml:6:32: spec: spec.replicas.cooldown: has no effect: only triggers stop the last pod (remove it, or write a queue, cron or http)
warning s.yaml:6:53: spec: spec.replicas.pollingInterval: has no effect: only triggers are polled (remove it, or write a queue, cron or http)`},
		{"six fields of cron", own + `  replicas: {max: 2, cron: [{start: "0 0 8 * * *", end: "0 9 * * *", replicas: 1}]}
`, `s.yaml:6:37: spec: spec.replicas.cron[0].start: "0 0 8 * * *" is not a cron expression: expected exactly 5 fields, found 6: [0 0 8 * * *] (write minute, hour, day of month, month and day of week, such as "0 8 * * 1-5")`},
		{"a word of cron", own + `  replicas: {max: 2, cron: [{start: "@daily", end: "0 9 * * *", replicas: 1}]}
`, `s.yaml:6:37: spec: spec.replicas.cron[0].start: "@daily" is not a cron expression: parser does not accept descriptors: @daily (write minute, hour, day of month, month and day of week, such as "0 8 * * 1-5")`},
		{"a minute that is none", own + `  replicas: {max: 2, cron: [{start: "60 8 * * *", end: "0 9 * * *", replicas: 1}]}
`, `s.yaml:6:37: spec: spec.replicas.cron[0].start: "60 8 * * *" is not a cron expression: end of range (60) above maximum (59): 60 (write minute, hour, day of month, month and day of week, such as "0 8 * * 1-5")`},
		{"a zone inside of cron", own + `  replicas: {max: 2, cron: [{start: "CRON_TZ=UTC 0 8 * * *", end: "0 9 * * *", replicas: 1}]}
`, `s.yaml:6:37: spec: spec.replicas.cron[0].start: cannot hold a time zone (write timezone: Europe/Berlin, or the one that it is)`},
		{"a zone without an end", own + `  replicas: {max: 2, cron: [{start: "TZ=0", end: "0 9 * * *", replicas: 1}]}
`, `s.yaml:6:37: spec: spec.replicas.cron[0].start: cannot hold a time zone (write timezone: Europe/Berlin, or the one that it is)`},
		{"a day that never comes", own + `  replicas: {max: 2, cron: [{start: "0 8 31 2 *", end: "0 9 * * *", replicas: 1}]}
`, `s.yaml:6:37: spec: spec.replicas.cron[0].start: "0 8 31 2 *" never comes: no month that it names has such a day`},
		{"a window without length", own + `  replicas: {max: 2, cron: [{start: "0 8 * * *", end: "0  8 * * *", replicas: 1}]}
`, `s.yaml:6:55: spec: spec.replicas.cron[0].end: is the same as start: the window has no length`},
		{"a window without an end", own + `  replicas: {max: 2, cron: [{start: "0 8 * * *", replicas: 1}]}
`, `s.yaml:6:29: spec: spec.replicas.cron[0].end: is missing (write minute, hour, day of month, month and day of week, such as "0 8 * * 1-5")`},
		{"a window without replicas", own + `  replicas: {max: 2, cron: [{start: "0 8 * * *", end: "0 9 * * *"}]}
`, `s.yaml:6:29: spec: spec.replicas.cron[0].replicas: is missing (write how many pods run in the window)`},
		{"a window of no replicas", own + `  replicas: {max: 2, cron: [{start: "0 8 * * *", end: "0 9 * * *", replicas: 0}]}
`, `s.yaml:6:78: spec: spec.replicas.cron[0].replicas: 0 is out of range: expected 1 to 2147483647`},
		{"more replicas than max", own + `  replicas: {max: 2, cron: [{start: "0 8 * * *", end: "0 9 * * *", replicas: 3}]}
`, `s.yaml:6:78: spec: spec.replicas.cron[0].replicas: 3 is more than max, which is 2 (raise max)`},
		{"a zone with a typo", own + `  replicas: {max: 2, cron: [{timezone: Europe/Berln, start: "0 8 * * *", end: "0 9 * * *", replicas: 1}]}
`, `s.yaml:6:40: spec: spec.replicas.cron[0].timezone: "Europe/Berln" is not a time zone of the IANA database (did you mean "Europe/Berlin"?)`},
		{"a zone by its city", own + `  replicas: {max: 2, cron: [{timezone: Zurich, start: "0 8 * * *", end: "0 9 * * *", replicas: 1}]}
`, `s.yaml:6:40: spec: spec.replicas.cron[0].timezone: "Zurich" is not a time zone of the IANA database (did you mean "Europe/Zurich"?)`},
		{"the zone of the machine", own + `  replicas: {max: 2, cron: [{timezone: Local, start: "0 8 * * *", end: "0 9 * * *", replicas: 1}]}
`, `s.yaml:6:40: spec: spec.replicas.cron[0].timezone: "Local" is not a time zone of the IANA database (write one such as Europe/Berlin or UTC)`},
		{"cron that is a map", own + `  replicas: {max: 2, cron: {start: "0 8 * * *"}}
`, `s.yaml:6:28: spec: spec.replicas.cron: expected a list, got a map`},
		{"http without a target", own + `  replicas: {max: 2, http: {hosts: [a.example]}}
`, `s.yaml:6:28: spec: spec.replicas.http: expected concurrency, rate or both (write concurrency: 100, or rate: 50 for requests per second, of one pod)`},
		{"http without hosts", own + `  replicas: {max: 2, http: {rate: 5}}
`, `s.yaml:6:28: spec: spec.replicas.http.hosts: is missing (write the hosts that requests are for: hosts: [api.example.com])`},
		{"a rate of none", own + `  replicas: {max: 2, http: {rate: 0, hosts: [a.example]}}
`, `s.yaml:6:35: spec: spec.replicas.http.rate: 0 is out of range: expected 1 to 2147483647`},
		{"a host twice", own + `  replicas: {max: 2, http: {rate: 1, hosts: [a.example, a.example]}}
`, `s.yaml:6:57: spec: spec.replicas.http.hosts[1]: "a.example" is written twice`},
		{"a host that is a URL", own + `  replicas: {max: 2, http: {rate: 1, hosts: ["https://a.example"]}}
`, `s.yaml:6:46: spec: spec.replicas.http.hosts[0]: "https://a.example" is not a host: expected a DNS name such as api.example.com, *.example.com or *`},
		{"no host", own + `  replicas: {max: 2, http: {rate: 1, hosts: []}}
`, `s.yaml:6:45: spec: spec.replicas.http.hosts: must not be empty (remove it, or write an item)`},
		{"a path without a slash", own + `  replicas: {max: 2, http: {rate: 1, hosts: ["*"], paths: [api]}}
`, `s.yaml:6:60: spec: spec.replicas.http.paths[0]: "api" is not the beginning of a path: expected one such as /api`},
		{"a namespace that is none", own + `  replicas: {max: 2, http: {rate: 1, hosts: ["*.a.example"], namespace: Keda}}
`, `s.yaml:6:73: spec: spec.replicas.http.namespace: "Keda" is not a namespace: expected up to 63 of a-z, 0-9 and -`},
	})
}

func TestMessagesOnIdentitiesOfClouds(t *testing.T) {
	told(t, []message{
		{"two identities", own + `  identity: {gcp: a@b.iam.gserviceaccount.com, aws: "arn:aws:iam::123456789012:role/api"}
`, `s.yaml:6:13: spec: spec.identity: expected one of gcp, aws and azure, got 2`},
		{"no identity", own + `  identity: {}
`, `s.yaml:6:13: spec: spec.identity: must not be empty (write one of gcp, aws and azure)`},
		{"an identity of a user", own + `  identity: {gcp: jane@example.com}
`, `s.yaml:6:19: spec: spec.identity.gcp: "jane@example.com" is not an identity of gcp (expected the address of a service account, such as api@acme.iam.gserviceaccount.com)`},
		{"a role without an account", own + `  identity: {aws: "arn:aws:iam::role/api"}
`, `s.yaml:6:19: spec: spec.identity.aws: "arn:aws:iam::role/api" is not an identity of aws (expected the ARN of a role, such as arn:aws:iam::123456789012:role/api)`},
		{"a client that is no UUID", own + `  identity: {azure: api}
`, `s.yaml:6:21: spec: spec.identity.azure: "api" is not an identity of azure (expected a UUID, such as 12345678-90ab-cdef-1234-567890abcdef)`},
		{"a tenant that is no UUID", own + `  identity: {azure: {clientId: 12345678-90ab-cdef-1234-567890abcdef, tenantId: acme}}
`, `s.yaml:6:80: spec: spec.identity.azure.tenantId: "acme" is not an identity of azure (expected a UUID, such as 12345678-90ab-cdef-1234-567890abcdef)`},
		{"a tenant without a client", own + `  identity: {azure: {tenantId: 12345678-90ab-cdef-1234-567890abcdef}}
`, `s.yaml:6:21: spec: spec.identity.azure.clientId: is missing (expected a UUID, such as 12345678-90ab-cdef-1234-567890abcdef)`},
		{"an unknown provider", own + `  identity: {ibm: x}
`, `s.yaml:6:14: spec: spec.identity.ibm: unknown field "ibm" (known: aws, azure, gcp)`},
		{"an identity of an account that exists", own + `  identity: {aws: "arn:aws:iam::123456789012:role/api"}
  serviceAccount: {name: robot, existing: true}
`, `s.yaml:6:13: spec: spec.identity: an identity is an annotation of the service account, and one that exists already is left as it is (annotate the account where it is made, and remove identity)`},
		{"an identity and its annotation", own + `  identity: {aws: "arn:aws:iam::123456789012:role/api"}
  serviceAccount: {annotations: {eks.amazonaws.com/role-arn: x}}
`, `s.yaml:6:19: spec: spec.identity.aws: the annotation eks.amazonaws.com/role-arn of the service account is written too, in line 7 (remove the annotation)`},
		{"a label against the identity", own + `  identity: {azure: 12345678-90ab-cdef-1234-567890abcdef}
  labels: {azure.workload.identity/use: "false"}
`, `s.yaml:7:41: spec: spec.labels["azure.workload.identity/use"]: "false" keeps pods from the identity of azure: the label must be "true" (remove the label)`},
		{"a label against the annotation", own + `  serviceAccount: {annotations: {azure.workload.identity/client-id: x}}
  labels: {azure.workload.identity/use: "false"}
`, `s.yaml:7:41: spec: spec.labels["azure.workload.identity/use"]: "false" keeps pods from the identity of azure: the label must be "true" (remove the label)`},
	})
}

func TestMessagesOnNetworkRules(t *testing.T) {
	told(t, []message{
		{"network that is a list", own + `  network: []
`, `s.yaml:6:12: spec: spec.network: expected a map, got a list`},
		{"a rule that says nothing", own + `  network: {allowFrom: [{}]}
`, `s.yaml:6:25: spec: spec.network.allowFrom[0]: the rule says nothing (write namespace, labels, cidr, host, externalService or ports)`},
		{"a direction with a typo", own + `  network: {allowfrom: []}
`, `s.yaml:6:13: spec: spec.network.allowfrom: unknown field "allowfrom" (did you mean "allowFrom"?)`},
		{"two peers", own + `  network: {allowTo: [{namespace: a, cidr: 10.0.0.0/8}]}
`, `s.yaml:6:23: spec: spec.network.allowTo[0]: expected one of cidr, host, and namespace with labels (write two rules)`},
		{"a cidr and a host", own + `  network: {allowTo: [{cidr: 10.0.0.0/8, host: a.example, ports: [1]}]}
`, `s.yaml:6:23: spec: spec.network.allowTo[0]: expected one of cidr, host, and namespace with labels (write two rules)`},
		{"a cidr that is an address", own + `  network: {allowTo: [{cidr: 10.0.0.1}]}
`, `s.yaml:6:30: spec: spec.network.allowTo[0].cidr: "10.0.0.1" is an address: expected a range (write 10.0.0.1/32)`},
		{"a cidr with bits of an address", own + `  network: {allowTo: [{cidr: 10.0.0.1/8}]}
`, `s.yaml:6:30: spec: spec.network.allowTo[0].cidr: "10.0.0.1/8" has bits of an address after the first 8 (write 10.0.0.0/8)`},
		{"a cidr that is a word", own + `  network: {allowTo: [{cidr: all}]}
`, `s.yaml:6:30: spec: spec.network.allowTo[0].cidr: "all" is not a range of addresses: expected one such as 10.0.0.0/8`},
		{"an exception that is outside", own + `  network: {allowTo: [{cidr: 10.0.0.0/8, except: [11.0.0.0/16]}]}
`, `s.yaml:6:51: spec: spec.network.allowTo[0].except[0]: "11.0.0.0/16" is not inside of the cidr, which is 10.0.0.0/8`},
		{"an exception that is all", own + `  network: {allowTo: [{cidr: 10.0.0.0/8, except: [10.0.0.0/8]}]}
`, `s.yaml:6:51: spec: spec.network.allowTo[0].except[0]: "10.0.0.0/8" is not inside of the cidr, which is 10.0.0.0/8`},
		{"an exception of nothing", own + `  network: {allowTo: [{namespace: a, except: [10.0.0.0/8]}]}
`, `s.yaml:6:46: spec: spec.network.allowTo[0].except: excludes addresses of a cidr, and there is none (write cidr too)`},
		{"a host that calls", own + `  network: {allowFrom: [{host: a.example}]}
`, `s.yaml:6:32: spec: spec.network.allowFrom[0].host: callers have addresses and no host (write cidr)`},
		{"a host without ports", own + `  network: {allowTo: [{host: a.example}]}
`, `s.yaml:6:30: spec: spec.network.allowTo[0].host: a host needs ports (write ports: [443], or those that they are)`},
		{"a host that is a Service", own + `  network: {allowTo: [{host: db.shop.svc, ports: [5432]}]}
`, `s.yaml:6:30: spec: spec.network.allowTo[0].host: "db.shop.svc" is in the cluster, where policies go by the labels of pods (write namespace and labels)`},
		{"a host that is an address", own + `  network: {allowTo: [{host: 10.0.0.1, ports: [1]}]}
`, `s.yaml:6:30: spec: spec.network.allowTo[0].host: "10.0.0.1" is an address and no host (write cidr)`},
		{"a host of one word", own + `  network: {allowTo: [{host: db, ports: [1]}]}
`, `s.yaml:6:30: spec: spec.network.allowTo[0].host: "db" is not a host: expected a DNS name such as api.example.com or *.example.com`},
		{"no labels", own + `  network: {allowFrom: [{labels: {}}]}
`, `s.yaml:6:34: spec: spec.network.allowFrom[0].labels: must not be empty (remove it for all pods of the namespace)`},
		{"a label that is none", own + `  network: {allowFrom: [{labels: {"a b": "c d"}}]}
`, `s.yaml:6:35: spec: spec.network.allowFrom[0].labels["a b"]: "a b" is not a key: the name must have 1 to 63 letters, digits, -, _ and dots, with a letter or a digit at both ends`},
		{"a value of a label that is none", own + `  network: {allowFrom: [{labels: {a: "c d"}}]}
`, `s.yaml:6:38: spec: spec.network.allowFrom[0].labels.a: "c d" is not the value of a label: expected up to 63 letters, digits, -, _ and dots, with a letter or a digit at both ends`},
		{"a namespace of a peer that is none", own + `  network: {allowFrom: [{namespace: A_B}]}
`, `s.yaml:6:37: spec: spec.network.allowFrom[0].namespace: "A_B" is not a namespace: expected up to 63 of a-z, 0-9 and -`},
		{"a port that is none", own + `  network: {allowFrom: [{ports: [0]}]}
`, `s.yaml:6:34: spec: spec.network.allowFrom[0].ports[0]: 0 is out of range: expected 1 to 65535`},
		{"a port by name", own + `  network: {allowFrom: [{ports: [http]}]}
`, `s.yaml:6:34: spec: spec.network.allowFrom[0].ports[0]: expected a number or a map, got a string`},
		{"a port twice", own + `  network: {allowFrom: [{ports: [80, {port: 80, protocol: TCP}]}]}
`, `s.yaml:6:38: spec: spec.network.allowFrom[0].ports[1]: port 80 of TCP is written twice`},
		{"no ports", own + `  network: {allowFrom: [{namespace: a, ports: []}]}
`, `s.yaml:6:47: spec: spec.network.allowFrom[0].ports: must not be empty (remove it for all ports)`},
		{"an unknown protocol", own + `  network: {allowFrom: [{ports: [{port: 80, protocol: tcp}]}]}
`, `s.yaml:6:55: spec: spec.network.allowFrom[0].ports[0].protocol: "tcp" is not known: expected TCP, UDP (did you mean "TCP"?)`},
	})
}

// inScore has all of it in a Score file, where it goes under metadata.
const inScore = `apiVersion: score.dev/v1b1
metadata:
  name: api
  replicas:
    min: 0
    max: 5
    pollingInterval: 10
    cooldown: 60
    queue: {name: jobs, length: 5, activation: 1, resource: db, tls: true, database: 2}
    cron: [{start: "0 8 29 2 *", end: "0 9 29 2 *", replicas: 1}]
    http: {concurrency: 10, rate: 5, hosts: ["*.example.com"], paths: [/api], port: www, namespace: keda}
  identity: {azure: {clientId: 12345678-90ab-cdef-1234-567890abcdef, tenantId: 22345678-90ab-cdef-1234-567890abcdef}}
  network:
    allowFrom: []
    allowTo: [{labels: {app: valkey}, ports: [6379, {port: 53, protocol: UDP}]}, {host: "*.example.com", ports: [443]}]
  containers: {web: {resources: {requests: {ephemeral-storage: 1Gi}, limits: {ephemeral-storage: 2Gi}}}}
containers:
  web:
    image: nginx
    resources: {requests: {cpu: 100m}}
resources:
  db: {type: redis}
`

func TestExtrasOfAScoreFileScaleAndAllow(t *testing.T) {
	w, errs := decode(t, inScore)
	require.Empty(t, said(errs))
	require.True(t, w.Replicas.Triggered())
	require.JSONEq(t, `{"activation":1,"database":2,"length":5,"name":"jobs","tls":true}`, string(w.Replicas.Queue.Settings.JSON()))
	require.Equal(t, "db", w.Replicas.Queue.Resource.Value)
	require.Equal(t, "10 60", w.Replicas.PollingInterval.Text+" "+w.Replicas.Cooldown.Text)
	require.Equal(t, "azure.workload.identity/use", w.PodLabels[0].Name)
	require.Equal(t, []string{"azure.workload.identity/client-id", "azure.workload.identity/tenant-id"},
		[]string{w.ServiceAccount.Annotations[0].Name, w.ServiceAccount.Annotations[1].Name})
	require.NotNil(t, w.Network.From, "empty is not absent")
	require.Empty(t, w.Network.From)
	require.Equal(t, "UDP", w.Network.To[0].Ports[1].Protocol)
	require.Equal(t, "*.example.com", w.Network.To[1].Host.Value)
	web := w.Containers[0]
	require.Equal(t, []string{"cpu", "ephemeral-storage"}, []string{web.Requests[0].Name, web.Requests[1].Name})
	require.Equal(t, "2Gi", web.Limits[0].Value.Value)
}

func TestAnAnnotationOfAzureLabelsThePodsToo(t *testing.T) {
	w, errs := decode(t, own+"  serviceAccount: {annotations: {azure.workload.identity/client-id: x}}\n")
	require.Empty(t, said(errs))
	require.Len(t, w.PodLabels, 1)
	require.Equal(t, "azure.workload.identity/use", w.PodLabels[0].Name)
	require.Equal(t, "true", w.PodLabels[0].Value.Value)
}

func TestMessagesOnAmountsThatScoreDoesNotHave(t *testing.T) {
	in := func(amounts string) string {
		return strings.Replace(head, "name: api", "name: api\n  containers: {web: {resources: "+amounts+"}}", 1)
	}
	told(t, []message{
		{"cpu has its place", in("{limits: {cpu: 1}}"), `s.yaml:4:43: spec: metadata.containers.web.resources.limits.cpu: unknown field "cpu" (it goes under resources of the container itself)`},
		{"more than the limit", in(`{limits: {ephemeral-storage: 1Gi}, requests: {ephemeral-storage: 2Gi}}`), `s.yaml:4:98: spec: metadata.containers.web.resources.requests.ephemeral-storage: "2Gi" is more than the limit, which is "1Gi"`},
		{"thousandths of a byte", in(`{limits: {ephemeral-storage: 400m}}`), `s.yaml:4:62: spec: metadata.containers.web.resources.limits.ephemeral-storage: "400m" is in thousandths of a byte (write "400M" or "400Mi")`},
		{"where Score has none", head + "    resources: {limits: {ephemeral-storage: 1Gi}}\n", `s.yaml:7:26: spec: containers.web.resources.limits.ephemeral-storage: unknown field "ephemeral-storage" (what Score does not know goes under metadata.containers.NAME.resources)`},
	})
}

func TestWithoutATriggerNothingIsOfKEDA(t *testing.T) {
	for _, text := range []string{"replicas: 3", "replicas: {min: 1, max: 3, cron: []}", "replicas: {max: 3, queue: null, cron: null, http: null}"} {
		w, errs := decode(t, own+"  "+text+"\n")
		require.Empty(t, said(errs))
		require.False(t, w.Replicas.Triggered(), text)
	}
	require.False(t, (*score.Replicas)(nil).Triggered())
}
