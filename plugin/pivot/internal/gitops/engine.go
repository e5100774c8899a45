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
	// Frozen is the annotation of objects that Freeze has stopped: the value of the field before, as
	// JSON.
	Frozen = "pivot.ropewalk.dev/frozen"

	// refresh is the annotation that makes Argo CD compare an Application. Argo CD removes it
	// afterwards.
	refresh = "argocd.argoproj.io/refresh"
	// cascade is the finalizer by which Argo CD deletes the applied objects; others begin with it.
	cascade = "resources-finalizer.argocd.argoproj.io"
)

// engine is a kind of objects that deliver, with the way to stop them.
type engine struct {
	plane.Kind
	// namespaces of the objects; "" stands for all namespaces.
	namespaces []string
	// field stops an object when its value is off; nil if there is no such field.
	field []string
	off   any
	// ask is the annotation that requests an answer of the controller, and with its value; "" stands
	// for a new random value each time.
	ask, with string
	// busy returns the work that an object still does; "" if it is idle.
	busy func(*unstructured.Unstructured) string
	// release changes an object so that its deletion does not delete the objects that it applied.
	release func(*unstructured.Unstructured)
}

// sources returns the kind that Kustomizations read from.
func sources() plane.Kind {
	return plane.Kind{Group: "source.toolkit.fluxcd.io", Kind: "OCIRepository", Resource: "ocirepositories", Version: "v1", Namespaced: true}
}

// transforms returns the kind Transform. A cluster is delivered by one object of it.
func transforms() plane.Kind {
	return plane.Kind{
		Group:      v1alpha1.Group,
		Kind:       v1alpha1.TransformKind,
		Resource:   "transforms",
		Version:    v1alpha1.GroupVersion.Version,
		Namespaced: true,
	}
}

// engines returns the engines in the order in which they are stopped: each writes the objects of
// those after it.
func (g *GitOps) engines() []engine {
	namespace := []string{g.Cluster.ClusterNamespace()}

	// Transforms and Kustomizations are suspended in the same way.
	suspend := engine{
		namespaces: namespace,
		field:      []string{"spec", "suspend"},
		off:        true,
		ask:        meta.ReconcileRequestAnnotation,
		busy:       unanswered,
		release:    func(*unstructured.Unstructured) {},
	}
	transform := suspend
	kustomization := suspend
	transform.Kind = transforms()
	kustomization.Kind = plane.Kind{
		Group:      "kustomize.toolkit.fluxcd.io",
		Kind:       "Kustomization",
		Resource:   "kustomizations",
		Version:    "v1",
		Namespaced: true,
	}
	kustomization.release = orphan

	// The automated sync of an Application is removed.
	application := engine{
		Kind:       plane.Kind{Group: "argoproj.io", Kind: "Application", Resource: "applications", Version: "v1alpha1", Namespaced: true},
		namespaces: g.Applications,
		field:      []string{"spec", "syncPolicy", "automated"},
		ask:        refresh,
		with:       "normal",
		busy:       syncing,
		release:    uncascade,
	}
	if slices.Contains(g.Applications, "*") {
		application.namespaces = []string{""}
	}
	return []engine{transform, kustomization, application}
}

// owned returns the objects of a kind that deliver the cluster. There are none if the API server
// does not know the kind.
func (g *GitOps) owned(ctx context.Context, k plane.Kind, namespaces []string) ([]*unstructured.Unstructured, error) {
	// The Transform has the name of the cluster, and the other objects have its labels.
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
	for _, searched := range namespaces {
		err := g.Plane.Select(ctx, k, searched, labels, 0, func(o *unstructured.Unstructured) error {
			out = append(out, o)
			return nil
		})
		if plane.IgnoreNotFound(err) != nil {
			return nil, err
		}
	}
	return out, nil
}

// stopAll stops all engines. Each is stopped once the engines before it are idle. It returns the
// object that it still waits for. A Transform that is being deleted deletes the delivered objects,
// which is an error if stays is set.
func (g *GitOps) stopAll(ctx context.Context, stays bool) (waiting string, err error) {
	for _, e := range g.engines() {
		objects, err := g.owned(ctx, e.Kind, e.namespaces)
		if err != nil {
			return "", err
		}
		for _, o := range objects {
			ref := plane.RefOf(o)
			if o.GetDeletionTimestamp() != nil {
				if stays && e.GroupKind() == transforms().GroupKind() {
					const format = "%s plane: %s is being deleted, with what it delivered: a pivot needs the cluster as it is"
					return "", fmt.Errorf(format, g.Plane.Name(), ref)
				}
				waiting = fmt.Sprintf("%s is being deleted", ref)
				continue
			}
			o, err := g.Plane.Update(ctx, e.Kind, ref, metav1.UpdateOptions{FieldManager: mover.Manager}, e.stop)
			if plane.IgnoreNotFound(err) != nil {
				return "", fmt.Errorf("%s plane: %s: %w", g.Plane.Name(), ref, err)
			}
			if err == nil && e.busy(o) != "" {
				waiting = fmt.Sprintf("%s: %s", ref, e.busy(o))
			}
		}
		if waiting != "" {
			return waiting, nil
		}
	}
	return "", nil
}

