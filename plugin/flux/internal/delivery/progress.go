// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/acl"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/readiness"
)

// States of nodes, beside StateForeign.
const (
	StateFailed     = "Failed"
	StateInProgress = "InProgress"
)

// progress returns the progress of the delivery.
func (d *delivery) progress(goals []goal) Progress {
	p := Progress{Changed: d.changed, Ready: true, NodesReadAt: d.readAt, Shared: printable.List(d.shared, 3)}
	done := true
	others := ""
	var first *v1alpha1.LayerStatus

	// The worst layer gives the message, and each layer can make the delivery fail.
	for _, g := range goals {
		layer := d.layer(g)
		if layer.State != v1alpha1.LayerReady {
			p.Ready = false
			if first == nil || isWorse(layer, *first) {
				first = &layer
			}
		}
		if k := d.live.kustomizations[g.layer]; k != nil && d.layers[g.layer] != nil && !d.touched[g.layer] {
			p.judge(k)
			if layer.State != v1alpha1.LayerReady {
				p.Nodes = append(p.Nodes, d.nodes(g.layer, k)...)
			}
		}
		p.Failed = p.Failed || layer.State == v1alpha1.LayerFailed
		// A layer that only keeps something for others has all that is wanted of it.
		keepsOnly := g.others != "" && g.waits == "" && g.keep && d.states[g.layer].healthy
		done = done && (layer.State == v1alpha1.LayerReady || keepsOnly)
		others = cmp.Or(others, g.others)
		p.Layers = append(p.Layers, layer)
	}

	// The reason tells a hand-over from layers that are not Ready.
	if !p.Ready && p.Reason == "" {
		p.Reason = v1alpha1.LayerNotReadyReason
		if done && others != "" {
			p.Reason = v1alpha1.HandingOverReason
		}
	}
	if layer := d.lacking(p.Layers); layer != nil && (first == nil || first.State == v1alpha1.LayerWaiting) {
		first = layer
		p.Reason = v1alpha1.NeedsReason
	}
	if first != nil {
		p.Message = fmt.Sprintf("%s: %s%s", first.Name, cmp.Or(first.Message, strings.ToLower(first.State)), d.timedOut(*first, p.Nodes))
	}
	return p
}

// isWorse reports whether the message of a layer that is not Ready counts more than the message of
// a layer before it.
func isWorse(layer, before v1alpha1.LayerStatus) bool {
	isNewFailure := layer.State == v1alpha1.LayerFailed && before.State != v1alpha1.LayerFailed
	return before.State == v1alpha1.LayerWaiting || isNewFailure
}

// lacking returns the first layer that waits for an object outside of the render, or nil.
func (d *delivery) lacking(layers []v1alpha1.LayerStatus) *v1alpha1.LayerStatus {
	for _, w := range d.desired {
		for i := range layers {
			if w.lacks != "" && layers[i].Name == objectName(d.t, w.name) && layers[i].Message == w.lacks {
				return &layers[i]
			}
		}
	}
	return nil
}

// judge marks the progress as stalled if only a user can change what a Kustomization reports.
func (p *Progress) judge(k *kustomizev1.Kustomization) {
	stalled := apimeta.FindStatusCondition(k.Status.Conditions, meta.StalledCondition)
	if stalled == nil || stalled.Status != metav1.ConditionTrue {
		return
	}
	p.Stalled = true
	p.Reason = v1alpha1.LayerNotReadyReason
	isGated := stalled.Reason == acl.AccessDeniedReason && strings.Contains(stalled.Message, "feature gate")
	if isGated || stalled.Reason == meta.FeatureGateDisabledReason {
		p.Reason = v1alpha1.FeatureDisabledReason
	}
}

