// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"cmp"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/reader"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Container is the name of the container of a function.
const Container = "function"

// The targets of a function.
const (
	targetKnative = "knative"
	targetKEDA    = "keda"
)

// defaultPort is where a function listens: the one that Knative gives it as PORT.
const defaultPort = "8080"

// same are the fields of a Function that a Workload has too.
func same() []string {
	return []string{
		"annotations", "dependsOn", "environment", "identity", "labels", "namespace", "network", "pod",
		"podAnnotations", "resources", "securityContext", "serviceAccount",
	}
}

// requests are the fields of scale that are about requests; the others are bounds.
func requests() []string { return []string{"concurrency", "hosts", "namespace", "paths", "rate"} }

func bounds() []string { return []string{"cooldown", "max", "min", "pollingInterval"} }

// Lower is the Workload that a Function is. The errors are what no Workload could say of
// it; it is to be decoded in any case.
func Lower(doc object.Value) (object.Value, object.Errors) {
	r := &reader.Reading{}
	root := r.Root(doc)
	root.Only("apiVersion", "kind", "metadata", "spec")
	body := root.At("spec")
	body.Only(append(same(), "concurrencyLimit", "container", "port", "scale", "target", "timeout")...)
	var out reader.Fields
	kind := target(body)
	out.Put("kind", kind)
	for _, name := range same() {
		out.Add(body.Value, name)
	}
	if c := body.At("container"); c.Given() {
		out.Put("containers", reader.Pairs(c.Pos, Container, c.Value))
	}
	out.Put("service", service(body))
	replicas := replicasOf(body.At("scale"), kind.Text == score.KindKnativeService)
	if !replicas.Given() && kind.Text == score.KindDeployment && body.Kind == object.KindMap {
		body.At("scale").Fail("write scale: {max: 10, concurrency: 100, hosts: [api.example.com]}", "is missing: KEDA needs to know how far to scale, and which requests to count")
	}
	if kind.Kind != object.KindNone { // What the fields mean depends on the target.
		out.Put("replicas", replicas.Value)
		out.Put("serving", reader.Pairs(body.Pos, "concurrencyLimit", body.At("concurrencyLimit").Value, "timeout", body.At("timeout").Value))
	}
	return workload(doc, out.Value(body.Pos)), r.Errs
}

// workload is doc with another kind and spec.
func workload(doc, body object.Value) object.Value {
	out := doc
	out.Members = nil
	for _, m := range doc.Members {
		switch m.Name {
		case "kind":
			m.Value.Kind, m.Value.Text = object.KindString, spec.KindWorkload
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
		out.Members = append(out.Members, object.Member{Name: "spec", Pos: doc.Pos, Value: object.Value{Kind: object.KindMap, Pos: doc.Pos}})
	}
	return out
}

// target is the kind of workload that a function becomes.
func target(p reader.Part) object.Value {
	t := p.At("target")
	switch {
	case !t.Given() || t.Text == targetKnative:
		return object.TextAt(score.KindKnativeService, cmp.Or(t.Pos, p.Pos))
	case t.Is(object.KindString) && t.Text != targetKEDA:
		t.Fail(object.Suggest(t.Text, []string{targetKEDA, targetKnative}), "%q is not known: expected %s or %s", t.Text, targetKnative, targetKEDA)
		return object.Value{}
	}
	return object.TextAt(score.KindDeployment, t.Pos)
}

// service is the port at which a function is called, and the one that it listens at.
func service(p reader.Part) object.Value {
	port := p.At("port")
	at := port.Value
	if !port.Given() {
		at = object.Value{Kind: object.KindNumber, Pos: p.Pos, Text: defaultPort}
	}
	one := reader.Pairs(at.Pos, "port", object.NumberAt(score.KnativePort, at.Pos), "targetPort", at)
	return reader.Pairs(at.Pos, "ports", reader.Pairs(at.Pos, "http", one))
}

// replicasOf is a number, or the bounds with what requests scale by. KEDA starts the first
// pod at a request, as Knative does, unless min is higher.
func replicasOf(p reader.Part, knative bool) reader.Part {
	if p.Kind != object.KindMap {
		return p
	}
	p.Only(append(bounds(), requests()...)...)
	var all, http reader.Fields
	for _, name := range bounds() {
		all.Add(p.Value, name)
	}
	for _, name := range requests() {
		http.Add(p.Value, name)
	}
	_, least := p.Get("min")
	if !least && !knative && len(http) > 0 {
		all.Put("min", object.NumberAt(0, p.Pos))
	}
	all.Put("http", http.Value(p.Pos))
	if p.Value = all.Value(p.Pos); p.Kind == object.KindNone {
		p.Value = object.Value{Kind: object.KindMap, Pos: p.Pos}
	}
	return p
}

// paths leads from the fields of a Workload to those of a Function, the longest first.
func paths() [][2]string {
	return [][2]string{
		{"spec.service.ports.http.targetPort", "spec.port"}, {"spec.service.ports.http", "spec.port"},
		{"spec.containers." + Container, "spec.container"}, {"spec.containers", "spec.container"},
		{"spec.replicas.http", "spec.scale"}, {"spec.replicas", "spec.scale"},
		{"spec.serving", "spec"}, {"spec.kind", "spec.target"},
	}
}

// Written is errors on a Workload as those on the Function that it is made of.
func Written(errs object.Errors) object.Errors {
	words := strings.NewReplacer(
		"kind: Deployment", "target: "+targetKEDA, "kind: KnativeService", "target: "+targetKnative,
		"replicas.http.concurrency", "scale.concurrency", "replicas.http", "scale.concurrency", "a workload has one container at least", "write container: {image: …}", "a KnativeService", "a function for Knative",
	)
	return reader.Written(errs, paths(), words)
}
