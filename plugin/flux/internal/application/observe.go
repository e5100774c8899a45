// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package application

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

// Words of Argo CD.
const (
	synced      = "Synced"
	outOfSync   = "OutOfSync"
	healthy     = "Healthy"
	degraded    = "Degraded"
	progressing = "Progressing"
	pruned      = "Pruned"

	phaseRunning     = "Running"
	phaseTerminating = "Terminating"
	phaseFailed      = "Failed"
	phaseError       = "Error"
	phaseSucceeded   = "Succeeded"

	invalidSpec = "InvalidSpecError"
)

// status has the fields that are read from the status of an Application (argo-cd v3.2.11,
// pkg/apis/application/v1alpha1/types.go).
type status struct {
	Sync struct {
		Status     string `json:"status"`
		Revision   string `json:"revision"`
		ComparedTo struct {
			Source struct {
				RepoURL        string `json:"repoURL"`
				TargetRevision string `json:"targetRevision"`
			} `json:"source"`
		} `json:"comparedTo"`
	} `json:"sync"`
	Health         health          `json:"health"`
	OperationState *operationState `json:"operationState"`
	Resources      []resource      `json:"resources"`
	Conditions     []condition     `json:"conditions"`
}

type condition struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// observation is an Application as Argo CD sees it.
type observation struct {
	status
	// queued says that an operation waits to be started.
	queued bool
}

type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type operationState struct {
	Phase      string       `json:"phase"`
	Message    string       `json:"message"`
	FinishedAt *metav1.Time `json:"finishedAt"`
	Operation  struct {
		Sync struct {
			Revision    string   `json:"revision"`
			SyncOptions []string `json:"syncOptions"`
		} `json:"sync"`
		InitiatedBy struct {
			Automated bool `json:"automated"`
		} `json:"initiatedBy"`
	} `json:"operation"`
	SyncResult *struct {
		Revision  string     `json:"revision"`
		Resources []resource `json:"resources"`
	} `json:"syncResult"`
}

// resource is an object in the status, or in the result of a sync.
type resource struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Status is Synced or OutOfSync; SyncFailed and others in the result of a sync.
	Status          string  `json:"status"`
	Health          *health `json:"health"`
	RequiresPruning bool    `json:"requiresPruning"`
	Message         string  `json:"message"`
	HookPhase       string  `json:"hookPhase"`
}

// revision returns the digest that an operation is about.
func (o *operationState) revision() string {
	if o.SyncResult != nil && o.SyncResult.Revision != "" {
		return o.SyncResult.Revision
	}
	return o.Operation.Sync.Revision
}

// outdated reports whether an operation refuses objects that the Application may take over by now:
// an operation keeps its options, for its retries too.
func (o *operationState) outdated(app *unstructured.Unstructured) bool {
	options, _, _ := unstructured.NestedStringSlice(app.Object, "spec", "syncPolicy", "syncOptions")
	isRefusing := slices.Contains(o.Operation.Sync.SyncOptions, refusesShared)
	return isRefusing && o.Operation.InitiatedBy.Automated && !slices.Contains(options, refusesShared)
}

// failed reports whether an operation has failed.
func (o *operationState) failed() bool { return o.Phase == phaseFailed || o.Phase == phaseError }

// observe reads the status of an Application.
func observe(live *unstructured.Unstructured) (observation, error) {
	var out observation
	if content, ok := live.Object["status"].(map[string]any); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &out.status); err != nil {
			return out, fmt.Errorf("the status of Application %s/%s: %w", live.GetNamespace(), live.GetName(), err)
		}
	}
	out.queued = live.Object["operation"] != nil
	return out, nil
}

// progress returns the progress of the delivery by the status.
func progress(app *unstructured.Unstructured, seen observation, want delivery.Desired) delivery.Progress {
	// A spec that Argo CD refuses is not compared with anything.
	refused := slices.ContainsFunc(seen.Conditions, func(c condition) bool { return c.Type == invalidSpec })
	compared := seen.Sync.ComparedTo.Source
	isCompared := compared.TargetRevision == want.Digest && compared.RepoURL == text(app, "spec", "source", "repoURL")
	if !refused && !isCompared {
		return waiting(app, want, "waiting for Argo CD to compare the new digest")
	}

	// The state of the one layer gives the conditions.
	out := delivery.Progress{Nodes: nodes(seen, want)}
	state, message := judge(app, seen, want.Digest)
	switch state {
	case v1alpha1.LayerReady:
		out.Ready = true
	case v1alpha1.LayerFailed:
		out.Failed = true
		out.Stalled = refused
		out.Reason = v1alpha1.DeliveryFailedReason
	default:
		out.Reason = v1alpha1.LayerNotReadyReason
	}
	if !out.Ready {
		out.Message = fmt.Sprintf("Application %s/%s: %s", app.GetNamespace(), app.GetName(), message)
	}

	// The layer shows the digest that is applied.
	status := layer(app.GetName(), state, message, want)
	if seen.Sync.Revision == want.Digest && seen.applied(want.Digest) {
		status.Applied = want.Digest
	} else if op := seen.OperationState; op != nil && op.Phase == phaseSucceeded {
		status.Applied = op.revision()
	}
	out.Layers = []v1alpha1.LayerStatus{status}
	return out
}

