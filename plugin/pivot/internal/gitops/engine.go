// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/mover"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

const (
	// Frozen is the annotation of what Freeze has stopped: what the field was before, as JSON.
	Frozen = "pivot.ropewalk.dev/frozen"

	// refresh is the annotation by which Argo CD compares an Application, and which it takes
	// away when it has.
	refresh = "argocd.argoproj.io/refresh"
	// cascade is the finalizer by which Argo CD deletes what it applied; others begin with it.
	cascade = "resources-finalizer.argocd.argoproj.io"
)

// engine is a kind of objects that deliver, and how they are stopped.
type engine struct {
	plane.Kind
	// namespaces they are in; "" is all of them.
	namespaces []string
	// field is what stops them, by off; nil is no such field.
	field []string
	off   any
	// ask is the annotation, and with is its value, by which the controller has to answer.
	ask, with string
	// busy says what an object still does; "" is nothing.
	busy func(*unstructured.Unstructured) string
	// release makes that the deletion of an object deletes nothing that it applied.
	release func(*unstructured.Unstructured)
}

// sources returns the kind that Kustomizations read from.
func sources() plane.Kind {
	return plane.Kind{Group: "source.toolkit.fluxcd.io", Kind: "OCIRepository", Resource: "ocirepositories", Version: "v1", Namespaced: true}
}

// transforms returns the kind Transform. A cluster is delivered by one object of it.
func transforms() plane.Kind {
	return plane.Kind{Group: v1alpha1.Group, Kind: v1alpha1.TransformKind, Resource: "transforms", Version: v1alpha1.GroupVersion.Version, Namespaced: true}
}

// engines returns the engines in the order in which they are stopped: each writes the objects of
// those after it.
func (g *GitOps) engines() []engine {
	namespace := []string{g.Cluster.ClusterNamespace()}
	suspend := engine{namespaces: namespace, field: []string{"spec", "suspend"}, off: true, ask: meta.ReconcileRequestAnnotation, busy: unanswered, release: func(*unstructured.Unstructured) {}}
	transform := suspend
	kustomization := suspend
	transform.Kind = transforms()
	kustomization.Kind = plane.Kind{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Resource: "kustomizations", Version: "v1", Namespaced: true}
	kustomization.release = orphan
	application := engine{
		Kind:       plane.Kind{Group: "argoproj.io", Kind: "Application", Resource: "applications", Version: "v1alpha1", Namespaced: true},
		namespaces: g.Applications, field: []string{"spec", "syncPolicy", "automated"}, ask: refresh, with: "normal", busy: syncing, release: uncascade,
	}
	if slices.Contains(g.Applications, "*") {
		application.namespaces = []string{""}
	}
	return []engine{transform, kustomization, application}
}

// owned returns the objects of a kind that deliver the cluster; none if the API server does not
// know the kind.
func (g *GitOps) owned(ctx context.Context, k plane.Kind, namespaces []string) ([]*unstructured.Unstructured, error) {
	name, namespace := g.Cluster.Name, g.Cluster.ClusterNamespace()
	if k.GroupKind() == transforms().GroupKind() {
		o, err := g.Plane.Get(ctx, k, plane.Ref{Group: k.Group, Kind: k.Kind, Namespace: namespace, Name: name})
		if err != nil {
			return nil, plane.IgnoreNotFound(err)
		}
		return []*unstructured.Unstructured{o}, nil
	}
	labels := fmt.Sprintf("%s=%s,%s=%s", v1alpha1.LabelTransform, name, v1alpha1.LabelNamespace, namespace)
	var out []*unstructured.Unstructured
	for _, in := range namespaces {
		err := g.Plane.Select(ctx, k, in, labels, 0, func(o *unstructured.Unstructured) error {
			out = append(out, o)
			return nil
		})
		if plane.IgnoreNotFound(err) != nil {
			return nil, err
		}
	}
	return out, nil
}

// stopAll stops all engines. Each is stopped once those before it are still. It returns what it
// still waits for. A Transform that is being deleted takes away what it delivered, which is an
// error if stays is set.
func (g *GitOps) stopAll(ctx context.Context, stays bool) (waiting string, err error) {
	for _, e := range g.engines() {
		all, err := g.owned(ctx, e.Kind, e.namespaces)
		if err != nil {
			return "", err
		}
		for _, o := range all {
			at := plane.RefOf(o)
			if o.GetDeletionTimestamp() != nil {
				if stays && e.GroupKind() == transforms().GroupKind() {
					return "", fmt.Errorf("%s plane: %s is being deleted, with what it delivered: a pivot needs the cluster as it is", g.Plane.Name(), at)
				}
				waiting = fmt.Sprintf("%s is being deleted", at)
				continue
			}
			o, err := g.Plane.Update(ctx, e.Kind, at, metav1.UpdateOptions{FieldManager: mover.Manager}, e.stop)
			if plane.IgnoreNotFound(err) != nil {
				return "", fmt.Errorf("%s plane: %s: %w", g.Plane.Name(), at, err)
			}
			if err == nil && e.busy(o) != "" {
				waiting = fmt.Sprintf("%s: %s", at, e.busy(o))
			}
		}
		if waiting != "" {
			return waiting, nil
		}
	}
	return "", nil
}

