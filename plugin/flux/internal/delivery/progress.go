// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/acl"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// States of nodes, beside StateForeign.
const (
	StateFailed     = "Failed"
	StateInProgress = "InProgress"
)

// progress says how far the delivery is.
func (d *delivery) progress(goals []goal) Progress {
	p := Progress{Changed: d.changed, Taken: d.taken, Ready: true}
	var first *v1alpha1.LayerStatus
	for _, g := range goals {
		layer := d.layer(g)
		if layer.State != v1alpha1.LayerReady {
			p.Ready = false
			if first == nil || first.State == v1alpha1.LayerWaiting || layer.State == v1alpha1.LayerFailed && first.State != v1alpha1.LayerFailed {
				first = &layer
			}
		}
		if k := d.live.kustomizations[g.unit]; k != nil && d.units[g.unit] != nil && !d.touched[g.unit] {
			p.judge(k)
			if layer.State != v1alpha1.LayerReady {
				p.Nodes = append(p.Nodes, d.nodes(g.unit, k)...)
			}
		}
		p.Failed = p.Failed || layer.State == v1alpha1.LayerFailed
		p.Layers = append(p.Layers, layer)
	}
	if !p.Ready && p.Reason == "" {
		p.Reason = v1alpha1.LayerNotReadyReason
	}
	if first != nil {
		p.Message = fmt.Sprintf("%s: %s", first.Name, cmp.Or(first.Message, strings.ToLower(first.State)))
	}
	return p
}

// judge looks for what only people can change.
func (p *Progress) judge(k *kustomizev1.Kustomization) {
	stalled := apimeta.FindStatusCondition(k.Status.Conditions, meta.StalledCondition)
	if stalled == nil || stalled.Status != metav1.ConditionTrue {
		return
	}
	p.Stalled = true
	p.Reason = v1alpha1.LayerNotReadyReason
	if stalled.Reason == acl.AccessDeniedReason && strings.Contains(stalled.Message, "feature gate") || stalled.Reason == meta.FeatureGateDisabledReason {
		p.Reason = v1alpha1.FeatureDisabledReason
	}
}

// layer is the status of a unit.
func (d *delivery) layer(g goal) v1alpha1.LayerStatus {
	out := v1alpha1.LayerStatus{Name: objectName(d.t, g.unit), Objects: int32(len(g.content))} //nolint:gosec // a unit has few objects
	u, s, k := d.units[g.unit], d.states[g.unit], d.live.kustomizations[g.unit]
	if u != nil {
		out.Waves, out.Digest, out.Objects = u.Waves, u.Digest, int32(len(u.Objects)) //nolint:gosec // a unit has few objects
	}
	out.State, out.Message = v1alpha1.LayerApplying, g.waits
	if k == nil {
		if g.waits != "" {
			out.State = v1alpha1.LayerWaiting
		}
		return out
	}
	_, out.Applied, _ = strings.Cut(k.Status.LastAppliedRevision, "sha256:")
	if out.Applied != "" {
		out.Applied = "sha256:" + out.Applied
	}
	fine := s.healthy && g.leave && g.released && !d.touched[g.unit]
	switch {
	case g.remove || u == nil && !d.parked(g):
		out.State = v1alpha1.LayerRetiring
	case g.waits != "":
		out.State = v1alpha1.LayerWaiting
	case fine && slices.ContainsFunc(sortedKeys(g.content), func(k key) bool { return g.content[k].mark == marked }):
		out.State, out.Message = v1alpha1.LayerHandingOver, "objects change their layer"
	case fine:
		out.State = v1alpha1.LayerReady
	case d.touched[g.unit]:
	case s.failed || s.applied && !s.healthy && ready(k).Status == metav1.ConditionFalse:
		out.State, out.Message = v1alpha1.LayerFailed, ready(k).Message
	default:
		out.Message = d.doing(k, s)
	}
	if s.suspended == theirs && out.State != v1alpha1.LayerReady {
		out.Message = fmt.Sprintf("Kustomization %q is suspended: resume it", k.Name)
	}
	return out
}

// parked reports whether a unit stays for good although it is not wanted.
func (d *delivery) parked(g goal) bool { return g.released && g.leave && len(g.content) > 0 }

// ready is the condition Ready.
func ready(k *kustomizev1.Kustomization) metav1.Condition {
	if c := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReadyCondition); c != nil {
		return *c
	}
	return metav1.Condition{Status: metav1.ConditionUnknown}
}

// doing is what Flux is at, or what its source says.
func (d *delivery) doing(k *kustomizev1.Kustomization, s *state) string {
	if from, ok := d.live.sourceOf(k).(*sourcev1.OCIRepository); ok && !s.fetched {
		if c := apimeta.FindStatusCondition(from.Status.Conditions, meta.ReadyCondition); c != nil && c.Status == metav1.ConditionFalse {
			return fmt.Sprintf("OCIRepository %q: %s", from.Name, c.Message)
		}
		return "the artifact is being fetched"
	}
	if c := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReconcilingCondition); c != nil {
		return c.Message
	}
	return ready(k).Message
}

// nodes are the objects that the message of a Kustomization names: those that it waits
// for, and those that it cannot apply. While Flux waits it names none, and then they are
// all that it waits for.
func (d *delivery) nodes(unit string, k *kustomizev1.Kustomization) []v1alpha1.NodeStatus {
	c := ready(k)
	if c.Status != metav1.ConditionFalse {
		return d.awaited(unit, k)
	}
	var out []v1alpha1.NodeStatus
	for _, r := range d.units[unit].Objects {
		name := shown(r.key())
		n := v1alpha1.NodeStatus{ID: r.Node, Object: r.String(), Layer: k.Name}
		switch i := strings.Index(c.Message, name+" "); {
		case strings.Contains(c.Message, name+" status: 'InProgress'"), strings.Contains(c.Message, name+" status: 'NotFound'"),
			strings.Contains(c.Message, name+" status: 'Unknown'"): // A rule that reads what is not there yet.
			n.State, n.Message = StateInProgress, "not ready in time"
		case strings.Contains(c.Message, name+" status: 'Failed'"):
			n.State, n.Message = StateFailed, "failed"
		case i >= 0 && (i == 0 || !strings.ContainsRune("/-.", rune(c.Message[i-1]))):
			n.State, n.Message = StateFailed, firstLine(c.Message[i:])
		default:
			continue
		}
		out = append(out, n)
	}
	return out
}

// awaited are the objects that have to be Ready before a unit is, while Flux looks at
// them. It tells which are not when their time is up, and only the account that applies
// may look.
func (d *delivery) awaited(unit string, k *kustomizev1.Kustomization) []v1alpha1.NodeStatus {
	if s := d.states[unit]; !s.applied || s.healthy {
		return nil
	}
	ids := map[key]string{}
	for _, r := range d.units[unit].Objects {
		ids[r.key()] = r.Node
	}
	var out []v1alpha1.NodeStatus
	for _, check := range k.Spec.HealthChecks {
		r := checked(check)
		out = append(out, v1alpha1.NodeStatus{
			ID: ids[r.key()], Object: r.String(), Layer: k.Name, State: StateInProgress,
			Message: "awaited with all of its layer: Flux says which are not Ready when the time is up",
		})
	}
	return out
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