// layer returns the status of a layer.
func (d *delivery) layer(g goal) v1alpha1.LayerStatus {
	out := v1alpha1.LayerStatus{Name: objectName(d.t, g.layer), Objects: int32(len(g.content))} //nolint:gosec // a layer has few objects
	u := d.layers[g.layer]
	s := d.states[g.layer]
	k := d.live.kustomizations[g.layer]

	// The wanted layer is shown before anything of it is in the cluster.
	if u != nil {
		out.Waves, out.Digest, out.Objects = u.Waves, u.Digest, int32(len(u.Objects)) //nolint:gosec // a layer has few objects
	}
	if r, ok := d.readings[g.layer]; ok {
		out.ReadyObjects, out.ReadObjects = &r.ready, r.read
	}
	out.State = v1alpha1.LayerApplying
	out.Message = g.waits
	if k == nil {
		if g.waits != "" {
			out.State = v1alpha1.LayerWaiting
		}
		return out
	}

	// The state follows from the goal, then from the report of Flux.
	_, out.Applied, _ = strings.Cut(k.Status.LastAppliedRevision, "sha256:")
	if out.Applied != "" {
		out.Applied = "sha256:" + out.Applied
	}
	fine := s.healthy && g.keep && g.released && !d.touched[g.layer]
	isUnhealthy := s.applied && !s.healthy && ready(k).Status == metav1.ConditionFalse
	switch {
	case g.remove || u == nil && !d.pinnedOnly(g):
		out.State, out.Message = v1alpha1.LayerRetiring, cmp.Or(out.Message, g.others)
	case g.waits != "":
		out.State = v1alpha1.LayerWaiting
	case fine && g.others != "":
		out.State, out.Message = v1alpha1.LayerHandingOver, g.others
	case fine && slices.ContainsFunc(sortedKeys(g.content), func(k key) bool { return g.content[k].mark == marked }):
		out.State, out.Message = v1alpha1.LayerHandingOver, "handing objects over to another layer"
	case fine:
		out.State = v1alpha1.LayerReady
	case d.touched[g.layer]:
	case s.failed || isUnhealthy:
		out.State, out.Message = v1alpha1.LayerFailed, ready(k).Message
	default:
		out.Message = d.doing(k, s)
	}

	// A user who suspended the Kustomization has to resume it.
	if s.suspended == theirs && out.State != v1alpha1.LayerReady {
		out.Message = fmt.Sprintf("Kustomization %q is suspended: resume it", k.Name)
	}
	return out
}

// pinnedOnly reports whether a layer stays for good although it is not wanted.
func (d *delivery) pinnedOnly(g goal) bool { return g.released && g.keep && len(g.content) > 0 }

// ready returns the condition Ready.
func ready(k *kustomizev1.Kustomization) metav1.Condition {
	if c := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReadyCondition); c != nil {
		return *c
	}
	return metav1.Condition{Status: metav1.ConditionUnknown}
}

// doing returns the message of Flux about its work on a layer, or about the source.
func (d *delivery) doing(k *kustomizev1.Kustomization, s *state) string {
	if repository, ok := d.live.sourceOf(k).(*sourcev1.OCIRepository); ok && !s.fetched {
		if c := apimeta.FindStatusCondition(repository.Status.Conditions, meta.ReadyCondition); c != nil && c.Status == metav1.ConditionFalse {
			return fmt.Sprintf("OCIRepository %q: %s", repository.Name, c.Message)
		}
		return "fetching the artifact"
	}
	if c := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReconcilingCondition); c != nil {
		return c.Message
	}
	return ready(k).Message
}

// nodes returns the objects that the message of a Kustomization names: objects that are not Ready,
// and objects that cannot be applied. While Flux waits, its message names no object: all objects
// that it waits for are returned then.
func (d *delivery) nodes(layer string, k *kustomizev1.Kustomization) []v1alpha1.NodeStatus {
	if r, ok := d.readings[layer]; ok {
		return r.nodes
	}
	c := ready(k)
	if c.Status != metav1.ConditionFalse {
		return d.awaited(layer, k)
	}
	var out []v1alpha1.NodeStatus
	for _, r := range d.layers[layer].Objects {
		name := shown(r.key())
		n := v1alpha1.NodeStatus{ID: r.Node, Object: r.String(), Layer: k.Name}
		switch i := strings.Index(c.Message, name+" "); {
		case strings.Contains(c.Message, name+" status: 'InProgress'"), strings.Contains(c.Message, name+" status: 'NotFound'"),
			strings.Contains(c.Message, name+" status: 'Unknown'"): // A rule that reads what is not there yet.
			n.State, n.Message = StateInProgress, "not ready in time"
			n.TimedOutAt = d.timedOutAt(layer, r, k)
		case strings.Contains(c.Message, name+" status: 'Failed'"):
			n.State, n.Message = StateFailed, "failed"
		case i >= 0 && (i == 0 || !strings.ContainsRune("/-.", rune(c.Message[i-1]))):
			n.State, n.Message = StateFailed, printable.FirstLine(c.Message[i:])
		default:
			continue
		}
		out = append(out, n)
	}
	return out
}

