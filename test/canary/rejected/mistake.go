// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rejected

import (
	"slices"
	"strings"
)

// mistake is what is wrong with a spec: what its module wants of the secret, or does
// with it. IN is the secret.
type mistake struct {
	name string
	// schema is the type of the field; "" has no such field.
	schema string
	// use is the graph of the module.
	use string
}

// good is a graph without a mistake.
const good = `graph: nodes: c: object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "SPEC"}`

// object is a graph with one object of a kind.
func object(kind, body string) string {
	return "graph: nodes: o: object: {" + kind + ", " + body + "}"
}

// mistakes are all of them.
func mistakes() []mistake {
	const (
		configMap  = `apiVersion: "v1", kind: "ConfigMap"`
		secret     = `apiVersion: "v1", kind: "Secret", metadata: name: "SPEC"` //nolint:gosec // it has none
		service    = `apiVersion: "v1", kind: "Service", metadata: name: "SPEC"`
		deployment = `apiVersion: "apps/v1", kind: "Deployment", metadata: name: "SPEC"`
	)
	pod := func(spec, container string) string {
		return object(deployment, `spec: {selector: matchLabels: app: "a", `+spec+`template: {metadata: labels: app: "a", spec: containers: [{name: "a", image: "a:1", `+container+`}]}}`)
	}
	out := []mistake{{"an unknown field", "", good}}
	for name, schema := range map[string]string{
		"an integer": "int", "a boolean": "bool", "a map": "{a: int}", "a list": "[...int]", "bytes": "bytes", "null": "null",
		"a pattern": `=~"^[a-z]{3}$"`, "no pattern": `!~"."`, "a length": "strings.MaxRunes(3)", "a constant": `"other"`, "a choice": `"a" | "b"`,
		"a default": `*"a" | "b"`, "a bound": ">10", "two": `string & strings.MinRunes(100000)`, "a map or a number": "{a: int} | int", "a conflict": `"x" & "y"`,
	} {
		out = append(out, mistake{name, schema, good})
	}
	for name, use := range map[string]string{
		"a number of it":       object(configMap, `metadata: name: "SPEC", data: n: "\(strconv.Atoi(IN))"`),
		"JSON of it":           object(configMap, `metadata: name: "SPEC", data: n: json.Unmarshal(IN).x`),
		"YAML of it":           object(configMap, `metadata: name: "SPEC", data: n: yaml.Unmarshal(IN).x`),
		"base64 of it":         object(configMap, `metadata: name: "SPEC", data: n: "\(base64.Decode(null, "%" + IN))"`),
		"a duration of it":     object(configMap, `metadata: name: "SPEC", data: n: "\(time.ParseDuration(IN))"`),
		"a pattern of it":      object(configMap, `metadata: name: "SPEC", data: n: "\(regexp.FindAll("(" + IN, "x", 3))"`),
		"an index of it":       object(configMap, `metadata: name: "SPEC", data: n: {a: "1"}[IN]`),
		"a sum with it":        object(configMap, `metadata: name: "SPEC", data: n: IN + 1`),
		"a list of data":       object(configMap, `metadata: name: "SPEC", data: n: [IN]`),
		"a key of data":        object(configMap, `metadata: name: "SPEC", data: {"\(IN)": "a", n: 3}`),
		"a name":               object(configMap, `metadata: name: IN`),
		"a part of a name":     object(configMap, `metadata: name: "a-\(IN)-b"`),
		"a namespace":          object(configMap, `metadata: {name: "SPEC", namespace: IN}`),
		"a label":              object(configMap, `metadata: {name: "SPEC", labels: {a: IN, "-": "x"}}`),
		"a key of a label":     object(configMap, `metadata: {name: "SPEC", labels: {"\(IN)": "a", "-": "x"}}`),
		"too long a label":     object(configMap, `metadata: {name: "SPEC", labels: a: strings.Repeat(IN, 10)}`),
		"an annotation's key":  object(configMap, `metadata: {name: "SPEC", annotations: {"\(IN)": "a", "-": "x"}}`),
		"a number's place":     pod(`replicas: IN, `, ``),
		"a port":               pod(``, `ports: [{containerPort: IN}]`),
		"a quantity":           pod(``, `resources: limits: memory: IN`),
		"a variable twice":     pod(``, `env: [{name: "A", value: IN}, {name: "A", value: IN}]`),
		"a variable's name":    pod(``, `env: [{name: IN, value: "a", valuo: IN}]`),
		"a path":               pod(``, `volumeMounts: [{name: "nope", mountPath: IN}]`),
		"a schedule":           object(`apiVersion: "batch/v1", kind: "CronJob", metadata: name: "SPEC"`, `spec: schedule: IN`),
		"a type of a service":  object(service, `spec: {type: IN, ports: [{port: 80}]}`),
		"an unknown member":    object(service, `spec: {"\(IN)": 1, ports: [{port: 80}]}`),
		"a host":               object(`apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: name: "SPEC"`, `spec: rules: [{host: IN}]`),
		"a kind":               object(`apiVersion: "v1", kind: IN`, `metadata: name: "SPEC"`),
		"a version":            object(`apiVersion: IN, kind: "ConfigMap"`, `metadata: name: "SPEC"`),
		"a node":               `graph: nodes: (IN): object: {` + configMap + `, metadata: name: "SPEC"}`,
		"a dependency":         `graph: nodes: a: {dependsOn: [IN], object: {` + configMap + `, metadata: name: "SPEC"}}`,
		"a rule of readiness":  `graph: nodes: a: {readyWhen: [{type: IN}], object: {` + configMap + `, metadata: name: "SPEC"}}`,
		"CEL of readiness":     `graph: nodes: a: {readyWhen: [{type: "CEL", expr: "object." + IN + "("}], object: {` + configMap + `, metadata: name: "SPEC"}}`,
		"a mode":               `graph: nodes: a: {apply: mode: IN, object: {` + configMap + `, metadata: name: "SPEC"}}`,
		"an error of it":       `graph: nodes: a: object: {` + configMap + `, metadata: name: error("no \(IN)")}`,
		"a Secret":             object(secret, `stringData: a: IN`),
		"a Secret in base64":   object(secret, `data: a: base64.Encode(null, IN)`),
		"a Secret, no base64":  object(secret, `data: a: IN + "%"`),
		"a Secret with a map":  object(secret, `stringData: a: {b: IN}`),
		"a Secret's type":      object(secret, `stringData: {a: IN, b: 3}`),
		"a Secret, two values": object(secret, `stringData: {a: IN, a: "other"}`),
		"a Secret, no field":   object(secret, `stringDatum: a: IN`),
		"a list of Secrets":    object(`apiVersion: "v1", kind: "List", metadata: {}`, `items: [{`+secret+`, stringData: a: IN}]`),
		"what was applied":     object(configMap, `metadata: {name: "SPEC", annotations: "kubectl.kubernetes.io/last-applied-configuration": json.Marshal({kind: "Secret", stringData: a: IN})}`),
	} {
		out = append(out, mistake{name, "_", use})
	}
	slices.SortFunc(out, func(a, b mistake) int { return strings.Compare(a.name, b.name) })
	return out
}

// syntax are what is wrong with the text of a document: the lines behind the field. F is
// its name, V the secret again, and I the indent.
func syntax() map[string]string {
	return map[string]string{
		"the field twice": "IF: V\n", "an open quote": "IF2: \"V\n", "a tab": "I\tF: V\n", "a bracket": "IF2: ]\n", "an alias": "IF2: *nope V\n",
		"less indent": strings.Repeat(" ", 1) + "F: V\n", "two values": "IF2: V: V\n", "a text behind a text": "IF2: \"a\" V\n",
		"an escape": "IF2: \"\\q V\"\n", "an open map": "IF2: {F: V\n", "an open list": "IF2: [V, {F: V\n",
		"a key of two lines": "I\"F\n  F\": V\n", "a merge": "I<<: {F: V}\n", "a zero byte": "IF2: \"V\x00\"\n", "no UTF-8": "IF2: \"V\xff\"\n",
		"a key that is a map": "I? {F: V}\n", "a tag": "IF2: !!int V\n", "bytes": "IF2: !!binary V\n", "two documents": "---\nF: V\n", "more more": "IF2: &F V\nIF3: *F\nI? *F\n",
	}
}
