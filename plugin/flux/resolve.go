// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/ownsource"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/request"
)

// resolved holds the references of a spec, and the access with which they are read. After an error
// it has the results before the error.
type resolved struct {
	access
	// key identifies the objects that the spec refers to, and revision is the revision of the
	// source, "" without a source.
	key, revision string
}

// resolver resolves the references of a spec.
type resolver struct {
	opener opener
	// reader reads Transforms, and cache the metadata and the status of objects that they name.
	reader, cache client.Reader
	// direct finds Transforms that another controller reconciles: with --watch-label-selector
	// they are not in the cache.
	direct client.Reader
	claims *delivery.Claims
	loader *request.Loader
}

// resolve makes the source that the spec declares, and resolves its references, once all that it
// depends on is Ready. The argument opened is the access, if it is open already.
func (r resolver) resolve(ctx context.Context, t *v1alpha1.Transform, opened access) (resolved, error) {
	out := resolved{access: opened}
	if err := r.checkDependencies(ctx, t); err != nil {
		return out, err
	}
	var err error
	out.access, err = r.opener.openOnce(ctx, t, opened)
	if err != nil {
		return out, err
	}

	// A source of the Transform's own comes first, because the spec refers to it.
	var foreign *ownsource.ForeignError
	err = ownsource.Ensure(ctx, r.cache, out.as, t)
	switch {
	case errors.As(err, &foreign):
		return out, block(stalled, v1alpha1.ForeignObjectsReason, "%w", err)
	case err != nil:
		return out, atRequest.at(fmt.Errorf("spec.source: GitRepository %q: %w", t.Name, err))
	}

	found, err := r.loader.Resolve(ctx, r.cache, t)
	if err != nil {
		return out, atRequest.at(err)
	}
	out.key = found.Key
	if found.Source != nil {
		out.revision = found.Source.Revision
	}
	return out, nil
}

// checkDependencies returns an error if a Transform that this one depends on is not Ready.
func (r resolver) checkDependencies(ctx context.Context, t *v1alpha1.Transform) error {
	if len(t.Spec.DependsOn) == 0 {
		return nil // Awaiting looks at the claims of all Transforms.
	}
	awaiting := r.claims.Awaiting(client.ObjectKeyFromObject(t))
	for _, name := range t.Spec.DependsOn {
		if string(name) == t.Name {
			return block(stalled, v1alpha1.InvalidReason, "spec.dependsOn: the Transform depends on itself")
		}

		// Another controller may reconcile it.
		other := &v1alpha1.Transform{}
		key := client.ObjectKey{Namespace: t.Namespace, Name: string(name)}
		err := r.reader.Get(ctx, key, other)
		isWatched := !apierrors.IsNotFound(err)
		if !isWatched {
			err = r.direct.Get(ctx, key, other)
		}

		state := ""
		switch {
		case apierrors.IsNotFound(err):
			state = "does not exist"
		case err != nil:
			return err
		case !isReady(other) && !isHandingOver(other) && !r.leadsTo(ctx, other, awaiting):
			state = "is not Ready"
		}
		if state != "" {
			return &blocked{problem{
				kind: waiting, reason: v1alpha1.DependencyNotReadyReason, watched: isWatched,
				err: fmt.Errorf("spec.dependsOn: Transform %q %s", name, state),
			}}
		}
	}
	return nil
}

// leadsTo reports whether a Transform is in awaiting, or depends on such a Transform. These cannot
// go on before the reconciled Transform hands its objects over, so that it must not wait for them.
func (r resolver) leadsTo(ctx context.Context, t *v1alpha1.Transform, awaiting map[string]bool) bool {
	seen := map[string]bool{}
	next := []string{t.Name}
	for len(awaiting) > 0 && len(next) > 0 {
		name := next[0]
		next = next[1:]
		if awaiting[name] {
			return true
		}
		transform := &v1alpha1.Transform{}
		if seen[name] || r.reader.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: name}, transform) != nil {
			continue
		}
		seen[name] = true
		for _, further := range transform.Spec.DependsOn {
			next = append(next, string(further))
		}
	}
	return false
}
