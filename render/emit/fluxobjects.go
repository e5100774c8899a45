// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/render/object"
)

// DeliveryDir is the folder of the Flux objects that deliver a render. It may travel inside the
// artifact that they pull: each Kustomization applies the folder of its own layer only, so that no
// Kustomization applies this folder.
const DeliveryDir = "flux"

// Times of the Kustomizations: how long a layer may take to get ready, and when
// one that failed is tried again.
const (
	layerTimeout = 10 * time.Minute
	layerRetry   = 2 * time.Minute
)

// deliver writes the OCIRepository and one Kustomization for each layer. All layers share one
// source: Flux then holds a layer back until its dependency has applied the same revision. The
// order thus holds on updates as well.
func (w *writer) deliver() {
	// Rules that cannot be expressed are reported even if no repository is given.
	health := w.healthChecks()
	if w.opts.Repository == "" {
		return
	}

	// Each layer waits for the one before it, and checks what gates.
	source := label(w.opts.Name, "")
	w.addDelivery("ocirepository-"+source, w.ociRepository(source))
	for i, layer := range w.out.Layers {
		spec := map[string]any{
			"interval":      w.interval(),
			"retryInterval": duration(layerRetry),
			"timeout":       duration(health[i].timeout()),
			"path":          "./" + layer.Dir,
			"prune":         true,
			// Waiting for all would wait for what never gets ready by itself, such
			// as a claim without its pod; what gates is in healthChecks.
			"wait":      false,
			"sourceRef": map[string]any{"kind": "OCIRepository", "name": source},
		}
		if i > 0 {
			spec["dependsOn"] = []any{map[string]any{"name": w.out.Layers[i-1].Name}}
		}
		if len(health[i].checks) > 0 {
			spec["healthChecks"] = health[i].checks
		}
		if len(health[i].exprs) > 0 {
			spec["healthCheckExprs"] = health[i].exprs
		}
		w.addDelivery("kustomization-"+layer.Name, w.fluxDelivery("kustomize.toolkit.fluxcd.io/v1", "Kustomization", layer.Name, spec))
	}
}

func (w *writer) addDelivery(name string, o object.Object) {
	w.out.Files = append(w.out.Files, File{Path: DeliveryDir + "/" + name + ".yaml", Data: YAML(o), Wave: max(0, len(w.plan.Waves)-1)})
}

func (w *writer) fluxDelivery(apiVersion, kind, name string, spec map[string]any) object.Object {
	return object.Object{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": cmp.Or(w.opts.FluxNamespace, "flux-system")},
		"spec":     spec,
	}
}

func (w *writer) ociRepository(name string) object.Object {
	by := "tag"
	reference := cmp.Or(w.opts.Reference, "latest")
	if strings.Contains(reference, ":") {
		by = "digest"
	}
	spec := map[string]any{
		"interval": w.interval(),
		"url":      w.opts.Repository,
		"ref":      map[string]any{by: reference},
	}
	if w.opts.Insecure {
		spec["insecure"] = true
	}
	return w.fluxDelivery("source.toolkit.fluxcd.io/v1", "OCIRepository", name, spec)
}

func (w *writer) interval() string {
	return duration(cmp.Or(w.opts.Interval, time.Hour))
}

// duration drops the zero units that Go writes: 1h rather than 1h0m0s.
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// layerHealth lists the objects that a layer waits for.
type layerHealth struct {
	checks, exprs []any
	// longest bounds the wait for the objects: the longest of their timeouts, or the timeout of
	// layers for an object without a timeout.
	longest time.Duration
}

// timeout returns how long Flux waits for the layer. It is shorter than the default only where
// every object that it waits for has a timeout of its own.
func (h layerHealth) timeout() time.Duration { return cmp.Or(h.longest, layerTimeout) }

// healthChecks returns, for each layer, the objects that it waits for: those that something in a
// later layer waits for, and those with a readyWhen.
func (w *writer) healthChecks() []layerHealth {
	out := make([]layerHealth, len(w.plan.Waves))
	for i, wave := range w.plan.Waves {
		kinds := map[string][]waited{}
		var awaited []*object.Node
		for _, n := range wave.Nodes {
			exprs, problems := w.ready.of(n)
			w.reportProblems(n, problems)
			if !w.plan.Blocking[n.ID] && len(n.ReadyWhen) == 0 {
				continue
			}
			awaited = append(awaited, n)
			out[i].longest = max(out[i].longest, cmp.Or(n.Timeout(), layerTimeout))
			kind := n.Object.Ref().GroupKind()
			kinds[kind] = append(kinds[kind], waited{n, w.fluxRule(n, exprs)})
		}

		// Checks are sorted, and the objects of a kind share an expression.
		slices.SortFunc(awaited, func(a, b *object.Node) int { return a.Object.Ref().Compare(b.Object.Ref()) })
		for _, n := range awaited {
			out[i].checks = append(out[i].checks, healthCheck(n.Object))
		}
		for _, kind := range object.SortedKeys(kinds) {
			if e := w.healthExpr(kinds[kind]); e != nil {
				out[i].exprs = append(out[i].exprs, e)
			}
		}
	}
	return out
}

func healthCheck(o object.Object) map[string]any {
	check := map[string]any{"apiVersion": o.APIVersion(), "kind": o.Kind(), "name": o.Name()}
	if o.Namespace() != "" {
		check["namespace"] = o.Namespace()
	}
	return check
}
