// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// own begins a Workload document that is whole.
const own = `apiVersion: ropewalk.dev/v1alpha1
kind: Workload
metadata: {name: api}
spec:
  containers: {web: {image: nginx}}
`

// message is what a document is told.
type message struct{ name, text, want string }

func told(t *testing.T, tests []message) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, errs := decode(t, tt.text)
			require.Equal(t, tt.want+"\n", said(errs))
		})
	}
}

func TestMessagesOnOlderFormsAndMisplacedFields(t *testing.T) {
	old := strings.Replace(head, "score.dev", "score.sh", 1)
	told(t, []message{
		{"old files have another apiVersion", old, `warning s.yaml:1:13: spec: apiVersion: "score.sh/v1b1" is an older name, read as "score.dev/v1b1" (write apiVersion: score.dev/v1b1)`},
		{"old resources declare properties", head + "resources: {db: {type: postgres, properties: {host: null}}}\n", `warning s.yaml:7:46: spec: resources.db.properties: older files declare outputs here; the outputs of a resource follow from its type (remove properties)`},
		{"an image that is null is refused", strings.Replace(head, "nginx", "null", 1), `s.yaml:6:12: spec: containers.web.image: is null, but must be given (write image: . where it is given at deployment)`},
		{"resources that are null are not given", head + "    resources:\n", `warning s.yaml:7:15: spec: containers.web.resources: null is read as not set (remove the field)`},
		{"a resource that is null is refused", head + "resources: {db: }\n", `s.yaml:7:17: spec: resources.db: expected a map with the type of the resource, got null (write {type: postgres}, or the type that it is)`},
		{"a pull policy is read", head + "    pullPolicy: Always\n", `warning s.yaml:7:17: spec: containers.web.pullPolicy: Score has no pullPolicy; it is read as imagePullPolicy (write metadata.containers.NAME.imagePullPolicy)`},
		{"a name with an underscore is refused", strings.Replace(head, "web:", "my_web:", 1), `s.yaml:5:3: spec: containers.my_web: "my_web" is not a DNS label: expected a-z, 0-9 and -, with a letter or a digit at both ends (write "my-web")`},
		{"a name of one letter is refused in Score", strings.Replace(head, "web:", "w:", 1), `s.yaml:5:3: spec: containers.w: "w" has one letter, and Score requires 2 to 63 (a document of ropewalk.dev/v1alpha1 and kind Workload may have such a name)`},
		{"a required field with a typo is one mistake", strings.Replace(head, "image:", "imag:", 1), `s.yaml:6:5: spec: containers.web.imag: unknown field "imag" (did you mean "image"?)`},
		{"a name with a typo is one mistake", strings.Replace(head, "name:", "nam:", 1), `s.yaml:3:3: spec: metadata.nam: unknown field "nam" (did you mean "name"?)`},
		{"containers with a typo are one mistake", strings.Replace(head, "containers:", "container:", 1), `s.yaml:4:1: spec: container: unknown field "container" (did you mean "containers"?)`},
		{"the action of a probe with a typo is one mistake", head + "    livenessProbe: {httpget: {path: /, port: 80}}\n", `s.yaml:7:21: spec: containers.web.livenessProbe.httpget: unknown field "httpget" (did you mean "httpGet"?)`},
		{"the content of a file with a typo is one mistake", head + "    files: {/a: {contents: x}}\n", `s.yaml:7:18: spec: containers.web.files./a.contents: unknown field "contents" (did you mean "content"?)`},
		{"a list of files without a target", head + "    files: [{content: x}]\n", `warning s.yaml:7:12: spec: containers.web.files: a list is an older form (write a map from path to what is there)
s.yaml:7:13: spec: containers.web.files[0].target: is missing (write target: /path/in/the/container)`},
		{"a kind of ours in a Score file", strings.Replace(head, "metadata:", "kind: Workload\nmetadata:", 1), `s.yaml:2:1: spec: kind: unknown field "kind" (remove it: a Score file has no kind, and what makes its pods goes under metadata)`},
		{"a kind of Kubernetes in a Score file", strings.Replace(head, "metadata:", "kind: StatefulSet\nmetadata:", 1), `s.yaml:2:1: spec: kind: unknown field "kind" (remove it: a Score file has no kind, and what makes its pods goes under metadata)`},
		{"a spec in a Score file", "apiVersion: score.dev/v1b1\nmetadata: {name: api}\nspec: {containers: {web: {image: nginx}}}\n", `s.yaml:3:1: spec: spec: unknown field "spec" (a Score file has no spec: move what is below it to the top, or write apiVersion: ropewalk.dev/v1alpha1 and kind: Workload)`},
		{"containers beside the spec of a Workload", "apiVersion: ropewalk.dev/v1alpha1\nkind: Workload\nmetadata: {name: api}\ncontainers: {web: {image: nginx}}\n", `s.yaml:4:1: spec: containers: unknown field "containers" (move it under spec)`},
		{"the metadata of the author are not guessed at", strings.Replace(head, "metadata:", "metadata:\n  description: x\n  dependOn: []", 1), `warning s.yaml:4:3: spec: metadata.dependOn: "dependOn" has no meaning here (did you mean "dependsOn"?)`},
		{"files as a list are read", head + "    files: [{target: /a, content: [x, y]}]\n", `warning s.yaml:7:12: spec: containers.web.files: a list is an older form (write a map from path to what is there)
warning s.yaml:7:35: spec: containers.web.files[0].content: a list of lines is an older form (write a block scalar: content: |)`},
		{"read_only is read", head + "    volumes: [{target: /a, source: data, read_only: true}]\n", `warning s.yaml:7:14: spec: containers.web.volumes: a list is an older form (write a map from path to what is there)
warning s.yaml:7:53: spec: containers.web.volumes[0].read_only: read_only is an older name (write readOnly)`},
		{"a whole number is taken as text without being shown", head + "    variables: {PORT: 8080}\n", `warning s.yaml:7:23: spec: containers.web.variables.PORT: expected a string, got a number, which is read as text (write it in quotes)`},
		{"a number with a point is refused without being shown", head + "    variables: {V: 1.10}\n", `s.yaml:7:20: spec: containers.web.variables.V: expected a string, got a number (write it in quotes)`},
		{"a variable that is null is refused", head + "    variables: {V: }\n", `s.yaml:7:20: spec: containers.web.variables.V: expected a string, got null (write "" for empty text)`},
		{"the annotation of score-k8s is read", strings.Replace(head, "name: api", "name: api\n  annotations: {k8s.score.dev/kind: StatefulSet}", 1), `warning s.yaml:4:37: spec: metadata.annotations["k8s.score.dev/kind"]: the annotation of score-k8s is read as kind (write metadata.kind: StatefulSet)`},
		{"memory in K is refused", head + "    resources: {limits: {memory: 128K}}\n", `s.yaml:7:34: spec: containers.web.resources.limits.memory: "128K" is not a quantity of Kubernetes (write "128k" or "128Ki")`},
		{"memory in thousandths is refused", head + "    resources: {limits: {memory: 128m}}\n", `s.yaml:7:34: spec: containers.web.resources.limits.memory: "128m" is in thousandths of a byte (write "128M" or "128Mi")`},
		{"memory without a unit is warned of", head + "    resources: {limits: {memory: \"128\"}}\n", `warning s.yaml:7:34: spec: containers.web.resources.limits.memory: 128 bytes are hardly enough for a container (write a unit, such as "128Mi")`},
		{"memory that is a number is one mistake", head + "    resources: {limits: {memory: 512}}\n", `warning s.yaml:7:34: spec: containers.web.resources.limits.memory: 512 bytes are hardly enough for a container (write a unit, such as "128Mi")`},
		{"an image without its tag", strings.Replace(head, "nginx", "'nginx:'", 1), `s.yaml:6:12: spec: containers.web.image: expected an image such as ghcr.io/org/app:1.2, got "nginx:" (write the tag, or "nginx")`},
		{"an image in upper case", strings.Replace(head, "nginx", "NGINX:1", 1), `s.yaml:6:12: spec: containers.web.image: expected an image such as ghcr.io/org/app:1.2, got "NGINX:1" (write "nginx:1")`},
		{"an image that is a URL", strings.Replace(head, "nginx", "https://ghcr.io/a/b:1", 1), `s.yaml:6:12: spec: containers.web.image: expected an image such as ghcr.io/org/app:1.2, got "https://ghcr.io/a/b:1" (remove what is before //, and //)`},
		{"fields of other formats", own + "  ingress: {}\n  minReplicas: 2\n  image: x\n  ports: [80]\n", `s.yaml:6:3: spec: spec.ingress: unknown field "ingress" (a host is a resource: resources: {web: {type: route, params: {host: HOST, path: /, port: PORT}}})
s.yaml:7:3: spec: spec.minReplicas: unknown field "minReplicas" (write replicas: {min: …, max: …})
s.yaml:8:3: spec: spec.image: unknown field "image" (it goes under containers.NAME)
s.yaml:9:3: spec: spec.ports: unknown field "ports" (write service: {ports: {http: {port: …}}})`},
		{"a field of another format in a Score file", head + "minReplicas: 2\n", `s.yaml:7:1: spec: minReplicas: unknown field "minReplicas" (write metadata.replicas: {min: …, max: …})`},
		{"a request over the limit is refused", head + "    resources: {limits: {cpu: 100m}, requests: {cpu: \"1\"}}\n", `s.yaml:7:54: spec: containers.web.resources.requests.cpu: "1" is more than the limit, which is "100m"`},
		{"an unknown field has a near name", head + "    comand: [x]\n", `s.yaml:7:5: spec: containers.web.comand: unknown field "comand" (did you mean "command"?)`},
		{"an extra at the root of Score has a place", head + "replicas: 2\n", `s.yaml:7:1: spec: replicas: unknown field "replicas" (in a Score file it goes under metadata)`},
		{"an extra in a container of Score has a place", head + "    securityContext: {}\n", `s.yaml:7:5: spec: containers.web.securityContext: unknown field "securityContext" (in a Score file it goes under metadata.containers.NAME)`},
		{"timing in a probe of Score has a place", head + "    livenessProbe: {exec: {command: [a]}, periodSeconds: 3}\n", `s.yaml:7:43: spec: containers.web.livenessProbe.periodSeconds: unknown field "periodSeconds" (in a Score file it goes under metadata.containers.NAME.livenessProbe)`},
		{"a direction in a resource of Score has a place", head + "resources: {db: {type: service, direction: inbound}}\n", `s.yaml:7:33: spec: resources.db.direction: unknown field "direction" (in a Score file it goes under metadata of the resource)`},
		{"a misspelt extra of Score is warned of", strings.Replace(head, "name: api", "name: api\n  replica: 2", 1), `warning s.yaml:4:3: spec: metadata.replica: "replica" has no meaning here (did you mean "replicas"?)`},
		{"an extra in the metadata of a Workload has a place", strings.Replace(own, "name: api", "name: api, replicas: 2", 1), `s.yaml:3:23: spec: metadata.replicas: unknown field "replicas" (move it under spec)`},
		{"an extra of a container that is not there", strings.Replace(head, "name: api", "name: api\n  containers: {wbe: {}}", 1), `s.yaml:4:16: spec: metadata.containers.wbe: there is no container "wbe" (did you mean "web"?)`},
	})
}