// timedOutAt returns the time at which an object that Flux names as not Ready passed its timeout.
// It returns nil if the object has no timeout, or has not had all of its time. Flux names objects
// when the time of the layer is up, so that an object with 1m in a layer of 10m passed its timeout
// 9m before.
func (d *delivery) timedOutAt(layer string, r ObjectRef, k *kustomizev1.Kustomization) *metav1.Time {
	if before := d.timedOutBefore(layer, r, k); before != nil {
		return before
	}
	healthy := apimeta.FindStatusCondition(k.Status.Conditions, meta.HealthyCondition)
	hasTimeout := r.Timeout.Duration != 0 && r.Timeout.Duration <= k.GetTimeout()
	if healthy == nil || !hasTimeout {
		return nil
	}
	passed := healthy.LastTransitionTime.Add(r.Timeout.Duration)
	switch {
	case strings.HasPrefix(healthy.Message, "timeout waiting for"):
		return &metav1.Time{Time: passed.Add(-k.GetTimeout())}
	case healthy.Status == metav1.ConditionUnknown && !time.Now().Before(passed):
		return &metav1.Time{Time: passed} // Flux still waits, and the object was read.
	}
	return nil // Flux gives up early if another object has failed.
}

// timedOutBefore returns the time at which an object passed its timeout in an earlier wait of Flux
// for the same artifact, by the status of the Transform, or nil if it did not. Flux waits again and
// again, and only the first time counts.
func (d *delivery) timedOutBefore(layer string, r ObjectRef, k *kustomizev1.Kustomization) *metav1.Time {
	for _, n := range d.timedOutNodes(layer, k) {
		if n.ID == r.Node && n.Object == r.String() {
			return n.TimedOutAt
		}
	}
	return nil
}

// timedOutNodes returns the nodes of a layer that have passed their timeouts by the status of the
// Transform, or nil if the layer had another artifact then.
func (d *delivery) timedOutNodes(layer string, k *kustomizev1.Kustomization) (out []v1alpha1.NodeStatus) {
	for _, l := range d.t.Status.Layers {
		if u := d.layers[layer]; l.Name == k.Name && (u == nil || l.Digest != u.Digest) {
			return nil
		}
	}
	for _, n := range d.t.Status.Nodes {
		if n.Layer == k.Name && n.TimedOutAt != nil {
			out = append(out, n)
		}
	}
	return out
}

