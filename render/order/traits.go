// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// traits are the properties of a node for an engine.
type traits struct {
	ref object.Ref
	// ready is whether there is anything to wait for once the node is applied.
	ready bool
	// authored readiness is a readyWhen, which leaves no doubt.
	authored bool
	// unknown kinds may well have a readiness, but the engine does not see it.
	unknown bool
	custom  bool
	// workload is for the kinds of Kubernetes that run pods.
	workload bool
	// neverReady is why the engine may wait for the node forever, "" where it does not.
	neverReady dialect.NeverReady
	// stage and rank are the position of the kind inside a wave.
	stage, rank int
}

// engine is a dialect with its rules indexed.
type engine struct {
	dialect.Dialect
	rank       map[string]int
	ready      map[string]bool
	neverReady map[dialect.NeverReady]bool
}

func newEngine(d dialect.Dialect) *engine {
	e := &engine{Dialect: d, rank: map[string]int{}, ready: map[string]bool{}, neverReady: map[dialect.NeverReady]bool{}}
	for i, k := range d.First {
		e.rank[k] = i - len(d.First)
	}
	for i, k := range d.Last {
		e.rank[k] = i + 1
	}
	for _, k := range d.Ready {
		e.ready[k] = true
	}
	for _, r := range d.NeverReady {
		e.neverReady[r] = true
	}
	return e
}

// allTraits returns the traits of the nodes of a graph. An autoscaler that an edge leads to is
// waited for: a canary needs it, and would wait forever if it came in a later wave.
func (e *engine) allTraits(g *graph.Graph) []traits {
	referred := map[object.ID]bool{}
	for _, edge := range g.Edges {
		referred[edge.To] = true
	}
	classes := storageClasses(g.Nodes)
	out := make([]traits, len(g.Nodes))
	for i, n := range g.Nodes {
		out[i] = e.traits(n, classes)
		if out[i].neverReady == dialect.AutoscalerIdle && referred[n.ID] {
			out[i].neverReady = ""
		}
	}
	return out
}

// traits returns what the engine makes of n. The argument classes tells how the StorageClasses of
// the render bind claims.
func (e *engine) traits(n *object.Node, classes map[string]string) traits {
	r := n.Object.Ref()
	t := traits{ref: r, custom: object.IsCustom(r.Group), stage: e.stage(r.Kind), rank: e.rank[r.Kind]}
	t.ready = e.hasReadiness(r, t.custom) || e.neverReady[sometimesNeverReady(n.Object, r)]
	t.unknown = t.custom && !t.ready
	t.workload = r.Group == "apps" || r.Group == "batch"
	switch {
	case len(n.ReadyWhen) == 0:
		t.neverReady = e.whyNeverReady(n.Object, t, classes)
	case slices.ContainsFunc(n.ReadyWhen, func(r object.Ready) bool { return r.Type != object.ReadyExists }):
		t.ready, t.authored, t.unknown = true, true, false
	default: // It is enough that the object exists.
		t.ready, t.unknown = false, false
	}
	return t
}

func (e *engine) stage(kind string) int {
	for i, s := range e.Stages {
		if slices.Contains(s.Kinds, kind) || slices.ContainsFunc(s.Suffixes, func(end string) bool { return strings.HasSuffix(kind, end) }) {
			return i
		}
	}
	return len(e.Stages)
}

func (e *engine) hasReadiness(r object.Ref, custom bool) bool {
	isListed := e.ready[r.GroupKind()] || e.ready["*."+r.Group]
	if isListed || (custom && e.ReadyCustom) {
		return true
	}
	for group := r.Group; group != ""; {
		_, group, _ = strings.Cut(group, ".")
		if e.ready["*.*."+group] {
			return true
		}
	}
	return false
}

// sometimesNeverReady returns why an object may never be ready whose kind is ready at once in
// most cases. It returns "" for other objects.
func sometimesNeverReady(o object.Object, r object.Ref) dialect.NeverReady {
	switch {
	case r.GroupKind() == "Service" && o.Text("spec", "type") == "LoadBalancer":
		return dialect.LoadBalancerAddress
	case r.GroupKind() == "CronJob.batch" && o.Get("spec", "suspend") == true:
		return dialect.CronJobSuspended
	}
	return ""
}

// whyNeverReady returns why the engine may wait for o forever, or "" if it does not.
func (e *engine) whyNeverReady(o object.Object, t traits, classes map[string]string) dialect.NeverReady {
	if !t.ready {
		return ""
	}

	// Each kind has reasons of its own.
	why := sometimesNeverReady(o, t.ref)
	switch t.ref.GroupKind() {
	case "Ingress.networking.k8s.io", "Ingress.extensions":
		why = dialect.IngressAddress
	case "Gateway.gateway.networking.k8s.io":
		why = dialect.GatewayAddress
	case "HTTPRoute.gateway.networking.k8s.io", "GRPCRoute.gateway.networking.k8s.io", "TLSRoute.gateway.networking.k8s.io":
		why = dialect.RouteAccepted
	case "Deployment.apps":
		if o.Get("spec", "paused") == true {
			why = dialect.DeploymentPaused
		}
	case "Job.batch":
		if o.Get("spec", "suspend") == true {
			why = dialect.JobSuspended
		}
	case "HorizontalPodAutoscaler.autoscaling":
		why = dialect.AutoscalerIdle
	case "PersistentVolumeClaim":
		if waitsForConsumer(o, classes) {
			why = dialect.ClaimUnbound
		}
	}

	// The engine may know nothing of the reason.
	if !e.neverReady[why] {
		return ""
	}
	return why
}

// waitsForConsumer reports whether a claim may bind only when a pod uses it. One
// that names its volume, or whose class is in the render and binds at once, does not;
// of other classes nothing is known, and the default of most clouds waits.
func waitsForConsumer(o object.Object, classes map[string]string) bool {
	if o.Text("spec", "volumeName") != "" {
		return false
	}
	mode, known := classes[o.Text("spec", "storageClassName")]
	return !known || mode == "WaitForFirstConsumer"
}

// storageClasses returns how the StorageClasses among nodes bind claims.
func storageClasses(nodes []*object.Node) map[string]string {
	modes := map[string]string{}
	for _, n := range nodes {
		if n.Object.Ref().GroupKind() == "StorageClass.storage.k8s.io" {
			modes[n.Object.Name()] = n.Object.Text("volumeBindingMode")
		}
	}
	return modes
}

// compare orders nodes by the position of their kinds inside a wave, and then by
// everything else that the files are sorted by.
func (t traits) compare(u traits) int {
	return cmp.Or(
		cmp.Compare(t.stage, u.stage),
		cmp.Compare(t.rank, u.rank),
		t.ref.Compare(u.ref),
	)
}

// before reports whether the engine surely applies t before u where both are in the same wave.
func (e *engine) before(t, u traits) bool {
	switch {
	case e.KeepsOrder:
		return true
	case t.stage != u.stage:
		return t.stage < u.stage
	case e.Serial:
		return t.compare(u) < 0
	}
	return t.rank < u.rank
}
