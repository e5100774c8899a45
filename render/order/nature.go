// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// nature is what an engine makes of a node.
type nature struct {
	ref object.Ref
	// ready is whether there is anything to wait for once it is applied.
	ready bool
	// authored readiness is a readyWhen, which ends all doubt.
	authored bool
	// unknown kinds may well have a readiness, but the engine does not see it.
	unknown bool
	custom  bool
	// works is for the kinds of Kubernetes that run pods.
	works bool
	trap  Trap
	// stage and rank place the kind inside a wave.
	stage, rank int
}

// engine is rules made ready for looking up.
type engine struct {
	Rules
	rank  map[string]int
	ready map[string]bool
	traps map[Trap]bool
}

func newEngine(r Rules) *engine {
	e := &engine{Rules: r, rank: map[string]int{}, ready: map[string]bool{}, traps: map[Trap]bool{}}
	for i, k := range r.First {
		e.rank[k] = i - len(r.First)
	}
	for i, k := range r.Last {
		e.rank[k] = i + 1
	}
	for _, k := range r.Ready {
		e.ready[k] = true
	}
	for _, t := range r.Traps {
		e.traps[t] = true
	}
	return e
}

// natures are what the engine makes of the nodes of a graph. An autoscaler that an
// edge leads to is no trap: a canary waits for it, and would do so for ever where it
// comes in a later wave.
func (e *engine) natures(g *graph.Graph) []nature {
	referred := map[object.ID]bool{}
	for _, edge := range g.Edges {
		referred[edge.To] = true
	}
	classes := storageClasses(g.Nodes)
	out := make([]nature, len(g.Nodes))
	for i, n := range g.Nodes {
		out[i] = e.nature(n, classes)
		if out[i].trap == TrapAutoscaler && referred[n.ID] {
			out[i].trap = TrapNone
		}
	}
	return out
}

// nature is what the engine makes of n. classes tell how the StorageClasses of
// the render bind claims.
func (e *engine) nature(n *object.Node, classes map[string]string) nature {
	r := n.Object.Ref()
	v := nature{ref: r, custom: graph.IsCustom(r.Group), stage: e.stage(r.Kind), rank: e.rank[r.Kind]}
	v.ready = e.hasReadiness(r, v.custom) || e.traps[conditional(n.Object, r)]
	v.unknown = v.custom && !v.ready
	v.works = r.Group == "apps" || r.Group == "batch"
	switch rule := readyWhen(n); {
	case rule == nil:
		v.trap = e.trap(n.Object, v, classes)
	case *rule:
		v.ready, v.authored, v.unknown = true, true, false
	default:
		v.ready, v.unknown = false, false
	}
	return v
}

// readyWhen is nil where the author said nothing, false where it is enough
// that the object exists, true where there is a condition to wait for.
func readyWhen(n *object.Node) *bool {
	if len(n.ReadyWhen) == 0 {
		return nil
	}
	waits := slices.ContainsFunc(n.ReadyWhen, func(r object.Ready) bool { return r.Type != object.ReadyExists })
	return &waits
}

func (e *engine) stage(kind string) int {
	for i, s := range e.Stages {
		if slices.Contains(s.Kinds, kind) {
			return i
		}
		for _, suffix := range s.Suffixes {
			if strings.HasSuffix(kind, suffix) {
				return i
			}
		}
	}
	return len(e.Stages)
}

func (e *engine) hasReadiness(r object.Ref, custom bool) bool {
	if e.ready[r.GroupKind()] || e.ready["*."+r.Group] || custom && e.ReadyCustom {
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

// conditional is the trap of an object whose kind is ready at once in most
// cases, but not in this one.
func conditional(o object.Object, r object.Ref) Trap {
	switch {
	case r.GroupKind() == "Service" && o.Text("spec", "type") == "LoadBalancer":
		return TrapLoadBalancer
	case r.GroupKind() == "CronJob.batch" && o.Get("spec", "suspend") == true:
		return TrapStopped
	}
	return TrapNone
}

// trap is why the engine may wait for o without end.
func (e *engine) trap(o object.Object, v nature, classes map[string]string) Trap {
	if !v.ready {
		return TrapNone
	}
	t := conditional(o, v.ref)
	switch v.ref.GroupKind() {
	case "Ingress.networking.k8s.io", "Ingress.extensions":
		t = TrapIngress
	case "Gateway.gateway.networking.k8s.io":
		t = TrapGateway
	case "HTTPRoute.gateway.networking.k8s.io", "GRPCRoute.gateway.networking.k8s.io", "TLSRoute.gateway.networking.k8s.io":
		t = TrapRoute
	case "Deployment.apps":
		if o.Get("spec", "paused") == true {
			t = TrapPaused
		}
	case "Job.batch":
		if o.Get("spec", "suspend") == true {
			t = TrapSuspended
		}
	case "HorizontalPodAutoscaler.autoscaling":
		t = TrapAutoscaler
	case "PersistentVolumeClaim":
		if waitsForConsumer(o, classes) {
			t = TrapClaim
		}
	}
	if !e.traps[t] {
		return TrapNone
	}
	return t
}

// waitsForConsumer reports whether a claim may bind only when a pod uses it.
// One that names its volume, or whose class is in the render and binds at once,
// does not; of other classes nothing is known, and most clouds' default waits.
func waitsForConsumer(o object.Object, classes map[string]string) bool {
	if o.Text("spec", "volumeName") != "" {
		return false
	}
	mode, known := classes[o.Text("spec", "storageClassName")]
	return !known || mode == "WaitForFirstConsumer"
}

// storageClasses is how the StorageClasses among nodes bind claims.
func storageClasses(nodes []*object.Node) map[string]string {
	modes := map[string]string{}
	for _, n := range nodes {
		if n.Object.Ref().GroupKind() == "StorageClass.storage.k8s.io" {
			modes[n.Object.Name()] = n.Object.Text("volumeBindingMode")
		}
	}
	return modes
}

// place compares the places of two kinds inside a wave, and then everything
// else that the files are sorted by.
func (v nature) place(w nature) int {
	return cmp.Or(
		cmp.Compare(v.stage, w.stage),
		cmp.Compare(v.rank, w.rank),
		strings.Compare(v.ref.Group, w.ref.Group),
		strings.Compare(v.ref.Kind, w.ref.Kind),
		strings.Compare(v.ref.Namespace, w.ref.Namespace),
		strings.Compare(v.ref.Name, w.ref.Name),
	)
}

// before reports whether the engine surely applies v before w where both are
// in one wave.
func (e *engine) before(v, w nature) bool {
	switch {
	case e.KeepsOrder:
		return true
	case v.stage != w.stage:
		return v.stage < w.stage
	case e.Serial:
		return v.place(w) < 0
	}
	return v.rank < w.rank
}