func TestMessagesOnValues(t *testing.T) {
	told(t, []message{
		{"a scheme is in upper case", head + "    livenessProbe: {httpGet: {port: 80, path: /, scheme: https}}\n", `s.yaml:7:58: spec: containers.web.livenessProbe.httpGet.scheme: "https" is not known: expected HTTP, HTTPS (did you mean "HTTPS"?)`},
		{"Score prefers exec", head + "    livenessProbe: {httpGet: {port: 80, path: /}, exec: {command: [a]}}\n", `warning s.yaml:7:30: spec: containers.web.livenessProbe.httpGet: Score prefers exec where a probe has both: httpGet is left out (remove one of them)`},
		{"a probe has one action", strings.Replace(own, "nginx", "nginx, startupProbe: {httpGet: {port: 80, path: /}, exec: {command: [a]}}", 1), `s.yaml:5:87: spec: spec.containers.web.startupProbe.exec: a probe has one action, got a second (remove one of them)`},
		{"a probe has an action", strings.Replace(own, "nginx", "nginx, startupProbe: {periodSeconds: 1}", 1), `s.yaml:5:50: spec: spec.containers.web.startupProbe: a probe has one of httpGet, exec, tcpSocket, grpc`},
		{"a probe names a port that is there", strings.Replace(own, "nginx", "nginx, startupProbe: {tcpSocket: {port: www}}", 1) + "  service: {ports: {wwv: {port: 1}}}\n", `s.yaml:5:69: spec: spec.containers.web.startupProbe.tcpSocket.port: the service has no port "www" (did you mean "wwv"?)`},
		{"a file and a volume are at one path", head + "    files: {/a/b: {content: x}}\n    volumes: {//a/./b/: {source: x}}\n", `s.yaml:8:15: spec: containers.web.volumes["//a/./b/"]: another file or volume is at "/a/b" already, in line 7`},
		{"a file is below a file", head + "    files: {/a: {content: x}, /a/b/c: {content: y}}\n", `s.yaml:7:31: spec: containers.web.files./a/b/c: "/a/b/c" is below "/a", which is a file`},
		{"a relative path is refused", head + "    files: {a/b: {content: x}}\n", `s.yaml:7:13: spec: containers.web.files.a/b: "a/b" is relative: expected a path from the root of the container (write "/a/b")`},
		{"a file has one content", head + "    files: {/a: {content: x, source: y}}\n", `s.yaml:7:13: spec: containers.web.files./a: a file has one of content, binaryContent and source, got 2`},
		{"a mode in a number is refused", head + "    files: {/a: {content: x, mode: 0644}}\n", `s.yaml:7:36: spec: containers.web.files./a.mode: expected a string, got a number (write three octal digits in quotes, such as "0644")`},
		{"binary content is base64", head + "    files: {/a: {binaryContent: \"?secret?\"}}\n", `s.yaml:7:33: spec: containers.web.files./a.binaryContent: is not base64 (write the content in base64 (RFC 4648), or use content for text)`},
		{"a container comes before one that is there", head + "    before: {wed: {ready: started}, web: {ready: started}}\n", `s.yaml:7:14: spec: containers.web.before.wed: there is no container "wed" (did you mean "web"?)
s.yaml:7:37: spec: containers.web.before.web: container "web" comes before itself (name the container that waits)`},
		{"a cycle is printed", head + "    before: {bb: {ready: started}}\n  bb: {image: x, before: {cc: {ready: started}}}\n  cc: {image: x, before: {web: {ready: started}}}\n", `s.yaml:7:14: spec: containers.web.before.bb: cycle: bb -> cc -> web -> bb (remove one of them)`},
		{"a command is a list", head + "    command: /bin/sh -c x\n", `s.yaml:7:14: spec: containers.web.command: expected a list, got a string (write a list, such as ["/bin/app", "--verbose"])`},
		{"placeholders in arguments stay as they are", head + "    args: [\"${resources.db.host}\", \"${HOME}\"]\n", `warning s.yaml:7:12: spec: containers.web.args[0]: "${resources.db.host}" is not expanded: placeholders have no effect here (put it into a variable and write $(VARIABLE) here)`},
		{"a placeholder in arguments is not closed", head + "    args: [\"${resources.db.host\"]\n", `warning s.yaml:7:12: spec: containers.web.args[0]: "${resources.db.host" is not expanded: placeholders have no effect here (put it into a variable and write $(VARIABLE) here)`},
		{"two ports of a service differ", head + "service: {ports: {aa: {port: 80}, bb: {port: 80}, cc: {port: 80, protocol: UDP}}}\n", `s.yaml:7:39: spec: service.ports.bb: TCP port 80 is that of "aa" already`},
		{"a canary is one of a Deployment", own + "  kind: StatefulSet\n  deploy: {strategy: canary}\n", `s.yaml:7:11: spec: spec.deploy: only a Deployment has canaries, and this is a StatefulSet (write strategy: rolling)`},
		{"a CronJob has a schedule", own + "  kind: CronJob\n", `s.yaml:6:9: spec: spec.schedule: is missing: a CronJob requires one (write schedule: "0 3 * * *", or the one that it is)`},
		{"a Job has no replicas", own + "  kind: Job\n  replicas: 2\n", `s.yaml:7:13: spec: spec.replicas: a Job has no replicas (see job: {parallelism: …})`},
		{"replicas go up", own + "  replicas: {min: 3, max: 2}\n", `s.yaml:6:27: spec: spec.replicas.max: max is 2, less than min, which is 3`},
		{"an autoscaler keeps a pod", own + "  replicas: {min: 0, max: 2}\n", `s.yaml:6:13: spec: spec.replicas: an autoscaler keeps one pod at least (write min: 1 or more, or a queue, cron or http, which start a pod where there is none)`},
		{"a target needs an autoscaler", own + "  replicas: {min: 2, cpu: 50}\n", `s.yaml:6:27: spec: spec.replicas.cpu: a target in percent of the request needs an autoscaler (write max too)`},
		{"the Services of a canary are Flagger's", own + "  service: {ports: {a: {port: 80}}, headless: true}\n  deploy: {strategy: canary}\n", `s.yaml:6:47: spec: spec.service.headless: the Services of a KnativeService and of a workload with canaries are made in the cluster, and are not headless (remove it)`},
		{"an interval is no number of seconds", own + "  deploy: {canary: {interval: 60}}\n", `s.yaml:6:31: spec: spec.deploy.canary.interval: expected a duration such as 1m or 30s, got a number`},
		{"an interval is a time", own + "  deploy: {canary: {interval: 1h}}\n", `s.yaml:6:31: spec: spec.deploy.canary.interval: "1h" is not a number of minutes or seconds, such as 1m or 30s`},
		{"a step is no more than the whole", own + "  deploy: {canary: {stepWeight: 60}}\n", `s.yaml:6:33: spec: spec.deploy.canary.stepWeight: is 60, more than maxWeight, which is 50`},
		{"a share is a share", own + "  disruption: {minAvailable: 101%}\n", `s.yaml:6:30: spec: spec.disruption.minAvailable: "101%" is not a percentage: expected 0% to 100%`},
		{"an account that exists is not annotated", own + "  serviceAccount: {name: x, existing: true, annotations: {a: b}}\n", `s.yaml:6:58: spec: spec.serviceAccount.annotations: an account that exists already is left as it is (annotate the account where it is made)`},
		{"labels that select are ours", own + "  labels: {app.kubernetes.io/name: x}\n", `s.yaml:6:12: spec: spec.labels["app.kubernetes.io/name"]: "app.kubernetes.io/name" is set by Ropewalk, because objects find their pods by it`},
		{"the label of configs is ours", own + "  labels: {ropewalk.dev/config-type: x}\n", `s.yaml:6:12: spec: spec.labels["ropewalk.dev/config-type"]: "ropewalk.dev/config-type" is set by Ropewalk, to what a ConfigMap or an ExternalSecret holds`},
		{"containers of the pod stand elsewhere", own + "  pod: {initContainers: []}\n", `s.yaml:6:9: spec: spec.pod.initContainers: "initContainers" is set by Ropewalk (init containers go under containers; before defines the order)`},
		{"a workload does not wait for itself", own + "  dependsOn: [api, x, x]\n", `s.yaml:6:15: spec: spec.dependsOn[0]: "api" is this workload itself
s.yaml:6:23: spec: spec.dependsOn[2]: "x" is written twice`},
	})
}