// timedOut returns the end of the message of a layer: the nodes that have passed their timeouts, and
// the times.
func (d *delivery) timedOut(layer v1alpha1.LayerStatus, nodes []v1alpha1.NodeStatus) string {
	var out []string
	for _, n := range nodes {
		if n.Layer == layer.Name && n.TimedOutAt != nil {
			out = append(out, n.ID+" since "+n.TimedOutAt.UTC().Format(time.RFC3339))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "; past their timeout: " + printable.List(out, 3)
}

// awaited returns the objects that have to be Ready before a layer is, while Flux looks at them.
// Flux reports the objects that are not Ready when their time is up, and only the account that
// applies may look.
func (d *delivery) awaited(layer string, k *kustomizev1.Kustomization) []v1alpha1.NodeStatus {
	switch s := d.states[layer]; {
	case s.healthy:
		return nil
	case !s.applied:
		return d.timedOutNodes(layer, k) // It is applied again.
	}
	objects := map[key]ObjectRef{}
	for _, r := range d.layers[layer].Objects {
		objects[r.key()] = r
	}
	var out []v1alpha1.NodeStatus
	for _, check := range k.Spec.HealthChecks {
		r := checked(check)
		r.Node = objects[r.key()].Node
		out = append(out, v1alpha1.NodeStatus{
			ID: r.Node, Object: r.String(), Layer: k.Name, State: StateInProgress,
			Message:    "waiting for its layer: Flux reports objects that are not Ready at the timeout",
			TimedOutAt: d.timedOutBefore(layer, r, k),
		})
	}
	return out
}

// reading holds the facts that were read about the objects of a layer.
type reading struct {
	ready, read int32
	// nodes are the objects that are not ready.
	nodes []v1alpha1.NodeStatus
}

// readNodes reads the objects of layers that are not Ready if spec.delivery.flux.reportNodes asks
// for it: Flux names objects that are not ready only when its wait is over. The last reading holds
// for [readiness.Interval].
func (d *delivery) readNodes(ctx context.Context, goals []goal) error {
	if !d.template().ReportNodes || d.template().KubeConfig != nil {
		return nil
	}

	// At most readiness.MaxObjects are read, of the first layers that are not Ready.
	last := d.t.Status.NodesReadAt
	isFresh := last != nil && time.Since(last.Time) < readiness.Interval
	remaining := readiness.MaxObjects
	for _, g := range goals {
		u, k := d.layers[g.layer], d.live.kustomizations[g.layer]
		isApplied := u != nil && k != nil && g.released && !d.touched[g.layer]
		if !isApplied || d.layer(g).State == v1alpha1.LayerReady {
			continue
		}
		if isFresh {
			d.readAt = last
			d.keepReading(g.layer, k)
			continue
		}

		// The reading of each layer takes a part of that.
		objects := u.Objects[:min(remaining, len(u.Objects))]
		remaining -= len(objects)
		r, err := d.readLayer(ctx, g.layer, objects, k)
		if err != nil {
			return err
		}
		d.readings[g.layer], d.readAt = r, &metav1.Time{Time: time.Now().UTC().Truncate(time.Second)}
	}
	return nil
}

// keepReading takes the last reading of a layer from the status of the Transform.
func (d *delivery) keepReading(layer string, k *kustomizev1.Kustomization) {
	for _, l := range d.t.Status.Layers {
		if l.Name != k.Name || l.ReadyObjects == nil || l.Digest != d.layers[layer].Digest {
			continue
		}
		r := reading{ready: *l.ReadyObjects, read: l.ReadObjects}
		for _, n := range d.t.Status.Nodes {
			if n.Layer == k.Name {
				r.nodes = append(r.nodes, n)
			}
		}
		d.readings[layer] = r
	}
}

// readLayer reads objects of a layer and judges them as its Kustomization does.
func (d *delivery) readLayer(ctx context.Context, layer string, objects []ObjectRef, k *kustomizev1.Kustomization) (reading, error) {
	requested := make([]unstructured.Unstructured, len(objects))
	for i, r := range objects {
		requested[i].SetGroupVersionKind(schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind})
		requested[i].SetNamespace(cmp.Or(r.Namespace, d.t.Namespace))
		requested[i].SetName(r.Name)
	}

	// An object that is not ready becomes a node of the status.
	verdicts, err := readiness.Judge(ctx, d.Client, requested, k.Spec.HealthCheckExprs)
	if err != nil {
		return reading{}, err
	}
	out := reading{read: int32(len(objects))} //nolint:gosec // at most readiness.MaxObjects
	for i, v := range verdicts {
		if v.Ready {
			out.ready++
			continue
		}
		r := objects[i]
		n := v1alpha1.NodeStatus{
			ID:         r.Node,
			Object:     r.String(),
			Layer:      k.Name,
			State:      StateInProgress,
			Message:    printable.FirstLine(v.Reason),
			TimedOutAt: d.timedOutAt(layer, r, k),
		}
		if v.Failed {
			n.State = StateFailed
		}
		out.nodes = append(out.nodes, n)
	}
	return out, nil
}
