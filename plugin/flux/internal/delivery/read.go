// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// cluster holds the objects of Flux of a Transform: Kustomizations by the name of their layer, and
// sources by their kind and name.
type cluster struct {
	kustomizations map[string]*kustomizev1.Kustomization
	sources        map[sourceKey]source
}

type sourceKey struct{ kind, name string }

// source is an object of Flux with an artifact.
type source interface {
	client.Object
	sourcev1.Source
}

// sourceOf returns the source that a Kustomization refers to, or nil if it does not exist.
func (c *cluster) sourceOf(k *kustomizev1.Kustomization) client.Object {
	if k != nil {
		if s, ok := c.sources[sourceKey{k.Spec.SourceRef.Kind, k.Spec.SourceRef.Name}]; ok {
			return s
		}
	}
	return nil
}

// find reads the objects of Flux with the labels of a Transform.
func (f *Flux) find(ctx context.Context, t *v1alpha1.Transform) (*cluster, error) {
	// The labels find all that was made for the Transform, also if its layers changed.
	c := &cluster{kustomizations: map[string]*kustomizev1.Kustomization{}, sources: map[sourceKey]source{}}
	ours := []client.ListOption{client.InNamespace(t.Namespace), client.MatchingLabels{
		v1alpha1.LabelTransform: t.Name, v1alpha1.LabelNamespace: t.Namespace,
	}, client.HasLabels{v1alpha1.LabelLayer}}
	var ks kustomizev1.KustomizationList
	if err := f.Client.List(ctx, &ks, ours...); err != nil {
		return nil, err
	}
	for i := range ks.Items {
		k := &ks.Items[i]
		c.kustomizations[k.Labels[v1alpha1.LabelLayer]] = k
	}

	// The output may have changed, so both kinds of sources are read. The cluster may lack a kind.
	var repositories sourcev1.OCIRepositoryList
	if err := c.ignoreUnused(sourcev1.OCIRepositoryKind, f.Client.List(ctx, &repositories, ours...)); err != nil {
		return nil, err
	}
	for i := range repositories.Items {
		s := &repositories.Items[i]
		c.sources[sourceKey{sourcev1.OCIRepositoryKind, s.Name}] = s
	}
	var external sourcev1.ExternalArtifactList
	if err := c.ignoreUnused(sourcev1.ExternalArtifactKind, f.Client.List(ctx, &external, ours...)); err != nil {
		return nil, err
	}
	for i := range external.Items {
		s := &external.Items[i]
		c.sources[sourceKey{sourcev1.ExternalArtifactKind, s.Name}] = s
	}
	return c, nil
}

// ignoreUnused returns the error of a list of sources, or nil if nothing refers to their kind:
// Flux may not know it, and an account may have no right to it.
func (c *cluster) ignoreUnused(kind string, err error) error {
	if !apimeta.IsNoMatchError(err) && !apierrors.IsForbidden(err) {
		return err
	}
	for _, k := range c.kustomizations {
		if k.Spec.SourceRef.Kind == kind {
			return err
		}
	}
	return nil
}

// read reads the state of the layers.
func (d *delivery) read(ctx context.Context) error {
	live, err := d.find(ctx, d.t)
	if err != nil {
		return err
	}
	d.live = live
	d.states = map[string]*state{}
	for _, name := range ordered(live.kustomizations) {
		k := live.kustomizations[name]
		d.states[name], err = d.stateOf(name, k, live.sourceOf(k))
		if err != nil {
			return err
		}
	}
	for _, s := range live.sources {
		name := s.GetLabels()[v1alpha1.LabelLayer]
		if d.states[name] != nil || d.layers[name] == nil {
			continue
		}
		leftover, err := d.stateOf(name, &kustomizev1.Kustomization{}, s)
		if err != nil {
			return err
		}
		if leftover.digest != "" {
			leftover.absent = true
			d.states[name] = leftover
		}
	}
	return nil
}