func TestOlderFormsMeanWhatTheyMeant(t *testing.T) {
	w, errs := decode(t, head+`    pullPolicy: Always
    variables: {PORT: 8080, DEBUG: true}
    files: [{target: /a, content: [x, y]}]
    volumes: [{target: /v, source: data, read_only: true}]
    resources: {requests: {cpu: ".5"}}
`)
	require.Empty(t, errs.Failures())
	c := w.Containers[0]
	require.Equal(t, `{"imagePullPolicy":"Always"}`, string(c.Further.JSON()))
	require.Equal(t, "true", c.Variables[0].Value.Value)
	require.Equal(t, "8080", c.Variables[1].Value.Value)
	require.Equal(t, "x\ny", c.Files[0].Content.Value)
	require.True(t, c.Volumes[0].ReadOnly)
	require.Equal(t, "0.5", c.Requests[0].Value.Value)
}

func TestMemoryComesOutInWholeBytes(t *testing.T) {
	for in, want := range map[string]string{"0.5Gi": "0.5Gi", "1.5M": "1.5M", "1.1Mi": "1153434", "64Mi": "64Mi"} {
		w, errs := decode(t, head+"    resources: {limits: {memory: "+in+"}}\n")
		require.Empty(t, said(errs), in)
		require.Equal(t, want, w.Containers[0].Limits[0].Value.Value)
	}
}

