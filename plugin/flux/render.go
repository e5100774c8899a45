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
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/renders"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/request"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/plugin/host/service"
	"github.com/ropewalk/ropewalk/plugin/host/tracing"
	"github.com/ropewalk/ropewalk/plugin/host/transform"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source/cache"
)

// argoLayer is the name of the only layer for an engine that orders by itself.
const argoLayer = "whole"

// errEmpty is a render without objects.
var errEmpty = errors.New("nothing was rendered, and what was applied before would be deleted")

// rendered is a successful render.
type rendered struct {
	publish.Render
	// key identifies its inputs.
	key string
	// The rest is for the status, also if the render is not published later: its origin, its
	// warnings, its waves and the number of its nodes.
	references []v1alpha1.ResolvedReference
	warnings   []v1alpha1.Violation
	waves      []v1alpha1.WaveStatus
	nodes      int32
}

// renderer renders specs.
type renderer struct {
	service  *service.Service
	loader   *request.Loader
	accounts *accounts
	plans    plans
	attempts *renders.Attempts
	slots    *renders.Slots
	counters *counters
	now      func() time.Time
	// parallel limits the specs of a project that are evaluated at once, and version is the
	// version of the program.
	parallel int
	version  string
	// timeout bounds all that is fetched for one render. A slot is never taken back, so that
	// this and the timeout of evaluations bound the wait of others for it.
	timeout time.Duration
}

// render renders the spec, and puts the result into the status. A render that failed because of its
// input is not tried again before something changes, or it is time to resolve modules again.
func (r renderer) render(ctx context.Context, s *subject, found resolved) (rendered, error) {
	// A render that is known to fail is not tried.
	t := s.transform
	before := r.attempts.Failed(t.UID, found.key)
	if before != nil && !r.isDue(t) && !s.isRequested() {
		if p := diagnose(before); p.kind == stalled && !p.unwatched {
			return rendered{}, before
		}
	}

	// Renders share slots.
	var out rendered
	isFirst := before == nil && s.isNew(found.key)
	err := r.slots.Run(ctx, t, func(ctx context.Context) (err error) {
		if isFirst && !s.isRetry() && t.Spec.Rollback == nil {
			if err := s.showBegun(ctx, "rendering"); err != nil {
				return err
			}
		}
		out, err = r.attempt(ctx, s, found.access)
		return err
	})
	if renders.IsPostponed(err) {
		return rendered{}, err
	}

	// The result is kept, and in the status.
	r.attempts.Record(t.UID, r.now(), found.key, err)
	switch {
	case err == nil:
		showRendered(t, out, timeOf(r.now()))
	case listsMistakes(err):
		showViolations(t, err)
	}
	return out, err
}

// isDue reports whether it is time to resolve tags and branches again.
func (r renderer) isDue(t *v1alpha1.Transform) bool {
	return r.attempts.IsDue(t.UID, r.now(), intervalOf(t))
}

// showRendered puts a render into the status.
func showRendered(t *v1alpha1.Transform, out rendered, renderedAt metav1.Time) {
	showReferences(t, out.references, renderedAt)
	t.Status.Violations = out.warnings
	t.Status.Waves = out.waves
	t.Status.NodeCount = out.nodes
	conditions.MarkTrue(t, v1alpha1.ValidatedCondition, v1alpha1.ValidReason, "input, objects and policies are valid")
}

// attempt loads the request of the Transform as its account, renders it, or finds it rendered, and
// cuts it into layers.
func (r renderer) attempt(ctx context.Context, s *subject, with access) (rendered, error) {
	// Everything is read as the account of the Transform.
	t := s.transform
	session := r.service.Open(t.Namespace, r.accounts.scope(t))
	defer session.Close()
	id := request.Identity{
		Client:    with.as,
		Scope:     r.accounts.scope(t),
		Dialect:   transform.Dialect(t),
		TTL:       validFor(s),
		Evaluator: session.Evaluator,
		Charge:    session.Charge,
	}
	loaded, err := r.load(ctx, id, t)
	if err != nil {
		return rendered{}, err
	}

	// Strictness and parallelism are of this Transform and of this process.
	loaded.Request.Strict = t.Spec.Strict
	loaded.Request.Parallel = r.parallel
	outcome, err := session.Render(ctx, loaded.Request)
	if ctx.Err() != nil {
		return rendered{}, context.Cause(ctx)
	}
	r.counters.countRender(outcome.Plan == nil, err, r.now().Sub(s.started))
	if err != nil {
		return rendered{}, atRender.at(loaded.Explain(err))
	}

	// A render without objects would delete all that is applied.
	if !t.Spec.AllowEmpty && !slices.ContainsFunc(outcome.Files, func(f emit.File) bool { return f.Node != "" }) {
		empty := &object.Error{Stage: object.StageEmit, Err: errEmpty, Hint: "set spec.allowEmpty: true if that is meant"}
		return rendered{}, atRender.at(object.Errors{empty})
	}

	// The artifact and the status name the origin of the render.
	nodes := nodesOf(outcome.Graph)
	layers, err := r.cutLayers(ctx, t, with.store, outcome, nodes)
	if err != nil {
		return rendered{}, atDeliver.at(err)
	}
	out := rendered{
		key: loaded.Key, Render: publish.Render{
			Files: publish.Flat(outcome.Files), Layers: layers, Graph: outcome.Graph,
			Build:  publishing.BuildOf(loaded.Loaded.Loaded, outcome.Sources, r.version),
			Images: func() []string { return imagesOf(outcome.Files) },
		},
		references: referencesOf(loaded, outcome.Sources), warnings: violations(loaded.Positions(outcome.Warnings)),
		waves: wavesOf(nodes, layers), nodes: int32(len(nodes)), //nolint:gosec // 2^31 nodes are over every limit
	}
	out.Source, out.Revision = originOf(loaded, outcome.Sources)
	return out, nil
}

