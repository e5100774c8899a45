// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// patience bounds how long a dry run is repeated: a webhook that does not answer for longer is not
// there.
const patience = 5 * time.Second

// target checks the target, and collects findings.
type target struct {
	plane   *plane.Plane
	kinds   plane.Kinds
	samples []snapshot.Entry
	cluster plane.Ref
	// there means that the namespace of the Cluster exists.
	there bool
	// denied are the missing rights, which are reported.
	denied rights

	mu       sync.Mutex
	findings inventory.Findings
}

// Target checks the target: rights, objects that are there already, and whether the samples would
// be accepted. Kinds are the kinds of the source, at common versions. If the namespace is not there,
// webhooks are not tried.
func Target(ctx context.Context, p *plane.Plane, kinds plane.Kinds, samples []snapshot.Entry, namespaceThere bool) inventory.Findings {
	t := &target{plane: p, kinds: kinds, samples: samples, there: namespaceThere}
	for _, e := range samples {
		if !e.Stays && e.Ref.GroupKind() == (schema.GroupKind{Group: "cluster.x-k8s.io", Kind: "Cluster"}) {
			t.cluster = e.Ref
		}
	}

	// Objects whose creation is not allowed are not tried.
	t.checkRights(ctx)
	t.checkExisting(ctx)
	err := p.Each(ctx, len(samples), func(ctx context.Context, i int) error {
		if samples[i].Object != nil {
			t.try(ctx, &samples[i])
		}
		return nil
	})
	if err != nil {
		t.add(unknown(p, t.cluster, "trying to create the objects", err))
	}
	return t.findings.Sorted()
}

// add adds findings.
func (t *target) add(f ...inventory.Finding) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.findings = append(t.findings, f...)
}

