// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

// KnativePort is the port at which a Service of Knative answers in the cluster, and
// knativeTarget the default port of the container.
const (
	KnativePort   = 80
	knativeTarget = 8080
)

// The default bounds of Knative, which a cluster can change in config-defaults. The table has the
// bound of concurrencyLimit.
const (
	usualMaxTimeout = 600
	// maxRetention is the longest time in seconds that the last pod may be kept.
	maxRetention = 3600
)

func (d *decoder) isKnative() bool { return d.out.Kind.Value == KindKnativeService }

// addServing adds a field to Serving.
func (d *decoder) addServing(name string, p object.Value) {
	if d.out.Serving.Kind == object.KindNone {
		d.out.Serving = object.Value{Kind: object.KindMap, Pos: p.Pos}
	}
	d.out.Serving.Members = append(d.out.Serving.Members, object.Member{Name: name, Pos: p.Pos, Value: p})
}

// decodeServing decodes {concurrencyLimit, timeout}.
func (d *decoder) decodeServing(p part) {
	if !p.given() {
		return
	}
	limit, timeout := p.field("concurrencyLimit"), p.field("timeout")
	_, limited := limit.number()
	seconds, timed := timeout.number()
	const hint = "write kind: KnativeService"

	// Check that something counts the requests.
	r := d.out.Replicas
	requests := r != nil && r.HTTP.Kind != object.KindNone
	switch {
	case !d.isKnative() && !requests:
		p.reject(hint+", or replicas.http", "nothing counts the requests of the workload")
	case !d.isKnative() && limit.given():
		limit.reject(hint+", or replicas.http.concurrency", "KEDA's HTTP add-on has no limit of requests")
	case d.isKnative() && timed && seconds > usualMaxTimeout:
		timeout.advise("", "Knative refuses more than %d seconds, "+
			"unless max-revision-timeout-seconds of its ConfigMap config-defaults is higher", usualMaxTimeout)
	}

	// Pass them on.
	if limited {
		d.addServing("concurrencyLimit", limit.Value)
	}
	if timed {
		d.addServing("timeout", timeout.Value)
	}
	metric, _ := d.out.Serving.Get("metric")
	if n, ok := d.out.Serving.Get("target"); ok && metric.Text == "concurrency" && limited && limit.Text != "0" {
		limit.warnBelow(n)
	}
}

// warnBelow warns of a limit of requests that is reached before the pods are scaled.
func (p part) warnBelow(target object.Value) {
	limit, _ := strconv.Atoi(p.Text)
	if n, _ := strconv.Atoi(target.Text); n > limit {
		p.advise("", "Knative scales by it, as the concurrency that pods are scaled by is higher: %d", n)
	}
}

// decodeKnativeReplicas decodes a number, or {min, max, cooldown, http: {concurrency | rate}}.
// Knative scales by requests, and from zero if min is not given.
func (d *decoder) decodeKnativeReplicas(p part) {
	if lowest, ok := p.number(); ok {
		if lowest < 1 {
			p.reject("", "%d is out of range: expected 1 to %d", lowest, math.MaxInt32)
		}
		d.addServing("min", p.Value)
		d.addServing("max", p.Value)
		return
	}

	// A map has only optional fields.
	minimum, maximum, cooldown := p.field("min"), p.field("max"), p.field("cooldown")
	if lowest, ok := cooldown.number(); ok {
		if lowest > maxRetention {
			cooldown.reject("", "%d is out of range: expected 0 to %d", lowest, maxRetention)
		}
		d.addServing("cooldown", cooldown.Value)
	}

	// The bounds have to fit each other.
	lowest, hasMin := minimum.number()
	highest, hasMax := maximum.number()
	if hasMin {
		d.addServing("min", minimum.Value)
	}
	if hasMax {
		d.addServing("max", maximum.Value)
	}
	if hasMin && hasMax && highest < lowest {
		maximum.reject("", "max is %d, less than min, which is %d", highest, lowest)
	}
	if http := p.field("http"); http.given() {
		d.decodeKnativeRequests(http)
	}
}

// checkKnativeCan reports whether Knative supports a field, and adds a mistake if it does not.
func (d *decoder) checkKnativeCan(support document.Set, what string, pos object.Pos, path object.Path) bool {
	switch {
	case support&kinds.Knative != 0:
		return true
	case strings.HasPrefix(what, "replicas.http."):
		d.Fail(pos, path, "remove it", "is for KEDA's HTTP add-on: Knative knows which requests are for the workload")
	default:
		d.Fail(pos, path, "write http: {concurrency: 100}, or kind: Deployment", "Knative scales by requests alone")
	}
	return false
}

// decodeKnativeRequests decodes the number of requests that one pod should have.
func (d *decoder) decodeKnativeRequests(p part) {
	concurrency, rate := p.field("concurrency"), p.field("rate")
	switch {
	case count(concurrency, rate) != 1:
		hint := "write one of concurrency: 100 and rate: 50 for requests per second, of one pod"
		p.reject(hint, "expected one of concurrency and rate, got %d", count(concurrency, rate))
	case concurrency.given():
		d.addServing("metric", object.Value{Kind: object.KindString, Pos: concurrency.Pos, Text: "concurrency"})
		d.addServing("target", concurrency.Value)
	default:
		d.addServing("metric", object.Value{Kind: object.KindString, Pos: rate.Pos, Text: "rps"})
		d.addServing("target", rate.Value)
	}
}

// checkKnative reports fields of the workload that the webhook of Knative would refuse. It adds a
// port if there is none.
func (d *decoder) checkKnative(field func(name string) *location) {
	if !d.isKnative() {
		return
	}
	if len(d.out.Ports) == 0 {
		d.out.Ports = []Port{{Name: "http", Pos: d.out.Kind.Pos, Port: KnativePort, Target: knativeTarget, Protocol: "TCP"}}
	}

	// Knative serves one port, over HTTP.
	for i, p := range d.out.Ports {
		loc := d.service().To("ports", p.Name)
		switch {
		case i > 0:
			d.failAt(p.Pos, loc, "remove it, or write kind: Deployment", "a KnativeService has one port, and %q is another", d.out.Ports[0].Name)
		case p.Protocol != "TCP":
			d.failAt(p.Pos, loc, "write kind: Deployment", "a KnativeService serves HTTP, and the port is of %s", p.Protocol)
		case p.Port != KnativePort:
			d.failAt(p.Pos, loc, "write port: 80 and targetPort: "+strconv.Itoa(p.Target), "Knative answers at port 80, and not at %d", p.Port)
		case slices.Contains([]int{8008, 8012, 8013, 8022, 9090, 9091}, p.Target):
			d.failAt(p.Pos, loc, "let the container listen at another port, such as 8080", "port %d of the pods is Knative's own", p.Target)
		}
	}

	// Some fields have no place in a KnativeService.
	if budget, ok := d.out.Passed.Get("disruption"); ok {
		d.failAt(budget.Pos, field("disruption"), "remove it", "a KnativeService has no disruption budget: Knative starts and stops its pods")
	}
	for _, a := range d.out.Annotations {
		if strings.HasPrefix(a.Name, "autoscaling.knative.dev") {
			d.failAt(a.NamePos, field("annotations").To(a.Name), "move it to podAnnotations", "Knative wants it at the template of the pods")
		}
	}
}
