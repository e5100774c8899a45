// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/checkout"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/units"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/draw"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/preview"
	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// renderCells renders what the change touches, several environments at once.
func (p *previewing) renderCells(ctx context.Context) ([]preview.Result, error) {
	out := make([]preview.Result, len(p.cells))
	bar := command.NewProgress(p.Streams, "rendering")
	defer bar.Clear()
	var done, all atomic.Int64
	progress := func(req *render.Request) {
		all.Add(int64(len(req.Specs)))
		req.Progress = func(int, int) { bar.Specs(int(done.Add(1)), int(all.Load())) }
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(p.Parallel())
	for i, c := range p.cells {
		g.Go(func() (err error) {
			defer crash.Recover(&err)
			out[i], err = p.compareCell(ctx, c, progress)
			return err
		})
	}
	return out, g.Wait()
}

// input is one side of an environment before it is rendered.
type input struct {
	host.Loaded
	name string
	// planned is set if the render is one of the plan.
	planned bool
	// unit is set for a unit of Argo CD or Flux.
	unit bool
	// err is why it cannot be rendered.
	err error
}

// load loads a side of an environment. It returns nil if the side does not have the environment.
func (p *previewing) load(ctx context.Context, s *side, c cell) *input {
	if c.unit != (gitops.ID{}) {
		return p.inputOf(ctx, s, c.unit)
	}
	if !slices.Contains(s.environments[c.dir], c.environment) {
		return nil
	}
	if slices.Contains(s.hidden, c.dir) {
		return &input{name: s.Name, err: units.Hidden(c.dir)}
	}
	flags := *s.flags
	flags.Environment = c.environment
	loaded, err := p.loadFS(ctx, s, &flags, c.dir)
	if err == nil {
		err = loaded.Request.Mistakes.Err()
	}
	return &input{Loaded: loaded, name: s.Name, planned: s == &p.head && p.plan != "", err: err}
}

// loadFS loads a project of a side. An untrusted head may fetch only what the base locks.
func (p *previewing) loadFS(ctx context.Context, s *side, flags *command.ProjectFlags, dir string) (host.Loaded, error) {
	if s == &p.head && p.untrusted {
		if err := p.confine(flags, dir); err != nil {
			return host.Loaded{}, err
		}
	}
	return p.LoadFS(ctx, flags, s.files, dir)
}

// compareCell compares both sides of an environment. The error is only that of the context, or one
// of the program.
func (p *previewing) compareCell(ctx context.Context, c cell, progress func(*render.Request)) (preview.Result, error) {
	// Load both sides, and skip an environment whose inputs are the same.
	out := preview.Result{Project: cmp.Or(p.head.names[c.dir], p.base.names[c.dir]), Path: c.dir, Name: c.environment}
	if c.unit != (gitops.ID{}) {
		out = p.unitResult(c.unit)
		if p.isUntouched(c.unit) {
			return out, nil
		}
	}
	base := p.load(ctx, &p.base, c)
	head := p.load(ctx, &p.head, c)
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if base != nil && head != nil && base.err == nil && head.err == nil {
		if key := rendercache.Key(head.Request, "", ""); key != "" && key == rendercache.Key(base.Request, "", "") {
			return out, p.planUnaffected(ctx, out, head, progress)
		}
	}

	// Render both sides.
	before, after, err := p.renderSides(ctx, c, base, head, progress)
	if err != nil {
		return out, err
	}

	// Find the base, and keep what the head applies.
	before, err = p.baseOf(ctx, c, before, after)
	if err != nil {
		return out, err
	}
	if head != nil && head.unit {
		tolerate(before, after)
	}
	p.own(c.unit, after)

	// Compare them, and collect the failures of the head.
	out.Before = before.named(p.base.files)
	out.After = after.named(p.head.files)
	if head != nil {
		p.fail(out, head.Texts)
	}
	if out.After != nil && out.After.Outline == nil {
		return out, nil
	}
	out.Changes, err = diff.Compare(ctx, before.items(), after.items())
	if err != nil {
		return out, err
	}
	if head == nil || before == nil || before.Outline == nil || p.live.mode == liveDryRun {
		return out, nil // What admission makes of an object may have other indices than the render.
	}

	// Trace the changed fields to the lines of the user.
	err = snapshot.Trace(ctx, p.Shared, head.Request, &out.Changes)
	for i := range out.Changes.Changes {
		for j := range out.Changes.Changes[i].Fields {
			f := &out.Changes.Changes[i].Fields[j]
			f.From = p.head.files.Given(f.From)
			f.Pos.File = p.head.files.Given(f.Pos.File)
		}
	}
	return out, err
}

// renderSides renders both sides of an environment, and adds what they make of Secrets to what is hidden.
func (p *previewing) renderSides(ctx context.Context, c cell, base, head *input, progress func(*render.Request)) (before, after *rendered, err error) {
	known := snapshot.Known{}
	after, err = p.renderSide(ctx, head, true, known, progress)
	if err != nil {
		return nil, nil, err
	}
	before, err = p.renderSide(ctx, base, head == nil, known, progress)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range []*side{&p.base, &p.head} {
		if err := p.addTransformed(ctx, s, c.unit); err != nil {
			return nil, nil, err
		}
	}
	return before, after, nil
}

// baseOf returns the base of an environment: what was rendered of a revision, or the artifact, the
// cluster or nothing that is the base in its place.
func (p *previewing) baseOf(ctx context.Context, c cell, before, after *rendered) (*rendered, error) {
	switch {
	case p.live.reader != nil:
		return p.readLive(ctx, c, after)
	case p.base.artifact != nil:
		return &rendered{Side: preview.NewSide(*p.base.artifact, order.Document{}), snapshot: *p.base.artifact}, nil
	case p.base.missing != nil:
		return &rendered{}, nil //nolint:nilerr // the report has it
	}
	return before, nil
}

// rendered is a side with its objects.
type rendered struct {
	preview.Side
	snapshot diff.Snapshot
}

// items returns the objects, or an empty snapshot if the side does not exist.
func (r *rendered) items() diff.Snapshot {
	if r == nil {
		return diff.Snapshot{Rendered: true}
	}
	r.snapshot.Rendered = r.snapshot.Rendered || r.Outline == nil
	return r.snapshot
}

// named returns the side, with the names of files in its findings as the user wrote them in flags.
// It returns nil for a side that does not exist.
func (r *rendered) named(files *checkout.Files) *preview.Side {
	if r == nil {
		return nil
	}
	out := r.Side
	out.Findings = slices.Clone(out.Findings)
	for i, e := range out.Findings {
		named := *e
		named.Pos.File = files.Given(e.Pos.File)
		named.Hint = files.Given(e.Hint)
		if e.Err != nil {
			if text := e.Err.Error(); files.Given(text) != text {
				named.Err = errors.New(files.Given(text))
			}
		}
		out.Findings[i] = &named
	}
	return &out
}

// fail keeps the mistakes of a head, with the texts that they are in.
func (p *previewing) fail(r preview.Result, texts map[string][]byte) {
	mistakes := r.After.Findings.Failures()
	if len(mistakes) == 0 {
		return
	}
	title := preview.Environment{Project: r.Project, Name: r.Name}.Title()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Texts == nil {
		p.Texts = map[string][]byte{}
	}
	maps.Copy(p.Texts, texts)
	for _, e := range mistakes {
		key := e.Error()
		if p.in[key] == nil {
			p.failed = append(p.failed, e)
		}
		p.in[key] = append(p.in[key], title)
	}
}

// failure returns the mistakes of all heads, each once with its environments. It returns nil if
// there are none.
func (p *previewing) failure() error {
	out := make(object.Errors, len(p.failed))
	for i, e := range p.failed {
		titles := p.in[e.Error()]
		slices.Sort(titles)
		named := *e
		named.Err = fmt.Errorf("%s: %w", strings.Join(titles, ", "), e.Err)
		out[i] = &named
	}
	return out.Sorted().Err()
}

// renderSide renders an input, with a picture if asked for one. It returns nil if there is no
// input.
func (p *previewing) renderSide(ctx context.Context, in *input, picture bool, known snapshot.Known, progress func(*render.Request)) (*rendered, error) {
	// A side that does not exist, or cannot be loaded, is not rendered.
	if in == nil {
		return nil, nil //nolint:nilnil // the side does not have the environment
	}
	if in.err != nil {
		return failed(object.AsErrors(in.err, object.StageSpec)), nil //nolint:nilerr // the report has it
	}

	// Render it, and show a render that only policies refuse.
	progress(&in.Request)
	result, err := render.Renderer{Evaluator: p.Shared}.Render(ctx, in.Request)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	findings := result.Warnings
	if err != nil {
		findings = object.AsErrors(err, object.StageEvaluate)
		// What only policies refuse is shown all the same, and so are the objects of a unit that schemas
		// refuse: its engine renders them, and the definitions of its cluster may be others.
		isFatal := func(e *object.Error) bool { return e.Policy == "" && (!in.unit || e.Stage != object.StageCheck) }
		if slices.ContainsFunc(findings.Failures(), isFatal) {
			return failed(findings), nil
		}
		result, err = p.unjudged(ctx, in)
		if err != nil {
			return failed(findings), ctx.Err()
		}
	}

	// A head without objects would delete everything.
	if len(result.Plan.Graph.Nodes) == 0 && !p.AllowEmpty {
		return failed(object.Errors{{
			Stage: object.StageEmit, Err: errors.New("nothing was rendered, and an engine that prunes would delete what was there"),
			Hint: "add --allow-empty if that is meant",
		}}), nil
	}

	// Keep the result as a snapshot, and draw it.
	if err := p.keepPlanned(ctx, in, result); err != nil {
		return nil, err
	}
	snap, err := snapshot.OfRender(ctx, in.name, result, known)
	if err != nil {
		return nil, err
	}
	out := &rendered{Side: preview.NewSide(snap, result.Plan.Document()), snapshot: snap}
	out.Findings = findings
	out.Policies = policiesOf(in.Request)
	if picture {
		out.Picture = draw.Picture{Plan: result.Plan, Calls: result.Calls}.SVG()
	}
	return out, nil
}

// failed returns a side that does not render.
func failed(findings object.Errors) *rendered {
	return &rendered{Side: preview.Side{Findings: findings}}
}

// unjudged renders an input without its policies, and a unit without the schemas too.
func (p *previewing) unjudged(ctx context.Context, in *input) (render.Result, error) {
	req := in.Request
	req.SkipSchemas = req.SkipSchemas || in.unit
	req.Specs = slices.Clone(req.Specs)
	for i := range req.Specs {
		req.Specs[i].Evaluate.Policies = nil
	}
	return render.Renderer{Evaluator: p.Shared}.Render(ctx, req)
}

// policiesOf returns the names of the policies of a request, sorted.
func policiesOf(req render.Request) (out []string) {
	for _, s := range req.Specs {
		for _, policy := range s.Evaluate.Policies {
			if !slices.Contains(out, policy.Name) {
				out = append(out, policy.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}
