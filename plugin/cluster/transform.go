// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// Ref names an object.
type Ref struct {
	// Group is "" for the core kinds of Kubernetes.
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns the kind, the namespace and the name, such as "Transform apps/web".
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// compare orders by namespace and name.
func (r Ref) compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Namespace, o.Namespace), cmp.Compare(r.Name, o.Name))
}

// transformRef returns the name of a Transform.
func transformRef(namespace, name string) Ref {
	return Ref{Group: "ropewalk.dev", Kind: "Transform", Namespace: namespace, Name: name}
}

// Artifact is a published render.
type Artifact struct {
	Digest string `json:"digest"`
	// Revision is the revision of the source, or of the module if there is no source.
	Revision string `json:"revision,omitempty"`
	// Time is when it was published first, or zero.
	Time time.Time `json:"time,omitzero"`
}

// Transform is the state of a Transform.
type Transform struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Ready is the status of the condition of that name: True, False or Unknown. It is Unknown if the
	// condition belongs to an older spec.
	Ready string `json:"ready"`
	// Reason and Message come from the condition.
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	Suspended bool   `json:"suspended,omitempty"`
	// Layers counts the layers that are Ready, such as 2/3.
	Layers string `json:"layers,omitempty"`
	// Source is the Flux source, nil if a module comes from elsewhere.
	Source *Ref `json:"source,omitempty"`
	// Artifact is the delivered artifact, nil before the first.
	Artifact *Artifact `json:"artifact,omitempty"`
	// Rollback is the pinned digest, "" without a rollback.
	Rollback string `json:"rollback,omitempty"`
	// History has the delivered artifacts, the newest first. A rollback can go to each of them.
	History []Artifact `json:"history,omitempty"`
}

// item is an object of the controller or of Flux: the fields that are read of it.
type item struct {
	Kind     string            `json:"kind"`
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Suspend   bool       `json:"suspend"`
		SourceRef *reference `json:"sourceRef"`
		// Source of a Transform is made with it, by its name.
		Source *struct {
			Git *struct{} `json:"git"`
		} `json:"source"`
		Rollback struct {
			Digest string `json:"digest"`
		} `json:"rollback"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration     int64              `json:"observedGeneration"`
		LastHandledReconcileAt string             `json:"lastHandledReconcileAt"`
		LastAppliedRevision    string             `json:"lastAppliedRevision"`
		Conditions             []metav1.Condition `json:"conditions"`
		Progress               string             `json:"progress"`
		Artifact               *published         `json:"artifact"`
		History                []published        `json:"history"`
		References             []struct {
			Name      string `json:"name"`
			Reference string `json:"reference"`
			Revision  string `json:"revision"`
		} `json:"references"`
		Layers []struct {
			Name string `json:"name"`
		} `json:"layers"`
		Inventory struct {
			Entries []struct {
				ID string `json:"id"`
			} `json:"entries"`
		} `json:"inventory"`
	} `json:"status"`
}

// reference names a source. Without a Namespace it is in the namespace of the object.
type reference struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// published is an artifact in a status.
type published struct {
	Digest   string      `json:"digest"`
	Revision string      `json:"revision"`
	Time     metav1.Time `json:"time"`
}

// artifact returns the artifact for the caller.
func (p published) artifact() Artifact {
	return Artifact{Digest: p.Digest, Revision: p.Revision, Time: p.Time.UTC()}
}

// ref returns the name of the object.
func (o *item) ref() Ref {
	gvr, _ := resourceOf(o.Kind)
	return Ref{Group: gvr.Group, Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}
}

// source returns the source that sourceRef names, or that is made with a Transform, and reports
// whether there is a source.
func (o *item) source() (Ref, bool) {
	s := o.Spec.SourceRef
	if own := o.Spec.Source; s == nil && own != nil && own.Git != nil {
		s = &reference{Kind: "GitRepository", Name: o.Metadata.Name}
	}
	if s == nil {
		return Ref{}, false
	}
	gvr, _ := resourceOf(s.Kind)
	return Ref{Group: gvr.Group, Kind: s.Kind, Namespace: cmp.Or(s.Namespace, o.Metadata.Namespace), Name: s.Name}, true
}

// ready returns the condition Ready. Its status is Unknown if it does not belong to the present spec.
func (o *item) ready() metav1.Condition {
	c := apimeta.FindStatusCondition(o.Status.Conditions, "Ready")
	switch {
	case c == nil:
		return metav1.Condition{Status: metav1.ConditionUnknown, Message: "it is not reconciled yet"}
	case c.ObservedGeneration != 0 && c.ObservedGeneration < o.Metadata.Generation:
		return metav1.Condition{Status: metav1.ConditionUnknown, Message: "its last change is not reconciled yet"}
	case c.Status == metav1.ConditionTrue && o.Status.ObservedGeneration < o.Metadata.Generation:
		return metav1.Condition{Status: metav1.ConditionUnknown, Message: "its last change is not reconciled yet"}
	}
	return *c
}

// stalled reports whether the controller has given up until something is changed.
func (o *item) stalled() bool {
	c := apimeta.FindStatusCondition(o.Status.Conditions, "Stalled")
	return c != nil && c.Status == metav1.ConditionTrue && o.ready().Status == metav1.ConditionFalse
}

// revision returns the revision that an object delivers or holds.
func (o *item) revision() string {
	switch {
	case o.Status.LastAppliedRevision != "":
		return o.Status.LastAppliedRevision
	case o.Status.Artifact != nil:
		return cmp.Or(o.Status.Artifact.Revision, o.Status.Artifact.Digest)
	}
	return ""
}

// transform returns the Transform for the caller.
func (o *item) transform() *Transform {
	ready := o.ready()
	out := &Transform{
		Namespace: o.Metadata.Namespace,
		Name:      o.Metadata.Name,
		Suspended: o.Spec.Suspend,
		Ready:     string(ready.Status),
		Reason:    ready.Reason,
		Message:   ready.Message,
		Layers:    o.Status.Progress,
		Rollback:  o.Spec.Rollback.Digest,
	}
	if s, ok := o.source(); ok {
		out.Source = &s
	}
	if a := o.Status.Artifact; a != nil {
		out.Artifact = new(a.artifact())
	}
	for _, a := range o.Status.History {
		out.History = append(out.History, a.artifact())
	}
	return out
}

// Delivered names the delivered artifact, such as "main@sha1:0123456789ab (sha256:0123456789ab)".
func (t *Transform) Delivered() string {
	switch {
	case t.Artifact == nil:
		return "nothing"
	case t.Artifact.Revision == "":
		return printable.Revision(t.Artifact.Digest)
	}
	return fmt.Sprintf("%s (%s)", printable.Revision(t.Artifact.Revision), printable.Revision(t.Artifact.Digest))
}