// TestNoMessageRepeatsWhatMayBeSecret puts one word wherever a text of the author
// may be a password, in every wrong form.
func TestNoMessageRepeatsWhatMayBeSecret(t *testing.T) {
	const canary = "hunter2hunter2"
	for _, text := range []string{
		`    variables: {A: [` + canary + `], B: {x: ` + canary + `}, C: "` + canary + `\0", D: 4242424242, E: 42.42}`,
		`    files: {/a: {binaryContent: "?` + canary + `"}, /b: {content: {x: ` + canary + `}}, /c: {content: ` + canary + `, source: x}}`,
		`    files: [{target: /a, content: [{x: ` + canary + `}]}]`,
		`    unknown: ` + canary,
	} {
		_, errs := decode(t, head+text+"\nresources: {db: {type: x1, params: [\""+canary+"\"]}}\n")
		require.NotEmpty(t, errs)
		require.NotContains(t, said(errs), canary)
		require.NotContains(t, said(errs), "4242")
	}
}

// grown is a document of values made here, as files of this size are not read.
func grown(fields ...object.Member) score.Document {
	text := func(s string) object.Value {
		return object.Value{Kind: object.KindString, Text: s, Pos: object.Pos{File: "s.yaml", Line: 1}}
	}
	mapOf := func(m ...object.Member) object.Value {
		return object.Value{Kind: object.KindMap, Members: m, Pos: object.Pos{File: "s.yaml", Line: 1}}
	}
	field := func(name string, v object.Value) object.Member {
		return object.Member{Name: name, Value: v, Pos: v.Pos}
	}
	web := mapOf(append(fields, field("image", text("nginx")))...)
	return score.Document{Score: true, Value: mapOf(field("apiVersion", text("score.dev/v1b1")),
		field("metadata", mapOf(field("name", text("api")))), field("containers", mapOf(field("web", web))))}
}

