// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// annotationRequest asks a controller of Flux, and ours, for a reconciliation, by a value that
// differs from status.lastHandledReconcileAt.
const annotationRequest = "reconcile.fluxcd.io/requestedAt"

// patch merges fields into an object of a kind that is known by name; nil removes a field.
func (c *Cluster) patch(ctx context.Context, r Ref, fields map[string]any) (*item, error) {
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: "ropewalk"}
	o, err := c.resource(r.Kind, r.Namespace).Patch(ctx, r.Name, types.MergePatchType, data, options)
	if err != nil {
		return nil, c.refused(ctx, r, err)
	}
	return itemOf(o)
}

// Suspend sets spec.suspend: the controller leaves the Transform alone, and the delivered objects
// stay.
func (c *Cluster) Suspend(ctx context.Context, namespace, name string) (*Transform, error) {
	o, err := c.patch(ctx, transformRef(namespace, name), map[string]any{"spec": map[string]any{"suspend": true}})
	if err != nil {
		return nil, err
	}
	return o.transform(), nil
}

// Resume removes spec.suspend, and waits as [Cluster.Wait] does.
func (c *Cluster) Resume(ctx context.Context, namespace, name string, p Patience) (*Transform, error) {
	return c.change(ctx, transformRef(namespace, name), map[string]any{"suspend": nil}, p)
}

// change merges fields into the spec of a Transform, and waits as [Cluster.Wait] does.
func (c *Cluster) change(ctx context.Context, r Ref, spec map[string]any, p Patience) (*Transform, error) {
	ctx, cancel := p.bound(ctx)
	defer cancel()
	if _, err := c.patch(ctx, r, map[string]any{"spec": spec}); err != nil {
		return nil, err
	}
	return c.wait(ctx, r, p, isReady(false))
}

// Reconcile requests a reconciliation, and waits until it is done and the Transform is Ready. A
// Transform that is suspended, or not Ready after it, is an [Error]. With source set, its source
// is reconciled first.
func (c *Cluster) Reconcile(ctx context.Context, namespace, name string, source bool, p Patience) (*Transform, error) {
	ctx, cancel := p.bound(ctx)
	defer cancel()
	r := transformRef(namespace, name)
	t, err := c.get(ctx, r)
	if err != nil {
		return nil, err
	}

	// The Transform needs the new revision of its source.
	if source {
		origin, ok := t.source()
		if !ok {
			return nil, failed("reconcile it without --with-source", "%s has no spec.sourceRef", r)
		}
		if origin.Kind == "ExternalArtifact" {
			const format = "%s of %s is not fetched by a controller of Flux"
			return nil, failed("reconcile what makes it, and then the Transform", format, origin, r)
		}
		is, err := c.request(ctx, origin)
		if err != nil {
			return nil, err
		}
		if _, err := c.await(ctx, p, origin, is); err != nil {
			return nil, err
		}
	}

	// Then reconcile the Transform itself.
	is, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	return c.wait(ctx, r, p, is)
}

// request asks the controller of an object to reconcile it, and returns the check that it has done
// so.
func (c *Cluster) request(ctx context.Context, r Ref) (check, error) {
	at := time.Now().UTC().Format(time.RFC3339Nano)
	annotations := map[string]any{annotationRequest: at}
	o, err := c.patch(ctx, r, map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return nil, err
	}
	if o.Spec.Suspend {
		return nil, failed(resuming(r), "%s is suspended", r)
	}
	ready := isReady(true)
	return func(o *item) (bool, string, error) {
		if o.Status.LastHandledReconcileAt != at {
			return false, "its controller has not handled the request", nil
		}
		return ready(o)
	}, nil
}

// Rollback pins a Transform to an artifact of its history, and waits as [Cluster.Wait] does. Digest
// is a digest of the history, or its beginning; "" stands for the artifact before the current one. A
// digest that matches no artifact, or several, is an [Error].
func (c *Cluster) Rollback(ctx context.Context, namespace, name, digest string, p Patience) (*Transform, error) {
	t, err := c.Get(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	earlier, err := t.earlier(digest)
	if err != nil {
		return nil, err
	}
	return c.change(ctx, transformRef(namespace, name), map[string]any{"rollback": map[string]any{"digest": earlier}}, p)
}

// EndRollback removes spec.rollback, so that the result of the current spec is delivered. It waits
// as [Cluster.Wait] does.
func (c *Cluster) EndRollback(ctx context.Context, namespace, name string, p Patience) (*Transform, error) {
	return c.change(ctx, transformRef(namespace, name), map[string]any{"rollback": nil}, p)
}

// earlier returns the digest in the history that a rollback goes to.
func (t *Transform) earlier(digest string) (string, error) {
	// The errors show the history.
	var list []string
	for _, a := range t.History {
		list = append(list, strings.TrimSpace(printable.Revision(a.Digest)+" "+printable.Revision(a.Revision)))
	}
	history := "its history is empty"
	if len(list) > 0 {
		history = "its history is, the newest first: " + strings.Join(list, ", ")
	}

	// Without a digest, go back by one.
	if digest == "" {
		isCurrent := func(a Artifact) bool { return t.Artifact != nil && a.Digest == t.Artifact.Digest }
		current := slices.IndexFunc(t.History, isCurrent)
		if current < 0 || current+1 == len(t.History) {
			return "", failed(history, "%s has delivered nothing before %s", transformRef(t.Namespace, t.Name), t.Delivered())
		}
		return t.History[current+1].Digest, nil
	}

	// The beginning of a digest must match a single artifact.
	var found []string
	for _, a := range t.History {
		if strings.HasPrefix(a.Digest, digest) || strings.HasPrefix(a.Digest, "sha256:"+digest) {
			found = append(found, a.Digest)
		}
	}
	if len(found) != 1 {
		const format = "%s: %d artifacts of the history have the digest %q"
		return "", failed(history, format, transformRef(t.Namespace, t.Name), len(found), digest)
	}
	return found[0], nil
}