// judge returns the state of the one layer, and why.
func judge(app *unstructured.Unstructured, seen observation, digest string) (state, message string) {
	// The operation counts first.
	op := seen.OperationState
	running := seen.queued || op != nil && (op.Phase == phaseRunning || op.Phase == phaseTerminating)
	switch {
	case running && op != nil && op.Message != "":
		return v1alpha1.LayerApplying, op.Message
	case running:
		return v1alpha1.LayerApplying, "syncing"
	case op != nil && op.failed() && op.revision() == digest:
		return v1alpha1.LayerFailed, cmp.Or(op.Message, "the sync failed")
	}
	if c, isMistake := seen.mistake(); isMistake {
		return v1alpha1.LayerFailed, c.Type + ": " + c.Message
	}

	// Then the digest, and the health of its objects.
	_, automated, _ := unstructured.NestedMap(app.Object, "spec", "syncPolicy", "automated")
	switch {
	case seen.Sync.Revision != digest || !seen.applied(digest):
		if !automated {
			return v1alpha1.LayerWaiting, cmp.Or(seen.Sync.Status, outOfSync) + ", and automated sync is off: sync it in Argo CD"
		}
		return v1alpha1.LayerApplying, cmp.Or(seen.Sync.Status, outOfSync)
	case seen.Health.Status == degraded:
		return v1alpha1.LayerFailed, cmp.Or(seen.Health.Message, degraded)
	case seen.Health.Status != healthy:
		return v1alpha1.LayerApplying, cmp.Or(seen.Health.Status, "waiting for its health status")
	}
	return v1alpha1.LayerReady, ""
}

// mistake returns the condition that explains best why Argo CD makes no progress. It returns false
// if no condition is an error.
func (s status) mistake() (condition, bool) {
	isError := func(c condition) bool { return strings.HasSuffix(c.Type, "Error") }
	i := slices.IndexFunc(s.Conditions, func(c condition) bool { return c.Type == invalidSpec })
	if i < 0 {
		i = slices.IndexFunc(s.Conditions, isError)
	}
	if i < 0 {
		return condition{}, false
	}
	return s.Conditions[i], true
}

// applied reports whether nothing is left to apply or to prune. Some objects are not rendered any
// more, and are kept from being pruned by their annotations or by the Application. They leave an
// Application OutOfSync for ever, and do not count once the rest is done. Objects that were pruned
// and still exist are being deleted.
func (s status) applied(digest string) bool {
	if s.Sync.Status == synced {
		return true
	}
	if s.Sync.Status != outOfSync {
		return false
	}
	unpruned := false
	results := s.results(digest)
	for _, r := range s.Resources {
		isBeingDeleted := r.RequiresPruning && results[r.object()].Status == pruned
		if r.Status == outOfSync && (!r.RequiresPruning || isBeingDeleted) {
			return false
		}
		unpruned = unpruned || r.RequiresPruning
	}
	op := s.OperationState
	return unpruned && op != nil && op.Phase == phaseSucceeded && op.revision() == digest
}

// results returns the results of the last sync by object, if it was a sync of the digest.
func (s status) results(digest string) map[string]resource {
	out := map[string]resource{}
	if op := s.OperationState; op != nil && op.SyncResult != nil && op.revision() == digest {
		for _, r := range op.SyncResult.Resources {
			out[r.object()] = r
		}
	}
	return out
}

// nodes returns the objects that are not Ready, sorted by their ids.
func nodes(seen observation, want delivery.Desired) []v1alpha1.NodeStatus {
	// Argo CD does not know the ids of the nodes.
	ids := map[string]string{}
	for _, layer := range want.Layers {
		for _, o := range layer.Objects {
			ids[o.String()] = o.Node
		}
	}

	// The last sync has the reason why an object could not be applied.
	results := seen.results(want.Digest)
	var out []v1alpha1.NodeStatus
	for _, r := range seen.Resources {
		node := v1alpha1.NodeStatus{ID: ids[r.object()], Object: r.object(), Message: results[r.object()].Message}
		result := results[r.object()]
		switch {
		case r.RequiresPruning && result.Status == pruned:
			node.State, node.Message = "InProgress", "it is being deleted"
		case r.RequiresPruning:
			continue
		case result.Status == "SyncFailed" || result.HookPhase == phaseFailed || result.HookPhase == phaseError:
			node.State = "Failed"
		case r.Status == outOfSync:
			node.State = "Waiting"
		case r.Health == nil || r.Health.Status == healthy || r.Health.Status == "":
			continue
		case r.Health.Status == progressing:
			node.State, node.Message = "InProgress", r.Health.Message
		default:
			node.State, node.Message = "Failed", cmp.Or(r.Health.Message, r.Health.Status)
		}
		out = append(out, node)
	}
	slices.SortFunc(out, func(a, b v1alpha1.NodeStatus) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Object, b.Object))
	})
	return out
}

// object returns the name of an object as the status has it.
func (r resource) object() string {
	return delivery.ObjectRef{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}.String()
}

// waiting returns the progress of an Application that is not compared with the digest yet.
func waiting(app *unstructured.Unstructured, want delivery.Desired, message string) delivery.Progress {
	return delivery.Progress{
		Layers:  []v1alpha1.LayerStatus{layer(app.GetName(), v1alpha1.LayerApplying, message, want)},
		Reason:  v1alpha1.LayerNotReadyReason,
		Message: fmt.Sprintf("Application %s/%s: %s", app.GetNamespace(), app.GetName(), message),
	}
}

// layer returns the complete artifact as the one layer of a status.
func layer(name, state, message string, want delivery.Desired) v1alpha1.LayerStatus {
	out := v1alpha1.LayerStatus{Name: name, Digest: want.Digest, State: state, Message: message}
	for _, layer := range want.Layers {
		out.Waves = append(out.Waves, layer.Waves...)
		out.Objects += int32(min(len(layer.Objects), 1<<20)) //nolint:gosec // bounded
	}
	slices.Sort(out.Waves)
	out.Waves = slices.Compact(out.Waves)
	return out
}