// stop stops an object, and notes the field's value before that in an annotation.
func (e engine) stop(o *unstructured.Unstructured) error {
	// Leave an object that is stopped already.
	current, _, err := unstructured.NestedFieldCopy(o.Object, e.field...)
	if err != nil {
		return err
	}
	notes := o.GetAnnotations()
	_, frozen := notes[Frozen]
	if frozen && reflect.DeepEqual(current, e.off) {
		return plane.ErrUnchanged
	}

	// Note the value, and request an answer of the controller.
	if notes == nil {
		notes = map[string]string{}
	}
	if !frozen {
		before, err := json.Marshal(current)
		if err != nil {
			return err
		}
		notes[Frozen] = string(before)
	}
	notes[e.ask] = e.with
	if e.with == "" {
		notes[e.ask] = mover.Manager + "-" + rand.Text() // No earlier answer has this value.
	}
	o.SetAnnotations(notes)
	return e.set(o, e.off)
}

// set sets the field by which an object is stopped.
func (e engine) set(o *unstructured.Unstructured, value any) error {
	if value == nil {
		unstructured.RemoveNestedField(o.Object, e.field...)
		return nil
	}
	return unstructured.SetNestedField(o.Object, value, e.field...)
}

// thaw restores the objects that stop has changed. The Transform comes last, because it writes the
// others.
func (g *GitOps) thaw(ctx context.Context) error {
	for _, e := range slices.Backward(g.engines()) {
		objects, err := g.owned(ctx, e.Kind, e.namespaces)
		if err != nil {
			return err
		}
		for _, o := range objects {
			ref := plane.RefOf(o)
			_, err := g.Plane.Update(ctx, e.Kind, ref, metav1.UpdateOptions{FieldManager: mover.Manager}, e.restore)
			if plane.IgnoreNotFound(err) != nil {
				return fmt.Errorf("%s plane: %s: %w", g.Plane.Name(), ref, err)
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
	var before any
	if err := utiljson.Unmarshal([]byte(text), &before); err != nil {
		const format = "annotation %s: %w: set %s to what it should be, and take the annotation away"
		return fmt.Errorf(format, Frozen, err, strings.Join(e.field, "."))
	}
	delete(notes, Frozen)
	o.SetAnnotations(notes)
	return e.set(o, before)
}

// unanswered returns a message until the controller of an object has answered the request of stop,
// or a later request.
func unanswered(o *unstructured.Unstructured) string {
	answer, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
	if answer == o.GetAnnotations()[meta.ReconcileRequestAnnotation] {
		return ""
	}
	return "its controller has not seen yet that it is suspended, and may be applying"
}

// syncing returns a message until Argo CD has compared an Application, and its operation has ended.
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

// orphan lets a Kustomization leave its applied objects when it is deleted.
func orphan(o *unstructured.Unstructured) {
	_ = unstructured.SetNestedField(o.Object, "Orphan", "spec", "deletionPolicy") // It has a spec.
}

// uncascade lets an Application leave its applied objects when it is deleted.
func uncascade(o *unstructured.Unstructured) {
	isCascade := func(f string) bool { return f == cascade || strings.HasPrefix(f, cascade+"/") }
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), isCascade))
}

// end deletes the delivering objects: each kind once the kinds before it are gone, and the sources
// last. It returns the object that it still waits for.
func (g *GitOps) end(ctx context.Context) (waiting string, err error) {
	last := engine{Kind: sources(), namespaces: []string{g.Cluster.ClusterNamespace()}}
	for _, e := range append(g.engines(), last) {
		objects, err := g.owned(ctx, e.Kind, e.namespaces)
		if err != nil {
			return "", err
		}
		for _, o := range objects {
			ref := plane.RefOf(o)
			err := g.Plane.Remove(ctx, e.Kind, ref, metav1.UpdateOptions{FieldManager: mover.Manager}, e.leave)
			if err != nil {
				return "", fmt.Errorf("%s plane: %s: %w", g.Plane.Name(), ref, err)
			}
			waiting = fmt.Sprintf("%s is being deleted", ref)
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