// stateOf returns the state of a layer from its objects.
func (d *delivery) stateOf(name string, k *kustomizev1.Kustomization, src client.Object) (*state, error) {
	s := &state{
		name: name, deleting: !k.DeletionTimestamp.IsZero(), inventory: inventoryOf(k),
		health: health(k.Spec.HealthChecks, k.Spec.HealthCheckExprs),
	}

	// A suspension is of this controller, or of a user.
	switch {
	case !k.Spec.Suspend:
	case k.Annotations[annotationSuspended] != "":
		s.suspended = ours
		asked := k.Annotations[meta.ReconcileRequestAnnotation]
		s.idle = asked != "" && k.Status.LastHandledReconcileAt == asked
	default:
		s.suspended = theirs
	}

	// The source names the artifact, and the store knows its revision.
	if src == nil || digestOf(src) == "" {
		return s, nil
	}
	s.digest = digestOf(src)
	artifact := src.(source).GetArtifact() //nolint:forcetypeassert // find reads no others
	wanted, revision, err := d.Artifacts.Source(d.t, name, s.digest)
	switch {
	case errors.Is(err, ErrGone):
		if artifact != nil && strings.HasSuffix(artifact.Revision, s.digest) {
			revision = artifact.Revision
		}
	case err != nil:
		return nil, err
	case kindOf(wanted) != kindOf(src):
		// The output has changed. The digest means nothing to the new output.
		s.digest = kindOf(src) + " " + s.digest
		s.elsewhere = true
		revision = ""
		if artifact != nil {
			revision = artifact.Revision
		}
	}

	// What Flux reports counts only for that revision.
	s.fetched = artifact != nil && artifact.Revision == revision
	if s.fetched && k.Status.LastAttemptedRevision == revision {
		s.judge(k, revision)
	}
	return s, nil
}

// judge sets the outcome of the revision that was attempted last.
//
// The status is written after the conditions. So Ready is only believed together
// with what the rest of the status says of the same revision.
func (s *state) judge(k *kustomizev1.Kustomization, revision string) {
	ready := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReadyCondition)
	if ready == nil {
		return
	}
	isUnhealthy := ready.Reason == meta.HealthCheckFailedReason || ready.Reason == meta.HealthCheckCanceledReason
	switch {
	case ready.Status == metav1.ConditionTrue:
		s.applied = k.Status.LastAppliedRevision == revision
		s.healthy = s.applied && k.Status.ObservedGeneration == k.Generation && s.suspended != ours
	case ready.Status == metav1.ConditionFalse && isUnhealthy:
		s.applied = true
	case ready.Status == metav1.ConditionFalse:
		s.failed = true
		s.refused = map[key]bool{}
		for key := range s.inventory {
			if strings.Contains(ready.Message, shown(key)+" dry-run failed") || strings.Contains(ready.Message, shown(key)+" apply failed") {
				s.refused[key] = true
			}
		}
	default:
		reconciling := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReconcilingCondition)
		s.applied = reconciling != nil && strings.HasPrefix(reconciling.Message, "Running health checks for revision "+revision+" ")
	}
}

// shown returns an object as Flux writes it in messages: Kind/namespace/name.
func shown(k key) string {
	parts := strings.SplitN(string(k), "/", 4)
	if parts[2] == "" {
		return parts[1] + "/" + parts[3]
	}
	return parts[1] + "/" + parts[2] + "/" + parts[3]
}

// inventoryOf returns the keys of the objects that a Kustomization has applied.
func inventoryOf(k *kustomizev1.Kustomization) map[key]bool {
	out := map[key]bool{}
	for _, r := range Inventory(k) {
		out[r.key()] = true
	}
	return out
}

// Inventory returns the objects that a Kustomization has applied. An entry is
// NAMESPACE_NAME_GROUP_KIND, with two underscores for a colon in a name (fluxcd/cli-utils,
// pkg/object).
func Inventory(k *kustomizev1.Kustomization) []ObjectRef {
	if k.Status.Inventory == nil {
		return nil
	}
	out := make([]ObjectRef, 0, len(k.Status.Inventory.Entries))
	for _, e := range k.Status.Inventory.Entries {
		namespace, rest, _ := strings.Cut(e.ID, "_")
		i := strings.LastIndexByte(rest, '_')
		j := strings.LastIndexByte(rest[:max(i, 0)], '_')
		if j < 0 {
			continue
		}
		out = append(out, ObjectRef{
			Namespace: namespace,
			Name:      strings.ReplaceAll(rest[:j], "__", ":"),
			Group:     rest[j+1 : i],
			Kind:      rest[i+1:],
			Version:   e.Version,
		})
	}
	return out
}

// load reads the wanted and the live layers into values that plan compares. Manifests are read only
// if something is handed over.
func (d *delivery) load(ctx context.Context, layers []Layer) error {
	involved := d.involved(layers)

	// The wanted layers are read from their files, or from their artifacts.
	for i := range layers {
		u := &layers[i]
		w := desired{
			name:    u.Name,
			digest:  u.Digest,
			after:   u.After,
			content: make(content, len(u.Objects)),
			health:  health(u.HealthChecks, u.HealthCheckExprs),
		}
		for _, r := range u.Objects {
			w.content[r.key()] = manifest{sum: "wanted"}
		}
		if involved[u.Name] {
			var err error
			w.content, err = d.desiredContent(ctx, u)
			if err != nil {
				return fmt.Errorf("layer %q: %w", u.Name, err)
			}
		}
		d.desired = append(d.desired, w)
	}

	// The live layers are read from their artifacts.
	for _, name := range ordered(d.states) {
		if err := d.liveContent(ctx, d.states[name], involved[name]); err != nil {
			return fmt.Errorf("layer %q: %w", name, err)
		}
	}
	return nil
}

