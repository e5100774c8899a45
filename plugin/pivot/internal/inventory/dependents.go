// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// Dependents returns findings for the objects that would be lost with the set. Their kinds are not
// moved, and all of their owners are deleted from the source, so that its garbage collector deletes
// them as well. Read has looked at all other kinds. The notes name the kinds that could not be read.
func (s *Set) Dependents(ctx context.Context, p *plane.Plane, kinds plane.Kinds) (Findings, []string) {
	const patience = 2 * time.Second // An API server that is aggregated may be away for good.
	p = p.Within(patience)

	// Only kinds that were not listed for the set are read.
	served, err := p.Served(ctx)
	served = slices.DeleteFunc(served, func(k plane.Kind) bool { return s.listed[k.GroupKind()] })
	var notes []string
	if err != nil {
		const format = "%s plane: not all kinds are known, so that objects of others may be deleted with their owners: %v"
		notes = append(notes, fmt.Sprintf(format, p.Name(), err))
	}

	// Find objects whose owners are all deleted.
	deleted := map[string]plane.Ref{}
	for i := range s.Items {
		if item := &s.Items[i]; !item.Stays {
			deleted[item.UID] = item.Ref
		}
	}
	isKept := func(r metav1.OwnerReference) bool {
		_, ok := deleted[string(r.UID)]
		return !ok
	}
	var mu sync.Mutex
	var out Findings
	var denied []string
	err = p.Each(ctx, len(served), func(ctx context.Context, i int) error {
		k := served[i]
		err := p.Metadata(ctx, k, s.Cluster.Namespace, func(o *metav1.PartialObjectMetadata) {
			owners := o.OwnerReferences
			if len(owners) == 0 || slices.ContainsFunc(owners, isKept) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out = append(out, dependent(k, o, deleted[string(owners[0].UID)], kinds))
		})
		mu.Lock()
		defer mu.Unlock()
		switch {
		case apierrors.IsForbidden(err):
			denied = append(denied, k.GroupKind().String())
		case plane.IgnoreNotFound(err) != nil && !apierrors.IsMethodNotSupported(err):
			const format = "%s plane: objects of kind %s cannot be listed, and may be deleted with their owners: %v"
			notes = append(notes, fmt.Sprintf(format, p.Name(), k.GroupKind(), err))
		}
		return nil
	})

	// Report the kinds that could not be read.
	if len(denied) > 0 {
		slices.Sort(denied)
		const format = "%s plane: the user of the kubeconfig may not list these kinds, whose objects may be deleted with their owners: %s"
		notes = append(notes, fmt.Sprintf(format, p.Name(), strings.Join(denied, ", ")))
	}
	if err != nil { // The caller ends.
		notes = append(notes, err.Error())
	}
	slices.Sort(notes)
	return out.Sorted(), notes
}

// dependent returns the finding about an object that would be lost with its owner.
func dependent(k plane.Kind, o *metav1.PartialObjectMetadata, owner plane.Ref, kinds plane.Kinds) Finding {
	f := Finding{
		Ref:     plane.Ref{Group: k.Group, Kind: k.Kind, Namespace: o.Namespace, Name: o.Name},
		Problem: fmt.Sprintf("is not moved, as its kind is none of Cluster API, and would be deleted with its owner %s", owner),
		Advice:  "remove its owner reference, so that it stays on the source; or delete it",
	}
	if crd, ok := kinds[k.GroupKind()]; ok {
		const format = "label CustomResourceDefinition %s.%s %s, so that it moves with its owner; " +
			"or remove its owner reference, so that it stays on the source"
		f.Advice = fmt.Sprintf(format, crd.Resource, crd.Group, moveLabel)
	}
	return f
}