// validFor returns the time for which the resolution of a tag or a branch is valid.
func validFor(s *subject) time.Duration {
	if s.isRequested() {
		return -1
	}
	return min(cache.DefaultTTL, intervalOf(s.transform)/2)
}

// load loads the request of a Transform. Servers that are slow must not hold the slot for ever.
func (r renderer) load(ctx context.Context, id request.Identity, t *v1alpha1.Transform) (request.Loaded, error) {
	loading, end := tracing.Start(ctx, "load")
	inTime, cancel := context.WithTimeout(loading, r.timeout)
	loaded, err := r.loader.Load(inTime, id, t)
	cancel()
	end(err)
	if ctx.Err() != nil {
		return request.Loaded{}, context.Cause(ctx)
	}
	return loaded, atRequest.at(err)
}

// cutLayers cuts a render into layers, which the engine releases one after the other.
func (r renderer) cutLayers(ctx context.Context, t *v1alpha1.Transform, store publish.Store, outcome rendercache.Outcome, nodes []graphNode) ([]delivery.Layer, error) {
	if engineOf(t) == v1alpha1.EngineArgoCD {
		whole, err := delivery.OneLayer(argoLayer, publish.Flat(outcome.Files))
		return []delivery.Layer{whole}, err
	}

	// Objects stay in their layers as far as possible.
	present, err := r.present(ctx, t, store, len(outcome.Files))
	if err != nil {
		return nil, err
	}
	layers, err := delivery.Layers(t.Name, outcome.Files, outcome.Layers, present)
	delivery.AddNeeds(layers, needsOf(nodes))

	// The nodes know more of their objects than the files.
	policies := adoptions(t.Spec.Adopt, nodes)
	timeouts := timeoutsOf(nodes)
	for i := range layers {
		for j := range layers[i].Objects {
			o := &layers[i].Objects[j]
			o.Adopt = policies[o.Node]
			o.Timeout.Duration = timeouts[o.Node]
		}
	}
	return layers, err
}

// graphNode has the fields of a node that the status and the delivery need.
type graphNode struct {
	ID, Adopt, Timeout string
	Wave               int32
	Needs              []object.Need
}

// needsOf returns the objects outside of the render that nodes need.
func needsOf(nodes []graphNode) map[string][]object.Need {
	out := map[string][]object.Need{}
	for _, n := range nodes {
		if len(n.Needs) > 0 {
			out[n.ID] = n.Needs
		}
	}
	return out
}

// timeoutsOf returns the timeouts of nodes.
func timeoutsOf(nodes []graphNode) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, n := range nodes {
		if d, ok := object.ParseTimeout(n.Timeout); ok {
			out[n.ID] = d
		}
	}
	return out
}

// nodesOf returns the nodes of a graph, which is JSON.
func nodesOf(graph []byte) []graphNode {
	var doc struct{ Nodes []graphNode }
	// The graph is ours.
	_ = json.Unmarshal(graph, &doc)
	return doc.Nodes
}

// adoptions returns the adoption policy of each node whose policy differs from the policy of the
// Transform.
func adoptions(usual string, nodes []graphNode) map[string]string {
	out := map[string]string{}
	for _, n := range nodes {
		if n.Adopt != "" && n.Adopt != usual {
			out[n.ID] = n.Adopt
		}
	}
	return out
}

// present returns the shards of the delivered artifact. A render that is small enough does not need
// them.
func (r renderer) present(ctx context.Context, t *v1alpha1.Transform, store publish.Store, objects int) (delivery.Present, error) {
	last := t.Status.Artifact
	if objects <= delivery.MaxObjects/2 || last == nil {
		return nil, nil //nolint:nilnil // layers that are not cut
	}
	plan, err := r.plans.find(ctx, t, store, last.Digest)
	if errors.Is(err, delivery.ErrGone) {
		return nil, nil //nolint:nilnil // it is not known
	}
	return delivery.Cuts(plan.Layers), err
}

// originOf returns the origin of the specs: the source, or else the first module with a revision.
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

// referencesOf returns the revisions of the source and of the modules, as the status has them.
func referencesOf(loaded request.Loaded, sources []render.Source) []v1alpha1.ResolvedReference {
	var out []v1alpha1.ResolvedReference
	if s := loaded.Source; s != nil {
		out = append(out, v1alpha1.ResolvedReference{Name: "source", Reference: s.String(), Revision: s.Revision, Digest: s.Digest})
	}
	for _, s := range sources {
		name := s.Spec
		if extra := cmp.Or(s.Policy, s.Provisioners); extra != "" {
			name += "/" + extra
		}
		out = append(out, v1alpha1.ResolvedReference{Name: name, Reference: cut(s.Origin, 1<<10), Revision: s.Revision, Digest: s.Digest})
	}
	return out
}

// wavesOf returns the waves of a render, as the status has them.
func wavesOf(nodes []graphNode, layers []delivery.Layer) []v1alpha1.WaveStatus {
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
	return out
}
