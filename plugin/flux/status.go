// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/object"
)

// maxListed is how many violations and nodes the status shows.
const maxListed = 50

// condition puts a problem into the conditions.
func (w *work) condition(p problem) {
	t := w.transform
	text := message(p.err)
	w.set(v1alpha1.ValidatedCondition, p.validated, p.reason, text)
	w.set(v1alpha1.RenderedCondition, p.rendered, p.reason, text)
	conditions.MarkFalse(t, meta.ReadyCondition, p.reason, "%s", text)
	if p.kind == stalled {
		conditions.Delete(t, meta.ReconcilingCondition)
		conditions.MarkStalled(t, p.reason, "%s", text)
		t.Status.ObservedGeneration = t.Generation
		return
	}
	conditions.Delete(t, meta.StalledCondition)
	conditions.MarkReconciling(t, meta.ProgressingWithRetryReason, "%s", text)
}

// set sets a condition to a status; "" leaves it as it is.
func (w *work) set(condition, status, reason, text string) {
	switch status {
	case "":
		return
	case "True":
		reason, text = v1alpha1.ValidReason, "input, objects and policies are valid"
	}
	t := w.transform
	if conditions.GetReason(t, condition) != reason {
		conditions.Delete(t, condition)
	}
	// The time of the transition is that of the reason, whatever else the message says:
	// see outageDelay.
	apimeta.SetStatusCondition(&t.Status.Conditions, metav1.Condition{
		Type: condition, Status: metav1.ConditionStatus(status), Reason: reason, Message: text, ObservedGeneration: t.Generation,
	})
}

// conditionOf puts what the engine says into the conditions.
func (w *work) conditionOf(_ context.Context) {
	t, p := w.transform, w.progress
	switch {
	case p == nil:
		return
	case p.Ready:
		conditions.Delete(t, meta.StalledCondition)
		conditions.Delete(t, meta.ReconcilingCondition)
		reason, text := v1alpha1.SucceededReason, "applied "+shown(t.Status.Artifact)
		if t.Spec.Rollback != nil {
			reason, text = v1alpha1.RolledBackReason, "rolled back to "+shown(t.Status.Artifact)
		}
		conditions.MarkTrue(t, meta.ReadyCondition, reason, "%s", text)
		t.Status.ObservedGeneration = t.Generation
	case p.Stalled:
		w.condition(problem{kind: stalled, reason: cmp.Or(p.Reason, v1alpha1.DeliveryFailedReason), err: engineMessage(p.Message)})
	case p.Failed:
		w.condition(problem{kind: retry, reason: cmp.Or(p.Reason, v1alpha1.LayerNotReadyReason), err: engineMessage(p.Message)})
	default:
		conditions.Delete(t, meta.StalledCondition)
		text := printable.Text(p.Message)
		conditions.MarkReconciling(t, meta.ProgressingReason, "%s", text)
		conditions.MarkUnknown(t, meta.ReadyCondition, cmp.Or(p.Reason, v1alpha1.LayerNotReadyReason), "%s", text)
	}
}

// engineMessage is what an engine says, as an error.
type engineMessage string

// Error is what it says.
func (m engineMessage) Error() string { return cmp.Or(string(m), "the engine gives no reason") }

// shown is how messages name what is delivered: short enough for the line that kubectl
// has for a Transform. The status has the whole of it.
func shown(a *v1alpha1.Artifact) string {
	if a == nil {
		return "nothing"
	}
	if a.Revision == "" {
		return short(a.Digest)
	}
	return short(a.Revision) + " (" + short(a.Digest) + ")"
}

// short is a revision of Flux, or a digest, with the first characters of its sum. What
// does not end in one is as it was.
func short(revision string) string {
	const shown, shortest = 12, 40 // of a sum: that of SHA-1 has 40 characters
	i := strings.LastIndexByte(revision, ':') + 1
	sum := revision[i:]
	if i == 0 || len(sum) < shortest || strings.Trim(sum, "0123456789abcdef") != "" {
		return revision
	}
	return revision[:i] + sum[:shown]
}

// begun shows that something is being done, where that takes a while.
func (w *work) begun(ctx context.Context, text string) error {
	t := w.transform
	conditions.Delete(t, meta.StalledCondition)
	conditions.MarkReconciling(t, meta.ProgressingReason, "%s", text)
	conditions.MarkUnknown(t, meta.ReadyCondition, meta.ProgressingReason, "%s", text)
	return w.patchStatus(ctx)
}

// violations are mistakes and warnings as the status shows them: errors first.
func violations(all object.Errors) []v1alpha1.Violation {
	var out []v1alpha1.Violation
	for _, m := range append(all.Failures().Sorted(), all.Warnings().Sorted()...) {
		if len(out) == maxListed {
			break
		}
		out = append(out, violation(m))
	}
	return out
}

func violation(m *object.Error) v1alpha1.Violation {
	v := v1alpha1.Violation{Policy: m.Policy, Severity: "error", Position: m.Path}
	if m.Severity == object.SeverityWarning {
		v.Severity = "warning"
	}
	text := "unknown error"
	if m.Err != nil {
		text = m.Err.Error()
	}
	if m.Pos.IsValid() {
		v.Position = m.Pos.String()
		if m.Path != "" {
			text = m.Path + ": " + text
		}
	}
	if m.Node != "" {
		text = string(m.Node) + ": " + text // a path alone says of no object
	}
	if m.Hint != "" {
		text += ": " + m.Hint
	}
	v.Message = cut(text, 1<<10)
	return v
}

// showLayers puts the states of the layers into the status.
func (w *work) showLayers() {
	t := w.transform
	t.Status.Layers = w.progress.Layers
	t.Status.Nodes = w.progress.Nodes[:min(len(w.progress.Nodes), maxListed)]
	ready, all := 0, 0
	for _, l := range t.Status.Layers {
		if l.State == v1alpha1.LayerRetiring {
			continue
		}
		if all++; l.State == v1alpha1.LayerReady {
			ready++
		}
	}
	t.Status.Progress = fmt.Sprintf("%d/%d", ready, all)
}
