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
// knativeTarget that of the container where the author gives none.
const (
	KnativePort   = 80
	knativeTarget = 8080
)

// The bounds of Knative, as they are unless the cluster sets others in config-defaults. The
// table has that of the limit of requests.
const (
	usualMaxTimeout = 600
	// maxRetention is the longest time in seconds that the last pod may be kept.
	maxRetention = 3600
)

func (d *decoder) isKnative() bool { return d.out.Kind.Value == KindKnativeService }

// addServing adds a field to what Knative serves and scales by.
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
	limit, timeout := p.get("concurrencyLimit"), p.get("timeout")
	_, limited := limit.number()
	seconds, timed := timeout.number()
	const hint = "write kind: KnativeService"
	r := d.out.Replicas
	requests := r != nil && r.HTTP.Kind != object.KindNone
	switch {
	case !d.isKnative() && !requests:
		p.fail(hint+", or replicas.http", "nothing counts the requests of the workload")
	case !d.isKnative() && limit.given():
		limit.fail(hint+", or replicas.http.concurrency", "KEDA's HTTP add-on has no limit of requests")
	case d.isKnative() && timed && seconds > usualMaxTimeout:
		timeout.warn("", "Knative refuses more than %d seconds, unless max-revision-timeout-seconds of its ConfigMap config-defaults is higher", usualMaxTimeout)
	}
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
	most, _ := strconv.Atoi(p.Text)
	if n, _ := strconv.Atoi(target.Text); n > most {
		p.warn("", "Knative scales by it, as the concurrency that pods are scaled by is higher: %d", n)
	}
}

// decodeKnativeReplicas decodes a number, or {min, max, cooldown, http: {concurrency | rate}}.
// Knative scales by requests, and from zero if min is not given.
func (d *decoder) decodeKnativeReplicas(p part) {
	if n, ok := p.number(); ok {
		if n < 1 {
			p.fail("", "%d is out of range: expected 1 to %d", n, math.MaxInt32)
		}
		d.addServing("min", p.Value)
		d.addServing("max", p.Value)
		return
	}

	// Anything else is a map, in which each field is optional.
	least, most, cooldown := p.get("min"), p.get("max"), p.get("cooldown")
	if n, ok := cooldown.number(); ok {
		if n > maxRetention {
			cooldown.fail("", "%d is out of range: expected 0 to %d", n, maxRetention)
		}
		d.addServing("cooldown", cooldown.Value)
	}

	// The bounds have to fit each other.
	n, from := least.number()
	m, to := most.number()
	if from {
		d.addServing("min", least.Value)
	}
	if to {
		d.addServing("max", most.Value)
	}
	if from && to && m < n {
		most.fail("", "max is %d, less than min, which is %d", m, n)
	}
	if http := p.get("http"); http.given() {
		d.decodeKnativeRequests(http)
	}
}

// able reports whether Knative can do what a field asks for. It adds a mistake if not.
func (d *decoder) able(by document.Set, what string, pos object.Pos, at object.Path) bool {
	switch {
	case by&kinds.Knative != 0:
		return true
	case strings.HasPrefix(what, "replicas.http."):
		d.Fail(pos, at, "remove it", "is for KEDA's HTTP add-on: Knative knows which requests are for the workload")
	default:
		d.Fail(pos, at, "write http: {concurrency: 100}, or kind: Deployment", "Knative scales by requests alone")
	}
	return false
}

// decodeKnativeRequests decodes how many requests one pod is meant to have.
func (d *decoder) decodeKnativeRequests(p part) {
	concurrency, rate := p.get("concurrency"), p.get("rate")
	switch {
	case count(concurrency, rate) != 1:
		p.fail("write one of concurrency: 100 and rate: 50 for requests per second, of one pod", "expected one of concurrency and rate, got %d", count(concurrency, rate))
	case concurrency.given():
		d.addServing("metric", object.Value{Kind: object.KindString, Pos: concurrency.Pos, Text: "concurrency"})
		d.addServing("target", concurrency.Value)
	default:
		d.addServing("metric", object.Value{Kind: object.KindString, Pos: rate.Pos, Text: "rps"})
		d.addServing("target", rate.Value)
	}
}

// checkKnative reports what the webhook of Knative refuses of what the author writes of the
// workload itself. It adds a port if there is none.
func (d *decoder) checkKnative(at func(name string) *location) {
	if !d.isKnative() {
		return
	}
	if len(d.out.Ports) == 0 {
		d.out.Ports = []Port{{Name: "http", Pos: d.out.Kind.Pos, Port: KnativePort, Target: knativeTarget, Protocol: "TCP"}}
	}
	for i, p := range d.out.Ports {
		path := d.service().To("ports", p.Name)
		switch {
		case i > 0:
			d.fail(p.Pos, path, "remove it, or write kind: Deployment", "a KnativeService has one port, and %q is another", d.out.Ports[0].Name)
		case p.Protocol != "TCP":
			d.fail(p.Pos, path, "write kind: Deployment", "a KnativeService serves HTTP, and the port is of %s", p.Protocol)
		case p.Port != KnativePort:
			d.fail(p.Pos, path, "write port: 80 and targetPort: "+strconv.Itoa(p.Target), "Knative answers at port 80, and not at %d", p.Port)
		case slices.Contains([]int{8008, 8012, 8013, 8022, 9090, 9091}, p.Target):
			d.fail(p.Pos, path, "let the container listen at another port, such as 8080", "port %d of the pods is Knative's own", p.Target)
		}
	}
	if budget, ok := d.out.Passed.Get("disruption"); ok {
		d.fail(budget.Pos, at("disruption"), "remove it", "a KnativeService has no disruption budget: Knative starts and stops its pods")
	}
	for _, a := range d.out.Annotations {
		if strings.HasPrefix(a.Name, "autoscaling.knative.dev") {
			d.fail(a.NamePos, at("annotations").To(a.Name), "move it to podAnnotations", "Knative wants it at the template of the pods")
		}
	}
}