func TestLargeInputIsHandledQuickly(t *testing.T) {
	value := func(s string) object.Value {
		return object.Value{Kind: object.KindString, Text: s, Pos: object.Pos{File: "s.yaml", Line: 1}}
	}
	many := func(n int, name string, v object.Value) object.Value {
		m := object.Value{Kind: object.KindMap, Pos: v.Pos}
		for i := range n {
			m.Members = append(m.Members, object.Member{Name: fmt.Sprintf(name, i), Value: v, Pos: v.Pos})
		}
		return m
	}
	large := strings.Repeat("x", 16<<20)
	file := func(field, content string) object.Value {
		return many(1, "/big%d", many(1, field+"%.0d", value(content)))
	}
	waits := func(n int) object.Value { return many(n, "c%d", many(1, "ready%.0d", value("started"))) }
	circles := grown()
	containers := many(300, "c%d", object.Value{})
	for i := range containers.Members {
		others := waits(300)
		others.Members = slices.Delete(others.Members, i, i+1)
		containers.Members[i].Value = object.Value{Kind: object.KindMap, Pos: others.Pos, Members: []object.Member{
			{Name: "image", Value: value("x")}, {Name: "before", Value: others},
		}}
	}
	circles.Value.Members[2].Value = containers
	tests := []struct {
		name string
		doc  score.Document
		want string
	}{
		{"a content of 16 MiB", grown(object.Member{Name: "files", Value: file("content", large)}),
			`containers.web.files./big0: "/big0" has 16777216 bytes, more than the 1048576 that a ConfigMap can hold`},
		{"binary content of 16 MiB", grown(object.Member{Name: "files", Value: file("binaryContent", base64.StdEncoding.EncodeToString([]byte(large)))}),
			`"/big0" has 16777216 bytes`},
		{"a name of 16 MiB", grown(object.Member{Name: large, Value: value("x")}), "unknown field"},
		{"100,000 variables", grown(object.Member{Name: "variables", Value: many(100_000, "V%d", value("x"))}), ""},
		{"100,000 unknown fields", grown(many(100_000, "unknown%d", value("x")).Members...), "unknown field"},
		{"100,000 files in deep folders", grown(object.Member{Name: "files", Value: many(100_000, "/a/b/c/d/e/f/%d", many(1, "content%.0d", value("")))}), ""},
		{"unknown containers by the thousand", grown(object.Member{Name: "before", Value: waits(100_000)}), "there is no container"},
		{"containers that all wait for each other", circles, "cycle: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			_, errs := score.Decode(tt.doc)
			require.Less(t, time.Since(began), 15*time.Second)
			require.LessOrEqual(t, len(errs), 100)
			require.Less(t, len(errs.Error()), 100_000)
			if tt.want == "" {
				require.Empty(t, said(errs))
				return
			}
			require.Contains(t, said(errs), tt.want)
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range []string{head, own, ownForm, scoreForm, "{}", "[]", "null", "\"a\\nb\": {}", head + "    \"a\\nb\": {}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := spec.ParseValue(spec.File{Name: "f", Data: data})
		if err != nil {
			return
		}
		for _, isScore := range []bool{true, false} {
			w, errs := score.Decode(score.Document{Value: v, Score: isScore})
			for _, e := range errs {
				require.Equal(t, object.StageSpec, e.Stage)
				require.NotContains(t, e.Error(), "\n")
			}
			if errs.Err() == nil {
				require.NotEmpty(t, w.Name.Value)
				require.NotEmpty(t, w.Containers)
			}
		}
	})
}

func TestAJobIsToldWhatItsServiceAndItsTimeToLiveMean(t *testing.T) {
	told(t, []message{
		{"a Job that goes away comes back", own + "  kind: Job\n  job: {ttlSecondsAfterFinished: 60}\n", `warning s.yaml:7:34: spec: spec.job.ttlSecondsAfterFinished: a Job that the cluster deletes is missing for the engine, which creates it again, so that it runs again (remove it, or write kind: CronJob)`},
		{"ports of a Job are there for a while", own + "  kind: Job\n  service: {ports: {http: {port: 80}}}\n", `warning s.yaml:7:21: spec: spec.service: the pods of a Job run to an end: others reach the service only while they do`},
		{"ports of a Job in Score", strings.Replace(head, "name: api", "name: api\n  kind: Job", 1) + "service: {ports: {http: {port: 80}}}\n", `warning s.yaml:8:19: spec: service: the pods of a Job run to an end: others reach the service only while they do`},
	})
	_, errs := decode(t, own+"  kind: CronJob\n  schedule: \"0 3 * * *\"\n  job: {ttlSecondsAfterFinished: 60}\n")
	require.Empty(t, errs, "a CronJob makes its Jobs itself")
}
