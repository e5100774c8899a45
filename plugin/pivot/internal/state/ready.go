// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// checkPlane returns findings if the plane loses the imported objects: their namespace, or one of
// their definitions, is gone or is being deleted. Kubernetes deletes the objects some seconds later,
// and accepts writes until then.
func (h *handling) checkPlane(ctx context.Context) error {
	// The namespace must be there.
	o, err := h.namespace(ctx)
	if err != nil {
		return err
	}
	var out inventory.Findings
	if o == nil {
		out = append(out, inventory.Finding{
			Ref:     h.namespaceRef(),
			Problem: fmt.Sprintf("is not on the %s plane any more", h.plane.Name()),
			Advice: "see what deleted it; run again, or, where the pivot is committed, " +
				"go on with `ropewalk pivot run --resume`: all is imported again from the source",
		})
	}

	// So must the definitions of all kinds that move and are not built in.
	if len(h.used) > 0 {
		definitions, err := h.plane.Definitions(ctx)
		if err != nil {
			return err
		}
		for _, k := range list(h.used) {
			if k.Group == "" {
				continue
			}
			ref := plane.Ref{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: k.Resource + "." + k.Group}
			switch deleted, there := definitions[ref.Name]; {
			case !there:
				problem := fmt.Sprintf("is not on the %s plane any more", h.plane.Name())
				out = append(out, inventory.Finding{Ref: ref, Problem: problem, Advice: "install its provider again"})
			case deleted:
				problem := fmt.Sprintf("is being deleted from the %s plane, with all of its objects", h.plane.Name())
				advice := "see what deletes it, and install its provider again once it is gone"
				out = append(out, inventory.Finding{Ref: ref, Problem: problem, Advice: advice})
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	return nil
}

// namespaceRef returns the reference of the cluster's namespace.
func (h *handling) namespaceRef() plane.Ref {
	return plane.Ref{Kind: "Namespace", Name: h.store.cluster.Namespace}
}

// namespace returns the namespace of the cluster; nil if it is not there. It refuses a namespace
// that is being deleted, because nothing in it lasts.
func (h *handling) namespace(ctx context.Context) (*unstructured.Unstructured, error) {
	o, err := h.plane.Get(ctx, plane.NamespaceKind, h.namespaceRef())
	switch {
	case plane.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("%s plane: namespace %q: %w", h.plane.Name(), h.store.cluster.Namespace, err)
	case err != nil:
		return nil, nil //nolint:nilnil,nilerr // no namespace is no error
	case o.GetDeletionTimestamp() != nil:
		return nil, inventory.Findings{{
			Ref:     h.namespaceRef(),
			Problem: fmt.Sprintf("is being deleted from the %s plane", h.plane.Name()),
			Advice: "it cannot be kept: remove the finalizers of what is left in it, as the guide says; once it is gone, run again, " +
				"or, where the pivot is committed, go on with `ropewalk pivot run --resume`: all is imported again from the source",
		}}
	}
	return o, nil
}