// involved returns the layers that take part in a hand-over: layers that have an object of another
// layer, that other layer, and layers with marked objects. Layers whose artifact may have been
// applied or not are returned too.
func (d *delivery) involved(layers []Layer) map[string]bool {
	// Flux may report an object without a namespace under another key.
	out := map[string]bool{}
	owner := map[key]string{}
	bare := map[key]key{}
	for i := range layers {
		for _, r := range layers[i].Objects {
			owner[r.key()] = layers[i].Name
			bare[withoutNamespace(r.key())] = r.key()
		}
	}

	// Objects of other Transforms, and marks, involve a layer.
	for k := range d.rivals.objects {
		if owner[k] != "" {
			out[owner[k]] = true
		}
	}
	for _, name := range ordered(d.states) {
		s := d.states[name]
		s.alias(bare)
		if d.stains(name) != "" {
			out[name] = true
		}
		if u := d.layers[name]; u != nil && s.digest != u.Digest && !s.applied {
			out[name] = true
		}

		// So do objects in a layer that should not have them.
		for k := range s.inventory {
			switch h := owner[k]; {
			case h == "" && (d.rivals.open || d.rivals.objects[k].wants):
				out[name] = true // Another Transform wants it, or may.
			case h != "" && h != name:
				out[name], out[h] = true, true
			}
		}
	}
	return out
}

// desiredContent returns the content of a layer, from its files or from its artifact.
func (d *delivery) desiredContent(ctx context.Context, u *Layer) (content, error) {
	files := u.Files
	if len(files) == 0 {
		var err error
		files, err = d.Artifacts.Files(ctx, u.Name, u.Digest)
		if err != nil {
			return nil, err
		}
	}
	return d.library.add(files)
}

// liveContent sets the content of a state.
func (d *delivery) liveContent(ctx context.Context, s *state, involved bool) error {
	// Manifests are read only if the layer takes part in a hand-over.
	i := slices.IndexFunc(d.desired, func(w desired) bool { return w.name == s.name })
	switch {
	case i >= 0 && s.digest == d.desired[i].digest:
		s.content = d.desired[i].content
		s.known = true
	case !involved:
		s.content = content{}
		s.known = true
		for k := range s.inventory {
			s.content[k] = manifest{sum: "applied"}
		}
		return nil
	case s.digest == "" || s.elsewhere:
		return nil // There is nothing to read, or not by what reads now.
	default:
		files, err := d.Artifacts.Files(ctx, s.name, s.digest)
		if errors.Is(err, ErrGone) {
			return nil
		}
		if err != nil {
			return err
		}
		s.content, err = d.library.add(files)
		if err != nil {
			return err
		}
		s.known = true
	}

	// The keys come from the manifests, and some objects may still be marked in the cluster.
	bare := map[key]key{}
	for k := range s.content {
		bare[withoutNamespace(k)] = k
	}
	s.alias(bare)
	stains := d.stains(s.name)
	s.stained = map[key]bool{}
	for k, m := range s.content {
		isStained := stains == everything || strings.Contains(stains, stain(k))
		if m.mark == plain && isStained {
			s.stained[k] = true
		}
	}
	return nil
}

// alias renames the keys of the inventory of a layer to the keys of its manifests: the manifest of
// an object that has no namespace in the cluster may name a namespace.
func (s *state) alias(bare map[key]key) {
	for _, k := range sortedKeys(s.inventory) {
		if full, ok := bare[k]; ok && full != k {
			delete(s.inventory, k)
			s.inventory[full] = true
		}
	}
}

// withoutNamespace returns a key without its namespace.
func withoutNamespace(k key) key {
	parts := strings.SplitN(string(k), "/", 4)
	return key(parts[0] + "/" + parts[1] + "//" + parts[3])
}

// stains returns the annotation of the source of a layer that lists the objects that are or were
// marked.
func (d *delivery) stains(layer string) string {
	if s := d.live.sourceOf(d.live.kustomizations[layer]); s != nil {
		return s.GetAnnotations()[annotationHandOver]
	}
	return ""
}

// everything stands for more stains than an annotation should hold.
const everything = "*"

// stain returns an object as the annotation of a source has it.
func stain(k key) string {
	sum := sha256.Sum256([]byte(k))
	return hex.EncodeToString(sum[:5])
}
