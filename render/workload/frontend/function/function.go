// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/builder"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Container is the name of the container of a function.
const Container = "function"

// The targets of a function.
const (
	targetKnative = "knative"
	targetKEDA    = "keda"
)

// defaultPort is the port that a function listens at: Knative passes it as PORT.
const defaultPort = "8080"

// sharedFields returns the fields of a Function that a Workload has too.
func sharedFields() []string {
	return []string{
		"annotations", "dependsOn", "environment", "identity", "labels", "namespace", "network", "pod",
		"podAnnotations", "resources", "securityContext", "serviceAccount",
	}
}

// requests returns the fields of scale that concern requests. The others are bounds.
func requests() []string { return []string{"concurrency", "hosts", "namespace", "paths", "rate"} }

// table is the table of a Function, whose shared fields the decoder of the Workload checks.
var table = sync.OnceValue(func() document.Field { //nolint:gochecknoglobals // a constant
	out := kinds.Function().Root.Judged("apiVersion", "kind", "metadata")
	for i, f := range out.Fields {
		if f.Name == "spec" {
			out.Fields[i] = f.Judged(append(sharedFields(), "concurrencyLimit", "container", "port", "timeout")...)
			out.Fields[i].Need = false // The decoder of the Workload requires it.
		}
	}
	return out
})

// Lower returns the Workload that a Function becomes. The errors concern the fields that no Workload
// has. The Workload is decoded in any case.
func Lower(doc object.Value) (object.Value, object.Errors) {
	d := &document.Decoder{}
	body := d.Hold(table(), doc, nil).At("spec")
	var out builder.Fields

	// Fields that a Workload has too keep their names.
	kind := target(body)
	out.Put("kind", kind)
	for _, name := range sharedFields() {
		out.Put(name, body.Field(name))
	}
	if c := body.At("container"); c.Given() {
		out.Put("containers", builder.Pairs(c.Pos, Container, c.Value))
	}
	out.Put("service", service(body))

	// The scale becomes replicas, whose fields depend on the target.
	replicas := replicasOf(body.At("scale"), kind.Text == score.KindKnativeService)
	if replicas.Kind == object.KindNone && kind.Text == score.KindDeployment {
		body.At("scale").Fail("write scale: {max: 10, concurrency: 100, hosts: [api.example.com]}",
			"is missing: KEDA needs to know how far to scale, and which requests to count")
	}
	if kind.Kind != object.KindNone {
		if !d.Known(object.Fields("spec", "scale")) {
			out.Put("replicas", replicas)
		}
		limits := builder.Pairs(body.Pos, "concurrencyLimit", body.At("concurrencyLimit").Value, "timeout", body.At("timeout").Value)
		out.Put("serving", limits)
	}
	return workload(doc, out.Value(body.Pos)), d.Errs
}

// workload returns doc with another kind and spec.
func workload(doc, body object.Value) object.Value {
	out := doc
	out.Members = nil
	for _, m := range doc.Members {
		switch m.Name {
		case "kind":
			m.Value.Kind = object.KindString
			m.Value.Text = spec.KindWorkload
		case "spec":
			m.Value = body
		case "apiVersion", "metadata":
		default:
			continue
		}
		if m.Value.Kind != object.KindNone {
			out.Members = append(out.Members, m)
		}
	}
	if _, ok := out.Get("spec"); !ok {
		empty := object.Value{Kind: object.KindMap, Pos: doc.Pos}
		out.Members = append(out.Members, object.Member{Name: "spec", Pos: doc.Pos, Value: empty})
	}
	return out
}

// target returns the kind of workload that a function becomes, or an absent value if its target
// has a mistake.
func target(p document.Part) object.Value {
	switch t := p.At("target"); {
	case t.Text == targetKEDA:
		return object.TextAt(score.KindDeployment, t.Pos)
	case p.Known(t.Path):
		return object.Value{}
	default:
		return object.TextAt(score.KindKnativeService, t.Pos)
	}
}

// service returns the port that callers use, and the port that the function listens at.
func service(p document.Part) object.Value {
	port := p.At("port")
	target := port.Value
	if !port.Given() {
		target = object.Value{Kind: object.KindNumber, Pos: p.Pos, Text: defaultPort}
	}
	mapping := builder.Pairs(target.Pos, "port", object.NumberAt(score.KnativePort, target.Pos), "targetPort", target)
	return builder.Pairs(target.Pos, "ports", builder.Pairs(target.Pos, "http", mapping))
}

// replicasOf returns a number, or the bounds and the requests to scale by. KEDA starts the first
// pod at a request, as Knative does, unless min is higher.
func replicasOf(p document.Part, knative bool) object.Value {
	if p.Kind != object.KindMap {
		return p.Value
	}
	var http object.Value
	out := p.Value
	for _, name := range requests() {
		v := p.Field(name)
		http = http.Merge(builder.Pairs(p.Pos, name, v))
		out = out.Without(object.Fields(name))
	}
	if !p.At("min").Given() && !knative && http.Kind != object.KindNone {
		out = out.Merge(builder.Pairs(p.Pos, "min", object.NumberAt(0, p.Pos)))
	}
	return out.Merge(builder.Pairs(p.Pos, "http", http))
}

// paths maps the fields of a Workload to the fields of a Function that they are made of, the
// longest first.
func paths() [][2]string {
	return [][2]string{
		{"spec.service.ports.http.targetPort", "spec.port"}, {"spec.service.ports.http", "spec.port"},
		{"spec.containers." + Container, "spec.container"}, {"spec.containers", "spec.container"},
		{"spec.replicas.http", "spec.scale"}, {"spec.replicas", "spec.scale"},
		{"spec.serving", "spec"}, {"spec.kind", "spec.target"},
	}
}

// Written returns errors on a Workload as errors on its Function.
func Written(errs object.Errors) object.Errors {
	words := strings.NewReplacer(
		"kind: Deployment", "target: "+targetKEDA, "kind: KnativeService", "target: "+targetKnative,
		"replicas.http.concurrency", "scale.concurrency", "replicas.http", "scale.concurrency",
		"a workload has one container at least", "write container: {image: …}", "a KnativeService", "a function for Knative",
	)
	return builder.Written(errs, paths(), words)
}
