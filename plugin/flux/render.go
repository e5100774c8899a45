// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/runtime/conditions"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/request"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/plugin/host/tracing"
	"github.com/ropewalk/ropewalk/plugin/host/transform"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

// argoLayer is the name of the only layer for an engine that orders by itself.
const argoLayer = "whole"

// errEmpty is a render without objects.
var errEmpty = errors.New("nothing was rendered, and what was applied before would be deleted")

// rendered is a render that went well.
type rendered struct {
	publish.Render
	// key is that of what it was made of.
	key string
}

// renderAndPublish renders what the spec gives, and publishes it.
func (w *work) renderAndPublish(ctx context.Context) (delivery.Desired, error) {
	t := w.transform
	out, err := w.render(ctx)
	if err != nil {
		return delivery.Desired{}, err
	}
	if o := t.Spec.Output; o != nil && o.OCI != nil && w.isNew() && !w.isRetry() {
		if err := w.showBegun(ctx, "pushing the artifact to "+o.OCI.Repository); err != nil {
			return delivery.Desired{}, err
		}
	}
	publishing, end := tracing.Start(ctx, "publish")
	published, err := w.store.Release(publishing, out.Render)
	end(err)
	w.counters.countPublication(published.Changed, err)
	if err != nil {
		return delivery.Desired{}, atPublish.at(w.away(ctx, out, err))
	}
	w.keepPlan(published.Desired)
	w.record(published, out)
	conditions.MarkTrue(t, v1alpha1.RenderedCondition, v1alpha1.PublishedReason, "published %s", shown(t.Status.Artifact))
	// A process that is killed now finds it published.
	return published.Desired, w.patchStatus(ctx)
}

// dryRun renders what the spec gives, and publishes nothing.
func (w *work) dryRun(ctx context.Context) error {
	out, err := w.render(ctx)
	if err != nil {
		return err
	}
	packed, err := w.store.Pack(ctx, out.Render)
	if err != nil {
		return atPublish.at(err)
	}
	a := w.artifact(packed, out)
	if old := w.transform.Status.Rendered; old != nil && old.Tree == a.Tree {
		a.Time = old.Time
	}
	w.transform.Status.Rendered = &a
	return nil
}

// render renders what the spec gives. A render that failed because of its input is not tried again
// before something changes, or it is time to resolve modules again.
func (w *work) render(ctx context.Context) (rendered, error) {
	t := w.transform
	before := w.attempts.failed(t.UID, w.key)
	if before != nil && !w.isDue() && !w.isRequested() {
		if p := diagnose(before); p.kind == stalled && !p.unwatched {
			return rendered{}, before
		}
	}
	var out rendered
	err := w.slots.run(ctx, t, func(ctx context.Context) (err error) {
		if before == nil && w.isNew() && !w.isRetry() && t.Spec.Rollback == nil {
			if err := w.showBegun(ctx, "rendering"); err != nil {
				return err
			}
		}
		out, err = w.attempt(ctx)
		return err
	})
	if isPostponed(err) {
		return rendered{}, err
	}
	w.attempts.record(t.UID, w.now(), w.key, err)
	return out, err
}

// isNew reports whether what was found differs from what was rendered last.
func (w *work) isNew() bool {
	for _, a := range []*v1alpha1.Artifact{w.transform.Status.Artifact, w.before.Status.Rendered} {
		if a != nil && a.Checksum == w.key {
			return false
		}
	}
	return true
}

// isRetry reports whether the last reconciliation of this spec could not publish. Its message
// stays while the next one tries.
func (w *work) isRetry() bool {
	return w.was != nil && w.was.Reason == v1alpha1.PublishFailedReason && w.was.ObservedGeneration == w.transform.Generation
}

