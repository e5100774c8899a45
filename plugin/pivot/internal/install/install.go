// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// Result is how far an installation is.
type Result struct {
	Cluster string `json:"cluster"`
	Phase   string `json:"phase"`
	Message string `json:"message"`
	// Pivot is the ID of the pivot, and Step how far it is.
	Pivot string `json:"pivot,omitempty"`
	Step  string `json:"step,omitempty"`
	// Nodes of the cluster, and those of them that are ready.
	Nodes      int64  `json:"nodes,omitempty"`
	NodesReady int64  `json:"nodesReady,omitempty"`
	Timeline   []Mark `json:"timeline"`
}

// run is one installation.
type run struct {
	Options
	plane  *plane.Plane
	kinds  plane.Kinds
	began  time.Time
	result Result
	kept   bool
}

// Run applies what is needed to the bootstrap cluster, and returns when the cluster is in charge
// of itself. The error has what a user has to do as Findings. The result is never nil.
func Run(ctx context.Context, p *plane.Plane, o Options) (*Result, error) {
	o.Interval = cmp.Or(o.Interval, 2*time.Second)
	o.Grace = cmp.Or(o.Grace, time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &run{Options: o, plane: p, began: o.Now(), result: Result{Cluster: o.Cluster.GetName(), Timeline: []Mark{}}}

	// Find what is missing there, before anything is changed.
	kinds, err := check(ctx, p, o.Cluster)
	r.kinds = kinds
	if err != nil {
		return &r.result, err
	}
	live, err := r.cluster(ctx)
	if err != nil {
		return &r.result, err
	}
	if err := r.checkForeign(live); err != nil {
		return &r.result, err
	}

	// The kubeconfig must have a place before there is a cluster.
	if err := r.keep(ctx); err != nil {
		return &r.result, err
	}
	if !r.kept {
		if err := o.Keep(nil); err != nil {
			return &r.result, err
		}
	}

	// Make all, and wait for the controller.
	if err := r.apply(ctx, live); err != nil {
		return &r.result, err
	}
	return &r.result, r.follow(ctx)
}

// finding returns an error that a user has to do something about.
func (r *run) finding(advice, format string, args ...any) error {
	return inventory.Findings{{Ref: refOf(r.Cluster), Problem: fmt.Sprintf(format, args...), Advice: advice}}
}

func (r *run) get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	o, err := r.plane.Get(ctx, r.kinds[ref.GroupKind()], ref)
	if err == nil {
		return o, nil
	}
	err = plane.IgnoreNotFound(err)
	if err != nil {
		err = fmt.Errorf("%s: %w", ref, err)
	}
	return nil, err
}

// cluster returns the PivotCluster of the bootstrap cluster; nil if there is none.
func (r *run) cluster(ctx context.Context) (*unstructured.Unstructured, error) {
	return r.get(ctx, refOf(r.Cluster))
}

// checkForeign refuses a PivotCluster that is not installed, or that is being deleted.
func (r *run) checkForeign(live *unstructured.Unstructured) error {
	if live == nil {
		return nil
	}
	if live.GetDeletionTimestamp() != nil {
		return r.finding("wait until it is gone", "is being deleted")
	}
	if _, ok := live.GetAnnotations()[Annotation]; !ok {
		return r.finding("choose another name, or delete it", "is on the bootstrap cluster already, and is a child of it: it was not made by an installation")
	}
	return nil
}

// keep passes the kubeconfig of the cluster to the caller, once there is one.
func (r *run) keep(ctx context.Context) error {
	if r.kept {
		return nil
	}
	o, err := r.get(ctx, Ref{Kind: "Secret", Namespace: namespace(r.Cluster.GetName()), Name: AdminSecret})
	if err != nil || o == nil {
		return err
	}
	text, _, _ := unstructured.NestedString(o.Object, "data", AdminKey)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		return fmt.Errorf("Secret %s/%s has no kubeconfig", o.GetNamespace(), o.GetName()) //nolint:staticcheck // a kind
	}
	r.kept = true
	return r.Keep(data)
}

