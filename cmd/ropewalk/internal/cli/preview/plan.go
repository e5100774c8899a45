// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	cliartifact "github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/artifact"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/preview"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/plugin/host/release"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render"
)

// checkPlan refuses a plan without projects, which are what a build makes artifacts of.
func (p *previewing) checkPlan() error {
	units := 0
	for _, c := range p.cells {
		if c.unit != (gitops.ID{}) {
			units++
		}
	}
	switch {
	case p.plan == "" || units == 0:
	case units == len(p.cells):
		return command.Usagef("leave it out", "--plan is of projects, which are built, and here are units of Argo CD or Flux alone: their engine renders them again")
	default:
		p.Note("%s of Argo CD or Flux are not in %s: their engine renders them again\n", printable.Count(units, "unit"), p.plan)
	}
	return nil
}

// planUnaffected renders the head of an environment that the change does not touch, if a plan wants
// it. The report does not show it, but the preview fails if it does not render.
func (p *previewing) planUnaffected(ctx context.Context, of preview.Result, head *input, progress func(*render.Request)) error {
	if !head.planned {
		return nil
	}
	after, err := p.renderSide(ctx, head, false, snapshot.Known{}, progress)
	if err != nil {
		return err
	}
	of.After = after.named(p.head.files)
	p.fail(of, head.Texts)
	return nil
}

// keepPlanned keeps a render for the plan, if it is one of it.
func (p *previewing) keepPlanned(ctx context.Context, in *input, result render.Result) error {
	if !in.planned {
		return nil
	}
	of := release.Reviewed{Project: in.Name, Dialect: string(result.Plan.Dialect.Name)}
	for _, s := range in.Request.Specs {
		of.Environment = s.Evaluate.Context.Environment
	}
	reviewed, err := cliartifact.ReviewOf(ctx, of, result.Files)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.planned = append(p.planned, reviewed)
	return nil
}

// writePlan writes the plan, if there is to be one and the head renders.
func (p *previewing) writePlan(r preview.Report) error {
	switch {
	case p.plan == "":
		return nil
	case len(p.failed) > 0:
		p.Note("%s is not written: the head does not render\n", p.plan)
		return nil
	}
	slices.SortFunc(p.planned, func(a, b release.Reviewed) int {
		return cmp.Or(strings.Compare(a.Project, b.Project), strings.Compare(a.Environment, b.Environment), strings.Compare(a.Tree, b.Tree))
	})
	plan := release.PreviewPlan{
		Header: release.Header{APIVersion: release.Version, Kind: release.KindPreviewPlan, Metadata: release.Metadata{Name: "preview"}},
		Spec: release.PreviewPlanSpec{
			Ropewalk: r.Ropewalk, Summary: r.Summary, Renders: p.planned,
			Base: release.Revision{Name: r.Base.Name, Commit: r.Base.Commit}, Head: release.Revision{Name: r.Head.Name, Commit: r.Head.Commit},
		},
	}
	data, err := plan.Seal()
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.plan, data, 0o644); err != nil { //nolint:gosec // a plan holds digests
		return &command.EnvironmentError{Err: err}
	}
	p.Note("%s written: %s\n", p.plan, printable.Count(len(p.planned), "render"))
	return nil
}