// attempt loads the request of the Transform, renders it, or finds it rendered, and cuts it into
// layers.
func (w *work) attempt(ctx context.Context) (rendered, error) {
	// Everything is read as the account of the Transform.
	t := w.transform
	session := w.service.Open(t.Namespace, w.accounts.scope(t))
	defer session.Close()
	id := request.Identity{
		Client: w.as, Scope: w.accounts.scope(t), Dialect: transform.Dialect(t), TTL: w.ttl(), Evaluator: session.Evaluator, Charge: session.Charge,
	}

	// Servers that are slow must not hold the slot for ever.
	loading, end := tracing.Start(ctx, "load")
	inTime, cancel := context.WithTimeout(loading, fetchTimeout)
	loaded, err := w.loader.Load(inTime, id, t)
	cancel()
	end(err)
	if ctx.Err() != nil {
		return rendered{}, context.Cause(ctx)
	}
	if err != nil {
		w.showViolations(err)
		return rendered{}, atRequest.at(err)
	}

	// Strictness and parallelism are of this Transform and of this process.
	loaded.Request.Strict = t.Spec.Strict
	loaded.Request.Parallel = w.opts.Parallel
	outcome, err := session.Render(ctx, loaded.Request)
	if ctx.Err() != nil {
		return rendered{}, context.Cause(ctx)
	}
	w.counters.countRender(outcome.Plan == nil, err, w.now().Sub(w.started))
	if err != nil {
		err = loaded.Explain(err)
		w.showViolations(err)
		return rendered{}, atRender.at(err)
	}

	// A render without objects would delete all that is applied.
	if !t.Spec.AllowEmpty && !slices.ContainsFunc(outcome.Files, func(f emit.File) bool { return f.Node != "" }) {
		err := object.Errors{{Stage: object.StageEmit, Err: errEmpty, Hint: "set spec.allowEmpty: true if that is meant"}}
		w.showViolations(err)
		return rendered{}, atRender.at(err)
	}

	// The status shows what was found, also if it is not published later.
	nodes := nodesOf(outcome.Graph)
	layers, err := w.cutLayers(ctx, outcome, nodes)
	if err != nil {
		return rendered{}, atDeliver.at(err)
	}
	w.setReferences(loaded, outcome.Sources)
	t.Status.Violations = violations(loaded.Positions(outcome.Warnings))
	w.setWaves(nodes, layers)
	conditions.MarkTrue(t, v1alpha1.ValidatedCondition, v1alpha1.ValidReason, "input, objects and policies are valid")

	// What is published names where it comes from.
	out := rendered{key: loaded.Key, Render: publish.Render{
		Files: publish.Flat(outcome.Files), Layers: layers, Graph: outcome.Graph,
		Build:  publishing.BuildOf(loaded.Loaded.Loaded, outcome.Sources, w.opts.Version),
		Images: func() []string { return imagesOf(outcome.Files) },
	}}
	out.Source, out.Revision = originOf(loaded, outcome.Sources)
	return out, nil
}

// showViolations puts the mistakes of an error into the status.
func (w *work) showViolations(err error) {
	w.transform.Status.Violations = violations(object.AsErrors(err, object.StageSpec))
}

// engineOf returns the engine of a Transform, which is Flux by default.
func engineOf(t *v1alpha1.Transform) v1alpha1.Engine {
	if t.Spec.Delivery == nil {
		return v1alpha1.EngineFlux
	}
	return cmp.Or(t.Spec.Delivery.Type, v1alpha1.EngineFlux)
}

// cutLayers cuts a render into what the engine releases one after the other.
func (w *work) cutLayers(ctx context.Context, outcome rendercache.Outcome, nodes []graphNode) ([]delivery.Layer, error) {
	if engineOf(w.transform) == v1alpha1.EngineArgoCD {
		whole, err := delivery.OneLayer(argoLayer, publish.Flat(outcome.Files))
		return []delivery.Layer{whole}, err
	}
	present, err := w.present(ctx, len(outcome.Files))
	if err != nil {
		return nil, err
	}
	layers, err := delivery.Layers(w.transform.Name, outcome.Files, outcome.Layers, present)
	own := adoptions(w.transform.Spec.Adopt, nodes)
	for i := range layers {
		for j := range layers[i].Objects {
			layers[i].Objects[j].Adopt = own[layers[i].Objects[j].Node]
		}
	}
	return layers, err
}

// graphNode is what the status and the delivery need of a node.
type graphNode struct {
	ID, Adopt string
	Wave      int32
}

// nodesOf returns the nodes of a graph, which is JSON.
func nodesOf(graph []byte) []graphNode {
	var doc struct{ Nodes []graphNode }
	// The graph is ours.
	_ = json.Unmarshal(graph, &doc)
	return doc.Nodes
}

// adoptions returns the adoption policy of each node that has one of its own, if it differs from
// that of the Transform.
func adoptions(usual string, nodes []graphNode) map[string]string {
	out := map[string]string{}
	for _, n := range nodes {
		if n.Adopt != "" && n.Adopt != usual {
			out[n.ID] = n.Adopt
		}
	}
	return out
}

// present returns how the layers of what is delivered are cut. It makes no difference to a render
// that is small enough.
func (w *work) present(ctx context.Context, objects int) (delivery.Present, error) {
	last := w.transform.Status.Artifact
	if objects <= delivery.MaxObjects/2 || last == nil {
		return nil, nil //nolint:nilnil // layers that are not cut
	}
	plan, err := w.planOf(ctx, last.Digest)
	if errors.Is(err, delivery.ErrGone) {
		return nil, nil //nolint:nilnil // it is not known
	}
	return delivery.Cuts(plan.Layers), err
}

