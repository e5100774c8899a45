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

// resolved is what a spec names, and the access with which that is read. After an error it has
// what was there before it.
type resolved struct {
	access
	// key is that of what was found, and revision that of the source, "" where there is none.
	key, revision string
}

// resolver finds what a spec names.
type resolver struct {
	opener opener
	// reader reads Transforms, and cache the metadata and the status of what they name.
	reader, cache client.Reader
	// direct finds Transforms that another controller reconciles: with --watch-label-selector
	// they are not in the cache.
	direct client.Reader
	claims *delivery.Claims
	loader *request.Loader
}

// resolve makes the source that the spec declares, and finds what it names, once all that it
// depends on is Ready. The argument has is the
// access, if it is open already.
func (r resolver) resolve(ctx context.Context, t *v1alpha1.Transform, has access) (resolved, error) {
	out := resolved{access: has}
	if err := r.checkDependencies(ctx, t); err != nil {
		return out, err
	}
	var err error
	out.access, err = r.opener.openOnce(ctx, t, has)
	if err != nil {
		return out, err
	}
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

// leadsTo reports whether a Transform is, or depends on, one of those that cannot go on before
// the one that is reconciled hands its objects over. That one does not wait for such a Transform.
func (r resolver) leadsTo(ctx context.Context, t *v1alpha1.Transform, awaiting map[string]bool) bool {
	seen := map[string]bool{}
	next := []string{t.Name}
	for len(awaiting) > 0 && len(next) > 0 {
		name := next[0]
		next = next[1:]
		if awaiting[name] {
			return true
		}
		at := &v1alpha1.Transform{}
		if seen[name] || r.reader.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: name}, at) != nil {
			continue
		}
		seen[name] = true
		for _, further := range at.Spec.DependsOn {
			next = append(next, string(further))
		}
	}
	return false
}
