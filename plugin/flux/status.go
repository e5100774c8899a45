// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/rollout"
	"github.com/ropewalk/ropewalk/render/object"
)

// maxListed limits the violations and nodes in the status.
const maxListed = 50

// setProblem puts a problem into the conditions. Ready has the complete message, and Stalled and
// Reconciling, which kstatus shows, have its first line. The other conditions refer to Ready.
func setProblem(t *v1alpha1.Transform, p problem) {
	text := message(p.err)
	setStageConditions(t, p, meta.ReadyCondition)
	conditions.MarkFalse(t, meta.ReadyCondition, p.reason, "%s", text)

	// The other two repeat it briefly.
	line, _, hasMore := strings.Cut(text, "\n")
	line = cut(line, maxLine)
	if hasMore {
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

// maxLine limits the message of a condition that repeats another condition, in bytes.
const maxLine = 256

// setStageConditions sets the conditions of the input and of the artifact after a problem. The
// argument see names the condition that has its message.
func setStageConditions(t *v1alpha1.Transform, p problem, see string) {
	validated := "not known: see the condition " + see
	if p.validated == "False" {
		validated = "mistakes are listed in status.violations: see the condition " + see
	}
	set(t, v1alpha1.ValidatedCondition, p.validated, p.reason, validated)
	set(t, v1alpha1.RenderedCondition, p.rendered, p.reason, "no artifact of this spec and its source is published: see the condition "+see)
}

// set sets a condition to a status; "" leaves it as it is.
func set(t *v1alpha1.Transform, condition, status, reason, text string) {
	switch status {
	case "":
		return
	case "True":
		reason, text = v1alpha1.ValidReason, "input, objects and policies are valid"
	}
	if conditions.GetReason(t, condition) != reason {
		conditions.Delete(t, condition)
	}
	// The transition has the time of the reason, whatever else the message says: see schedule.
	apimeta.SetStatusCondition(&t.Status.Conditions, metav1.Condition{
		Type: condition, Status: metav1.ConditionStatus(status), Reason: reason, Message: text, ObservedGeneration: t.Generation,
	})
}

// setEngineConditions puts the progress of the engine into the conditions. It reports whether the
// objects that other Transforms deliver too have changed.
func setEngineConditions(t *v1alpha1.Transform, p delivery.Progress) (news bool) {
	news = setSharedObjects(t, p.Shared) && !p.Stalled
	switch {
	case p.Ready && rollout.Failed(t) != "":
		text := engineMessage(conditions.GetMessage(t, v1alpha1.RolledBackCondition))
		setProblem(t, problem{kind: stalled, reason: v1alpha1.RolledBackReason, err: text})
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
		setProblem(t, problem{kind: stalled, reason: cmp.Or(p.Reason, v1alpha1.DeliveryFailedReason), err: engineMessage(p.Message)})
	case p.Failed:
		setProblem(t, problem{kind: retry, reason: cmp.Or(p.Reason, v1alpha1.LayerNotReadyReason), err: engineMessage(p.Message)})
	default:
		reason := cmp.Or(p.Reason, meta.ProgressingReason)
		if reason == v1alpha1.LayerNotReadyReason {
			reason = meta.ProgressingReason // The engine is still at it.
		}
		setProgressing(t, reason, p.Message)
	}
	return news
}

// setSharedObjects puts into a condition the objects that other Transforms deliver too, and reports
// whether they have changed.
func setSharedObjects(t *v1alpha1.Transform, text string) (news bool) {
	if text == "" {
		conditions.Delete(t, v1alpha1.SharedObjectsCondition)
		return false
	}
	before := conditions.GetMessage(t, v1alpha1.SharedObjectsCondition)
	conditions.MarkTrue(t, v1alpha1.SharedObjectsCondition, v1alpha1.SharedObjectsReason,
		"%s: the one that was applied last wins", cut(text, maxMessage))
	return conditions.GetMessage(t, v1alpha1.SharedObjectsCondition) != before
}

// engineMessage is the message of an engine, as an error.
type engineMessage string

// Error returns the message of the engine, which may be missing.
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

// setProgressing puts into the conditions that something is under way.
func setProgressing(t *v1alpha1.Transform, reason, text string) {
	text = cut(text, maxMessage)
	conditions.Delete(t, meta.StalledCondition)
	conditions.MarkReconciling(t, meta.ProgressingReason, "%s", text)
	conditions.MarkUnknown(t, meta.ReadyCondition, reason, "%s", text)
}

// setPinned puts into the condition Rendered that spec.rollback is delivered instead of the render.
func setPinned(t *v1alpha1.Transform, suffix string) {
	conditions.MarkFalse(t, v1alpha1.RenderedCondition, v1alpha1.RolledBackReason, "spec.rollback pins %s%s", t.Spec.Rollback.Digest, suffix)
}

// showViolations puts the mistakes of an error into the status.
func showViolations(t *v1alpha1.Transform, err error) {
	t.Status.Violations = violations(object.AsErrors(err, object.StageSpec))
}

// violations returns mistakes, warnings and notes as the status shows them, errors first.
func violations(mistakes object.Errors) []v1alpha1.Violation {
	var out []v1alpha1.Violation
	for _, m := range slices.Concat(mistakes.Failures().Sorted(), mistakes.Warnings().Sorted(), mistakes.Notes().Sorted()) {
		if len(out) == maxListed {
			break
		}
		out = append(out, violation(m))
	}
	return out
}

// violation returns one mistake or warning as the status shows it.
func violation(m *object.Error) v1alpha1.Violation {
	v := v1alpha1.Violation{Policy: m.Policy, Severity: m.Severity.String(), Position: m.Path}
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
		text = string(m.Node) + ": " + text // A path alone names no object.
	}
	if m.Hint != "" {
		text += ": " + m.Hint
	}
	v.Message = cut(text, 1<<10)
	return v
}

// showProgress puts the states of the layers and of objects into the status.
func showProgress(t *v1alpha1.Transform, p delivery.Progress) {
	t.Status.Layers = p.Layers
	t.Status.Nodes = p.Nodes[:min(len(p.Nodes), maxListed)]
	t.Status.NodesReadAt = p.NodesReadAt
	ready := 0
	total := 0
	for _, l := range t.Status.Layers {
		if l.State == v1alpha1.LayerRetiring {
			continue
		}
		total++
		if l.State == v1alpha1.LayerReady {
			ready++
		}
	}
	t.Status.Progress = fmt.Sprintf("%d/%d", ready, total)
}

// showReferences puts the revisions of the source and of the modules into the status. A revision
// that has not changed keeps its time.
func showReferences(t *v1alpha1.Transform, found []v1alpha1.ResolvedReference, resolvedAt metav1.Time) {
	var out []v1alpha1.ResolvedReference
	for _, ref := range found {
		ref.Time = resolvedAt
		for _, o := range t.Status.References {
			isSame := o.Name == ref.Name && o.Reference == ref.Reference && o.Digest == ref.Digest && o.Revision == ref.Revision
			if isSame {
				ref.Time = o.Time
			}
		}
		out = append(out, ref)
	}
	t.Status.References = out[:min(len(out), 4*maxListed)]
}

// showPublished puts a published artifact into the status, before the earlier artifacts. It reports
// whether the artifact is new, or else whether it has a new revision.
func showPublished(t *v1alpha1.Transform, a v1alpha1.Artifact) (changed, revised bool) {
	i := slices.IndexFunc(t.Status.History, func(old v1alpha1.Artifact) bool { return old.Digest == a.Digest })
	if i >= 0 {
		a.Time = t.Status.History[i].Time
		t.Status.History = slices.Delete(t.Status.History, i, i+1)
	}

	// The history has it without the key of its inputs, so that a rollback ends with a render.
	last := t.Status.Artifact
	changed = last == nil || last.Digest != a.Digest
	revised = !changed && last.Revision != a.Revision
	t.Status.Artifact = a.DeepCopy()
	a.Checksum = ""
	t.Status.History = slices.Insert(t.Status.History, 0, a)
	conditions.MarkTrue(t, v1alpha1.RenderedCondition, v1alpha1.PublishedReason, "published %s", shown(t.Status.Artifact))
	return changed, revised
}