// apply makes everything, or brings it to what it should be.
func (r *run) apply(ctx context.Context, live *unstructured.Unstructured) error {
	reached := live != nil && (condition(live, "Connected").Status == "True" || text(live, "status", "pivot", "id") != "")
	for _, o := range r.Objects(r.Now(), true) {
		if ref := plane.RefOf(o); reached && (ref.Kind == "Secret" || ref.Kind == "ClusterResourceSet") {
			continue
		}
		if err := r.put(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) put(ctx context.Context, want *unstructured.Unstructured) error {
	ref := plane.RefOf(want)
	kind := r.kinds[ref.GroupKind()]
	want.SetAPIVersion(kind.APIVersion())
	_, err := r.plane.Create(ctx, kind, want, metav1.CreateOptions{FieldManager: "ropewalk", FieldValidation: metav1.FieldValidationStrict})
	if apierrors.IsAlreadyExists(err) {
		_, err = r.plane.Update(ctx, kind, ref, metav1.UpdateOptions{FieldManager: "ropewalk", FieldValidation: metav1.FieldValidationStrict}, func(o *unstructured.Unstructured) error {
			return merge(o, want)
		})
	}
	if err != nil {
		return fmt.Errorf("applying %s: %w", ref, err)
	}
	return nil
}

// merge brings an object to what is wanted, and leaves labels and annotations of other clients.
func merge(o, want *unstructured.Unstructured) error {
	before := o.DeepCopy()
	o.SetLabels(union(o.GetLabels(), want.GetLabels()))
	o.SetAnnotations(union(o.GetAnnotations(), want.GetAnnotations()))
	for _, field := range []string{"spec", "data"} {
		if value, ok := want.Object[field]; ok {
			o.Object[field] = runtime.DeepCopyJSONValue(value)
		}
	}
	if reflect.DeepEqual(before.Object, o.Object) {
		return plane.ErrUnchanged
	}
	return nil
}

func union(into, from map[string]string) map[string]string {
	for key, value := range from {
		if into == nil {
			into = map[string]string{}
		}
		into[key] = value
	}
	return into
}

// follow waits until the cluster is in charge of itself.
func (r *run) follow(ctx context.Context) error {
	failed := r.Now() // when it was not so last
	for {
		// Read the status, and the kubeconfig once there is one.
		o, err := r.cluster(ctx)
		if err != nil {
			return err
		}
		if o == nil {
			return r.finding("run it again, if that was not meant", "was deleted on the bootstrap cluster")
		}
		m, seen := r.see(o)
		if err := r.keep(ctx); err != nil {
			return err
		}

		// A failure must last: the controller may try again.
		now := r.Now()
		if m.Phase != "Failed" || !seen {
			failed = now
		}

		// End when the cluster is Ready, or when only a user can go on.
		switch {
		case m.Phase == "Ready" && seen && r.kept:
			return nil
		case now.Sub(failed) > r.Grace/4:
			return r.finding("change what it says, and run it again", "%s", m.Message)
		case m.Phase == "" && now.Sub(r.began) > r.Grace:
			return r.finding("start ropewalk-controller there with --parts=transforms,pivot, and see its log", "no controller of the bootstrap cluster has looked at it within %s", r.Grace)
		case r.Timeout > 0 && now.Sub(r.began) > r.Timeout:
			return r.finding("run it again: the bootstrap cluster goes on by itself", "is not Ready within %s: it is %s: %s", r.Timeout, m.Phase, m.Message)
		}
		if err := r.plane.Sleep(ctx, r.Interval); err != nil {
			return err
		}
	}
}

// see keeps the status of the PivotCluster, and reports whether it is of its generation.
func (r *run) see(o *unstructured.Unstructured) (Mark, bool) {
	m := Mark{At: r.Now(), Phase: text(o, "status", "phase"), Message: condition(o, "Ready").Message}
	r.result.Pivot = text(o, "status", "pivot", "id")
	r.result.Step = text(o, "status", "pivot", "step")
	r.result.Nodes, _, _ = unstructured.NestedInt64(o.Object, "status", "nodes", "wanted")
	r.result.NodesReady, _, _ = unstructured.NestedInt64(o.Object, "status", "nodes", "ready")
	if m.Phase != "" && (m.Phase != r.result.Phase || m.Message != r.result.Message) {
		r.result.Timeline = append(r.result.Timeline, m)
		r.Report(m)
	}
	r.result.Phase, r.result.Message = m.Phase, m.Message
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	return m, observed == o.GetGeneration()
}

// condition returns a condition of the status; its zero value if there is none.
func condition(o *unstructured.Unstructured, name string) (out metav1.Condition) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == name {
			out.Status = metav1.ConditionStatus(fmt.Sprint(c["status"]))
			out.Message, _ = c["message"].(string)
		}
	}
	return out
}
