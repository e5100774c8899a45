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

// setProblem puts a problem into the conditions. Ready has the complete message. Stalled and
// Reconciling, which kstatus shows, have its first line, and the others none of it.
func (w *work) setProblem(p problem) {
	t := w.transform
	text := message(p.err)
	w.setStageConditions(p, meta.ReadyCondition)
	conditions.MarkFalse(t, meta.ReadyCondition, p.reason, "%s", text)
	line, _, more := strings.Cut(text, "\n")
	line = cut(line, maxLine)
	if more {
		line += " (and more: see the condition Ready)"
	}
	if p.kind == stalled {
		conditions.Delete(t, meta.ReconcilingCondition)
		conditions.MarkStalled(t, p.reason, "%s", line)
		t.Status.ObservedGeneration = t.Generation
		return
	}
	conditions.Delete(t, meta.StalledCondition)
	conditions.MarkReconciling(t, meta.ProgressingWithRetryReason, "%s", line)
}

// maxLine is how long the message of a condition is that repeats another one.
const maxLine = 256

// setStageConditions puts what a problem means for the input and the artifact into their
// conditions. The argument see names the condition that has its message.
func (w *work) setStageConditions(p problem, see string) {
	validated := "not known: see the condition " + see
	if p.validated == "False" {
		validated = "mistakes are listed in status.violations: see the condition " + see
	}
	w.set(v1alpha1.ValidatedCondition, p.validated, p.reason, validated)
	w.set(v1alpha1.RenderedCondition, p.rendered, p.reason, "no artifact of this spec and its source is published: see the condition "+see)
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

// setEngineConditions puts the progress of the engine into the conditions.
func (w *work) setEngineConditions(ctx context.Context) {
	t := w.transform
	p := w.progress
	if p == nil {
		return
	}
	w.setSharedObjects(ctx, p.Shared)
	switch {
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
		w.setProblem(problem{kind: stalled, reason: cmp.Or(p.Reason, v1alpha1.DeliveryFailedReason), err: engineMessage(p.Message)})
	case p.Failed:
		w.setProblem(problem{kind: retry, reason: cmp.Or(p.Reason, v1alpha1.LayerNotReadyReason), err: engineMessage(p.Message)})
	default:
		reason := cmp.Or(p.Reason, meta.ProgressingReason)
		if reason == v1alpha1.LayerNotReadyReason {
			reason = meta.ProgressingReason // The engine is still at it.
		}
		w.setProgressing(reason, p.Message)
	}
}

// setSharedObjects puts into a condition which objects other Transforms deliver too.
func (w *work) setSharedObjects(ctx context.Context, text string) {
	if text == "" {
		conditions.Delete(w.transform, v1alpha1.SharedObjectsCondition)
		return
	}
	before := conditions.GetMessage(w.transform, v1alpha1.SharedObjectsCondition)
	conditions.MarkTrue(w.transform, v1alpha1.SharedObjectsCondition, v1alpha1.SharedObjectsReason,
		"%s: the one that was applied last wins", cut(text, maxMessage))
	if conditions.GetMessage(w.transform, v1alpha1.SharedObjectsCondition) != before && !w.progress.Stalled {
		w.raiseEvent(ctx, typeWarning, v1alpha1.SharedObjectsReason, text)
	}
}

// engineMessage is what an engine says, as an error.
type engineMessage string

// Error returns the message of the engine, or that there is none.
func (m engineMessage) Error() string { return cmp.Or(string(m), "the engine gives no reason") }

// shown returns the name of a delivered artifact for messages. It is short enough for the line
// that kubectl prints for a Transform. The status has the complete name.
func shown(a *v1alpha1.Artifact) string {
	if a == nil {
		return "nothing"
	}
	if a.Revision == "" {
		return printable.Revision(a.Digest)
	}
	return printable.Revision(a.Revision) + " (" + printable.Revision(a.Digest) + ")"
}

// showBegun shows in the status that something is being done, if that takes a while.
func (w *work) showBegun(ctx context.Context, text string) error {
	w.setProgressing(meta.ProgressingReason, text)
	return w.patchStatus(ctx)
}

// setProgressing puts into the conditions that something is under way.
func (w *work) setProgressing(reason, text string) {
	t := w.transform
	text = cut(text, maxMessage)
	conditions.Delete(t, meta.StalledCondition)
	conditions.MarkReconciling(t, meta.ProgressingReason, "%s", text)
	conditions.MarkUnknown(t, meta.ReadyCondition, reason, "%s", text)
}

// violations returns mistakes and warnings as the status shows them, errors first.
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

// violation returns one mistake or warning as the status shows it.
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
	ready := 0
	all := 0
	for _, l := range t.Status.Layers {
		if l.State == v1alpha1.LayerRetiring {
			continue
		}
		all++
		if l.State == v1alpha1.LayerReady {
			ready++
		}
	}
	t.Status.Progress = fmt.Sprintf("%d/%d", ready, all)
}