// checkRights reports rights that are missing, and keeps them in denied.
func (t *target) checkRights(ctx context.Context) {
	namespace := t.cluster.Namespace
	need := rights{}
	need.add(plane.Kind{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, "", "list")
	need.add(plane.NamespaceKind, "", "get")
	if !t.there {
		need.add(plane.NamespaceKind, "", "create")
	}
	need.add(plane.ConfigMapKind, namespace, "create", "get", "update")
	need.add(plane.SecretKind, namespace, "create", "delete", "get", "list", "update")
	for _, e := range t.samples {
		need.add(t.kinds[e.Ref.GroupKind()], e.Ref.Namespace, "create", "delete", "get", "list", "update")
	}
	findings, denied := need.missing(ctx, t.plane, t.cluster)
	t.denied = denied
	t.add(findings...)
}

// may reports whether a verb is not among the rights that are missing.
func (t *target) may(verb string, r plane.Ref) bool {
	k := t.kinds[r.GroupKind()]
	return !t.denied[plane.Right{Verb: verb, Group: k.Group, Resource: k.Resource, Namespace: r.Namespace}]
}

// checkExisting compares the samples with the objects that are on the target already.
func (t *target) checkExisting(ctx context.Context) {
	// Index the samples, and collect the lists to read.
	byRef := map[plane.Ref]*snapshot.Entry{}
	var places []plane.Ref // kinds in namespaces
	for i := range t.samples {
		e := &t.samples[i]
		byRef[e.Ref] = e
		place := e.Ref
		place.Name = ""
		if !slices.Contains(places, place) && t.may("list", e.Ref) {
			places = append(places, place)
		}
	}

	// Compare the objects of each list.
	err := t.plane.Each(ctx, len(places), func(ctx context.Context, i int) error {
		kind := t.kinds[places[i].GroupKind()]
		err := t.plane.List(ctx, kind, places[i].Namespace, 0, func(o *unstructured.Unstructured) error {
			if e := byRef[plane.RefOf(o)]; e != nil {
				t.compare(e, o)
			}
			return nil
		})
		return plane.IgnoreNotFound(err)
	})
	if err != nil {
		t.add(unknown(t.plane, t.cluster, "looking for objects that are there already", err))
	}
}

// compare reports an object that is in the way of an entry.
func (t *target) compare(e *snapshot.Entry, o *unstructured.Unstructured) {
	name := t.plane.Name()
	f := inventory.Finding{Ref: e.Ref}
	switch {
	case o.GetAnnotations()[snapshot.ImportAnnotation] != "":
		f.Problem = fmt.Sprintf("is on the %s plane already: a pivot has left it there, whose receipt is gone", name)
		f.Advice = "remove its finalizers, and delete it there; it was never in charge of anything"
	case o.GetDeletionTimestamp() != nil:
		f.Problem = fmt.Sprintf("is being deleted from the %s plane", name)
		f.Advice = "wait until it is gone, or see which of its finalizers are left"
	case !e.Stays:
		f.Problem = fmt.Sprintf("is on the %s plane already", name)
		f.Advice = "delete it there if it is not needed, or choose another target"
	default:
		difference := differs(e, o)
		if difference == "" {
			return
		}
		f.Problem = fmt.Sprintf("is on the %s plane already, and differs %s", name, difference)
		f.Advice = "make both the same, or rename one of them"
	}
	t.add(f)
}

// differs returns where an object differs from its entry; "" if it does not.
func differs(e *snapshot.Entry, o *unstructured.Unstructured) string {
	got, err := snapshot.Canonical(o)
	if err == nil && snapshot.Sum(got) == e.Digest {
		return ""
	}
	if err == nil && e.Object != nil {
		paths, err := snapshot.Differences(e.Object, got)
		switch {
		case err == nil && len(paths) == 0:
			return ""
		case err == nil:
			return "at " + strings.Join(paths, ", ")
		}
	}
	return "from that of the source"
}

// try creates an object without storing it.
func (t *target) try(ctx context.Context, e *snapshot.Entry) {
	if !t.may("create", e.Ref) {
		return
	}
	kind, err := t.kinds.At(e.Ref, e.APIVersion)
	if err != nil {
		t.add(inventory.Finding{
			Ref:     e.Ref,
			Problem: fmt.Sprintf("is in version %q, which is not served by both planes", e.APIVersion),
			Advice:  "upgrade the provider on the plane that has the older one",
		})
		return
	}
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal(e.Object, &o.Object); err != nil {
		t.add(unknown(t.plane, e.Ref, "its sample is no object", err))
		return
	}

	// The owners have no UIDs yet.
	o.SetOwnerReferences(nil)
	options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	_, err = t.plane.Within(patience).Create(ctx, kind, o, options)
	if f := t.judge(e.Ref, o, err); f != nil {
		t.add(*f)
	}
}

// judge returns the finding about the answer to a dry run, or nil.
func (t *target) judge(r plane.Ref, o *unstructured.Unstructured, err error) *inventory.Finding {
	const upgrade = "upgrade the provider of the target plane to the version of the source plane, with the same features enabled"
	name := t.plane.Name()

	// An object that exists is reported by compare. Without its namespace an object is decoded and
	// validated all the same.
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	lacksNamespace := apierrors.IsNotFound(err) && r.Namespace != "" && named(err, "namespaces")
	if lacksNamespace && !t.there {
		return nil
	}
	if apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run") {
		return nil
	}

	// The advice depends on the part of the server that has refused it.
	f := &inventory.Finding{Ref: r}
	switch {
	case apierrors.IsNotFound(err):
		f.Problem = fmt.Sprintf("its kind is not served by the %s plane", name)
		f.Advice = "install its CustomResourceDefinition there, or see why it is not established"
	case apierrors.IsInvalid(err):
		f.Problem = fmt.Sprintf("is not valid on the %s plane: %s", name, fields(o, err))
		f.Advice = upgrade
	case strings.Contains(err.Error(), "failed calling webhook"):
		f.Problem = fmt.Sprintf("a webhook of the %s plane does not answer: %s", name, snapshot.Hide(o, err.Error()))
		f.Advice = "see that the controller of the webhook runs, and that its Service and certificate are right"
	case apierrors.IsBadRequest(err):
		f.Problem = fmt.Sprintf("is rejected by the %s plane: %s", name, snapshot.Hide(o, err.Error()))
		f.Advice = upgrade
	default:
		f.Problem = fmt.Sprintf("is rejected by the %s plane: %s", name, snapshot.Hide(o, err.Error()))
		f.Advice = "see why, in the controllers and policies of that plane"
	}
	return f
}

// named reports whether an error is about a resource.
func named(err error, resource string) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == resource
}

// fields returns the fields that an error names. The texts of most causes are left out, because
// they show values, which may be secret.
func fields(o *unstructured.Unstructured, err error) string {
	var status apierrors.APIStatus
	var out []string
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			text := fmt.Sprintf("%s (%s)", c.Field, c.Type)
			if c.Type == metav1.CauseTypeFieldValueRequired || c.Type == metav1.CauseType(field.ErrorTypeForbidden) {
				text = c.Field + ": " + snapshot.Hide(o, c.Message)
			}
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}