// stop stops an object, and notes in an annotation what was before.
func (e engine) stop(o *unstructured.Unstructured) error {
	now, _, err := unstructured.NestedFieldCopy(o.Object, e.field...)
	if err != nil {
		return err
	}
	notes := o.GetAnnotations()
	_, frozen := notes[Frozen]
	if frozen && reflect.DeepEqual(now, e.off) {
		return plane.ErrUnchanged
	}
	if notes == nil {
		notes = map[string]string{}
	}
	if !frozen {
		was, err := json.Marshal(now)
		if err != nil {
			return err
		}
		notes[Frozen] = string(was)
	}
	notes[e.ask] = e.with
	if e.with == "" {
		notes[e.ask] = mover.Manager + "-" + rand.Text() // None that was answered before.
	}
	o.SetAnnotations(notes)
	return e.set(o, e.off)
}

// set sets the field by which an object is stopped.
func (e engine) set(o *unstructured.Unstructured, to any) error {
	if to == nil {
		unstructured.RemoveNestedField(o.Object, e.field...)
		return nil
	}
	return unstructured.SetNestedField(o.Object, to, e.field...)
}

// thaw restores what stop has changed. The Transform comes last, because it writes the others.
func (g *GitOps) thaw(ctx context.Context) error {
	for _, e := range slices.Backward(g.engines()) {
		all, err := g.owned(ctx, e.Kind, e.namespaces)
		if err != nil {
			return err
		}
		for _, o := range all {
			at := plane.RefOf(o)
			_, err := g.Plane.Update(ctx, e.Kind, at, metav1.UpdateOptions{FieldManager: mover.Manager}, e.restore)
			if plane.IgnoreNotFound(err) != nil {
				return fmt.Errorf("%s plane: %s: %w", g.Plane.Name(), at, err)
			}
		}
	}
	return nil
}

// restore undoes stop.
func (e engine) restore(o *unstructured.Unstructured) error {
	notes := o.GetAnnotations()
	text, frozen := notes[Frozen]
	if !frozen {
		return plane.ErrUnchanged
	}
	var was any
	if err := utiljson.Unmarshal([]byte(text), &was); err != nil {
		return fmt.Errorf("annotation %s: %w: set %s to what it should be, and take the annotation away", Frozen, err, strings.Join(e.field, "."))
	}
	delete(notes, Frozen)
	o.SetAnnotations(notes)
	return e.set(o, was)
}

// unanswered returns what an object waits for until its controller has answered a request that was
// made with the suspension, or after it.
func unanswered(o *unstructured.Unstructured) string {
	answer, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
	if answer == o.GetAnnotations()[meta.ReconcileRequestAnnotation] {
		return ""
	}
	return "its controller has not seen yet that it is suspended, and may be applying"
}

// syncing returns what an Application waits for: the answer of Argo CD, or the end of an
// operation.
func syncing(o *unstructured.Unstructured) string {
	if _, asked := o.GetAnnotations()[refresh]; asked {
		return "Argo CD has not seen yet that its automated sync is off"
	}
	phase, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "phase")
	if o.Object["operation"] != nil || phase == "Running" || phase == "Terminating" {
		return "a sync is running: wait for it, or end it with argocd app terminate-op"
	}
	return ""
}

// orphan lets a Kustomization leave what it applied when it is deleted.
func orphan(o *unstructured.Unstructured) {
	_ = unstructured.SetNestedField(o.Object, "Orphan", "spec", "deletionPolicy") // It has a spec.
}

// uncascade lets an Application leave what it applied when it is deleted.
func uncascade(o *unstructured.Unstructured) {
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == cascade || strings.HasPrefix(f, cascade+"/") }))
}

// end deletes what delivers: each kind once those before it are gone, and the sources last. It
// returns what it still waits for.
func (g *GitOps) end(ctx context.Context) (waiting string, err error) {
	last := engine{Kind: sources(), namespaces: []string{g.Cluster.ClusterNamespace()}}
	for _, e := range append(g.engines(), last) {
		all, err := g.owned(ctx, e.Kind, e.namespaces)
		if err != nil {
			return "", err
		}
		for _, o := range all {
			at := plane.RefOf(o)
			if err := g.Plane.Remove(ctx, e.Kind, at, metav1.UpdateOptions{FieldManager: mover.Manager}, e.leave); err != nil {
				return "", fmt.Errorf("%s plane: %s: %w", g.Plane.Name(), at, err)
			}
			waiting = fmt.Sprintf("%s is being deleted", at)
		}
		if waiting != "" {
			return waiting, nil
		}
	}
	return "", nil
}

// leave changes an object so that its deletion, at this version, deletes nothing else.
func (e engine) leave(o *unstructured.Unstructured) error {
	if e.field == nil {
		return plane.ErrUnchanged // A source has applied nothing.
	}
	before := o.DeepCopy()
	if err := e.stop(o); err != nil && !errors.Is(err, plane.ErrUnchanged) {
		return err
	}
	e.release(o)
	if reflect.DeepEqual(before.Object, o.Object) {
		return plane.ErrUnchanged
	}
	return nil
}