// originOf returns where the specs come from: the source, or else the module if there is only one.
func originOf(loaded request.Loaded, sources []render.Source) (url, revision string) {
	if s := loaded.Source; s != nil {
		// An artifact tells of the repository alone.
		return s.Origin[:strings.IndexAny(s.Origin+"?", "?#")], s.Revision
	}
	for _, s := range sources {
		if s.Policy == "" && s.Provisioners == "" && s.Revision != "" {
			return "", s.Revision
		}
	}
	return "", ""
}

// imagesOf returns the images that the objects of a render run.
func imagesOf(files []emit.File) []string {
	var nodes []*object.Node
	for _, f := range files {
		// Objects without containers are most of a large render.
		if f.Node == "" || !bytes.Contains(f.Data, []byte("image:")) {
			continue
		}
		o := object.Object{}
		if yaml.Unmarshal(f.Data, &o) == nil {
			nodes = append(nodes, &object.Node{Object: o})
		}
	}
	return publishing.Images(nodes)
}

// setReferences puts the revisions of the source and of the modules into the status.
func (w *work) setReferences(loaded request.Loaded, sources []render.Source) {
	old := w.transform.Status.References
	var out []v1alpha1.ResolvedReference
	add := func(ref v1alpha1.ResolvedReference) {
		ref.Time = w.time()
		for _, o := range old {
			if o.Name == ref.Name && o.Reference == ref.Reference && o.Digest == ref.Digest && o.Revision == ref.Revision {
				ref.Time = o.Time
			}
		}
		out = append(out, ref)
	}
	if s := loaded.Source; s != nil {
		add(v1alpha1.ResolvedReference{Name: "source", Reference: s.String(), Revision: s.Revision, Digest: s.Digest})
	}
	for _, s := range sources {
		name := s.Spec
		if extra := cmp.Or(s.Policy, s.Provisioners); extra != "" {
			name += "/" + extra
		}
		add(v1alpha1.ResolvedReference{Name: name, Reference: cut(s.Origin, 1<<10), Revision: s.Revision, Digest: s.Digest})
	}
	w.transform.Status.References = out[:min(len(out), 4*maxListed)]
}

// setWaves puts the waves and the number of nodes into the status.
func (w *work) setWaves(nodes []graphNode, layers []delivery.Layer) {
	barriers := map[int32]string{}
	for _, l := range layers {
		for _, wave := range l.Waves {
			barriers[wave] = l.Barrier
		}
	}
	counts := map[int32]int32{}
	for _, n := range nodes {
		counts[n.Wave]++
	}
	var out []v1alpha1.WaveStatus
	for wave := range int32(len(counts)) { //nolint:gosec // waves are numbered from 0
		out = append(out, v1alpha1.WaveStatus{Wave: wave, Layer: barriers[wave], Nodes: counts[wave]})
	}
	w.transform.Status.Waves = out
	w.transform.Status.NodeCount = int32(len(nodes)) //nolint:gosec // 2^31 nodes are over every limit
}

// artifact returns a publication as the status has it.
func (w *work) artifact(p publish.Published, out rendered) v1alpha1.Artifact {
	a := v1alpha1.Artifact{
		Digest: p.Desired.Digest, Tree: p.Tree, Revision: out.Revision, Repository: p.Location,
		Time: w.time(), Checksum: out.key,
	}
	if len(p.Desired.Layers) > 1 {
		for _, u := range p.Desired.Layers {
			a.Layers = append(a.Layers, v1alpha1.ArtifactLayer{Name: u.Name, Digest: u.Digest})
		}
	}
	return a
}

// record puts a publication into the status, before the earlier ones.
func (w *work) record(p publish.Published, out rendered) {
	t := w.transform
	a := w.artifact(p, out)
	i := slices.IndexFunc(t.Status.History, func(old v1alpha1.Artifact) bool { return old.Digest == a.Digest })
	if i >= 0 {
		a.Time = t.Status.History[i].Time
		t.Status.History = slices.Delete(t.Status.History, i, i+1)
	}
	last := t.Status.Artifact
	w.changed = last == nil || last.Digest != a.Digest
	w.revised = !w.changed && last.Revision != a.Revision
	t.Status.Artifact = a.DeepCopy()
	a.Checksum = ""
	t.Status.History = slices.Insert(t.Status.History, 0, a)
}
