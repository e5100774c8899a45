// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/apply"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

// retryAfter is the time for which a failed sync is left alone where a Transform has no
// retryInterval.
const retryAfter = 5 * time.Minute

// GroupVersionKind returns the kind of Applications.
func GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
}

// everything in a list of [Allow] allows any name.
const everything = "*"

// Allow lists the places where Applications may be put. The zero value allows nothing.
type Allow struct {
	// Namespaces of Applications; "*" allows every namespace.
	Namespaces []string
	// Projects of Applications: PROJECT for Transforms of every namespace,
	// NAMESPACE/PROJECT for the Transforms of a namespace, or "*".
	Projects []string
}

// namespace reports whether Applications may be in a namespace.
func (a Allow) namespace(namespace string) bool {
	return slices.Contains(a.Namespaces, everything) || slices.Contains(a.Namespaces, namespace)
}

// project reports whether Applications of a namespace may be of a project.
func (a Allow) project(namespace, project string) bool {
	return slices.ContainsFunc(a.Projects, func(allowed string) bool {
		return allowed == everything || allowed == project || allowed == namespace+"/"+project
	})
}

// namespaces returns the namespaces that an Application may be in; "" is all of them.
func (a Allow) namespaces() []string {
	if slices.Contains(a.Namespaces, everything) {
		return []string{""}
	}
	return slices.Compact(slices.Sorted(slices.Values(a.Namespaces)))
}

// Engine delivers by Argo CD.
type Engine struct {
	// Client reads and writes Applications, as the controller itself. It should not
	// read from a cache that may be late.
	Client client.Client
	Allow  Allow
	// Now is the clock; time.Now where nil.
	Now func() time.Time
}

var _ delivery.Engine = (*Engine)(nil)

// Deliver makes the Application lead to want, and returns the progress of Argo CD. If the controller
// does not allow it, or a user has to change something, the progress is Stalled and there is no
// error.
func (e *Engine) Deliver(ctx context.Context, t *v1alpha1.Transform, want delivery.Desired) (delivery.Progress, error) {
	// Nothing is written over an Application of another owner.
	app, refused := e.application(t, want.Digest)
	if refused != nil {
		return refused.progress(t, want), nil
	}
	live, err := e.get(ctx, app)
	switch {
	case apimeta.IsNoMatchError(err):
		missing := refuse(v1alpha1.FeatureDisabledReason, "Argo CD is not installed in this cluster: kind Application does not exist")
		return missing.progress(t, want), nil
	case err != nil:
		return delivery.Progress{}, err
	case live != nil && !owns(t, live):
		const format = "Application %s/%s exists and is not of this Transform: delete it, or rename the Transform"
		return refuse(v1alpha1.ForeignObjectsReason, format, app.GetNamespace(), app.GetName()).progress(t, want), nil
	case live != nil && live.GetDeletionTimestamp() != nil:
		return waiting(app, want, "Argo CD is deleting the Application"), nil
	}

	// An Application in another namespace lets go first.
	moving, err := e.leave(ctx, t, app)
	if err != nil {
		return delivery.Progress{}, err
	}
	if moving != "" {
		return waiting(app, want, moving), nil
	}

	// The Application is written only if it is not as it should be, and else observed.
	if live == nil || !apply.Same(app, live) {
		return e.apply(ctx, app, live, want)
	}
	seen, err := observe(live)
	if err != nil {
		return delivery.Progress{}, err
	}
	if message, err := e.push(ctx, t, live, seen, want.Digest); message != "" || err != nil {
		return waiting(app, want, message), err
	}
	return progress(app, seen, want), nil
}

// apply writes the Application.
func (e *Engine) apply(ctx context.Context, app, live *unstructured.Unstructured, want delivery.Desired) (delivery.Progress, error) {
	if err := apply.Write(ctx, e.Client, app); err != nil {
		return delivery.Progress{}, err
	}
	out := waiting(app, want, "waiting for Argo CD to compare the new digest")
	if live == nil || text(live, "spec", "source", "targetRevision") != want.Digest {
		out.Changed = []string{app.GetName()}
	}
	return out, nil
}

// push ends a sync that stands in the way of the wanted digest, or that refuses objects which may be
// taken over by now. It starts a failed sync anew if it failed some time ago, or refused such
// objects. It returns a message about its action, or "".
func (e *Engine) push(ctx context.Context, t *v1alpha1.Transform, live *unstructured.Unstructured, seen observation, digest string) (string, error) {
	automated := live.Object["spec"].(map[string]any)["syncPolicy"].(map[string]any)["automated"] != nil
	op := seen.OperationState
	if op == nil || !automated {
		return "", nil
	}

	// A sync of an earlier digest ends if a controller has started it, and not a user.
	isOutdated := op.outdated(live)
	isInTheWay := op.revision() != digest && op.Operation.InitiatedBy.Automated
	if op.Phase == phaseRunning && (isInTheWay || isOutdated) {
		err := e.patch(ctx, live, map[string]any{"status": map[string]any{"operationState": map[string]any{"phase": phaseTerminating}}})
		return "terminating the sync of the previous digest", err
	}

	// A failed sync of the digest starts anew with the options of now.
	isOver := op.failed() && op.revision() == digest && live.Object["operation"] == nil
	if !isOver || !isOutdated && !e.rested(t, op) {
		return "", nil
	}
	policy := live.Object["spec"].(map[string]any)["syncPolicy"].(map[string]any)
	sync := map[string]any{"revision": digest, "prune": prunes(t)}
	if options := policy["syncOptions"]; options != nil {
		sync["syncOptions"] = options
	}
	err := e.patch(ctx, live, map[string]any{"operation": map[string]any{
		"sync": sync, "retry": policy["retry"],
		"initiatedBy": map[string]any{"username": string(apply.FieldOwner), "automated": true},
	}})
	return "retrying the failed sync", err
}

// rested reports whether an operation ended long enough ago.
func (e *Engine) rested(t *v1alpha1.Transform, op *operationState) bool {
	pause := t.GetRetryInterval()
	if pause <= 0 {
		pause = retryAfter
	}
	now := time.Now
	if e.Now != nil {
		now = e.Now
	}
	return op.FinishedAt != nil && now().Sub(op.FinishedAt.Time) >= pause
}

// get returns the live Application, or nil if it does not exist.
func (e *Engine) get(ctx context.Context, app *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(GroupVersionKind())
	err := e.Client.Get(ctx, client.ObjectKeyFromObject(app), live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// patch changes parts of an Application that has not changed meanwhile.
func (e *Engine) patch(ctx context.Context, live *unstructured.Unstructured, parts map[string]any) error {
	parts["metadata"] = map[string]any{"resourceVersion": live.GetResourceVersion()}
	data, err := json.Marshal(parts)
	if err != nil {
		return err
	}
	return e.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, data), apply.FieldOwner)
}

// refusal is the reason for which a Transform is not delivered until a user changes something.
type refusal struct{ reason, message string }

// refuse returns a refusal.
func refuse(reason, format string, args ...any) *refusal {
	return &refusal{reason: reason, message: fmt.Sprintf(format, args...)}
}

// progress returns the progress of a refused delivery.
func (r *refusal) progress(t *v1alpha1.Transform, want delivery.Desired) delivery.Progress {
	return delivery.Progress{
		Layers:  []v1alpha1.LayerStatus{layer(t.Namespace+"."+t.Name, v1alpha1.LayerFailed, r.message, want)},
		Stalled: true, Reason: r.reason, Message: r.message,
	}
}
