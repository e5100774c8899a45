// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/cases"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/draw"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// Types of the attachments of a version that are no statements.
const (
	typeReadme  = "application/vnd.ropewalk.module.readme.v1"
	typePicture = "application/vnd.ropewalk.module.picture.v1"
)

// checks holds the results of the checks that a version has to pass.
type checks struct {
	since, verdict string
	// cases counts the cases that passed, and findings counts the warnings.
	cases, findings int
	skipped         bool
	// picture is the plan of the first case that renders.
	picture *order.Plan
	// images lists the images of all cases.
	images []string
}

// check runs vet and test.
func (p *publication) check(ctx context.Context) error {
	if p.flags.skipChecks {
		p.checked.skipped = true
		return nil
	}

	// Run vet. Only errors stop a publication.
	v, err := p.vetModule(ctx, &vetFlags{SourceFlags: p.flags.SourceFlags, limits: p.flags.limits}, p.folder)
	if err != nil {
		return err
	}
	var errs object.Errors
	for _, f := range v.sorted() {
		if f.Severity == object.SeverityError {
			named := *f.Error
			named.Err = fmt.Errorf("%w [%s]", f.Err, f.rule)
			errs = append(errs, &named)
		} else {
			p.checked.findings++
		}
	}
	if errs.Err() != nil {
		return errs
	}

	// Run the cases with their golden files.
	m, err := p.openWithCases(ctx, &p.flags.SourceFlags, &p.flags.limits, p.folder)
	if err != nil {
		return err
	}
	defer m.Close()
	if len(m.Cases) == 0 {
		return object.Errors{m.noCases(object.SeverityError)}
	}
	outcomes, err := cases.Run(ctx, m.Cases, m.Subject, p.flags.limits.Parallel())
	if err == nil {
		err = p.compareGolden(m, outcomes, false)
	}
	if err != nil {
		return err
	}
	return p.takeOutcomes(outcomes)
}

// takeOutcomes keeps the results of the cases, or returns the failures if a case fails.
func (p *publication) takeOutcomes(outcomes []cases.Outcome) error {
	failed := tested{outcomes: outcomes}.failures()
	if failed.Err() != nil {
		return failed
	}
	p.checked.cases = len(outcomes)
	for _, o := range outcomes {
		if o.Result.Plan != nil && p.checked.picture == nil {
			p.checked.picture = o.Result.Plan
		}
	}
	p.checked.images = object.SortedKeys(imagesOf(outcomes))
	return nil
}

// build returns the provenance.
func (p *publication) build() statement.Build {
	parameters := map[string]string{"version": p.version.text, "vet": "passed", "cases": strconv.Itoa(p.checked.cases)}
	if p.checked.skipped {
		parameters["vet"], parameters["cases"] = "skipped", "skipped"
	}
	if p.checked.since != "" {
		parameters["since"], parameters["verdict"] = p.checked.since, p.checked.verdict
	}
	out := statement.Build{
		Project:    p.packed.path,
		Type:       statement.ModuleType,
		Parameters: parameters,
		Version:    process.CurrentRelease().Version,
	}
	if out.Project == "" {
		out.Project = p.target.Repository
	}
	if p.flags.source != "" {
		out.Sources = []statement.Source{{URI: p.flags.source, Revision: p.flags.revision, Digest: p.packed.image.Tree}}
	}
	return out
}

// attach attaches the provenance, the images, the README and the picture of a version, and signs
// it, before the tag of the version is written.
func (p *publication) attach(ctx context.Context, pushed artifact.Pushed) error {
	documents := func(context.Context, artifact.Pushed) ([]artifact.Referrer, error) {
		var out []artifact.Referrer
		if p.packed.readme != nil {
			out = append(out, artifact.Referrer{ArtifactType: typeReadme, MediaType: "text/markdown", Data: p.packed.readme})
		}
		if p.checked.picture != nil {
			data := draw.Picture{Plan: p.checked.picture}.SVG()
			out = append(out, artifact.Referrer{ArtifactType: typePicture, MediaType: "image/svg+xml", Data: data})
		}
		return out, nil
	}

	// Attach them with the statements and signatures.
	attached := publishing.Publication{Build: p.build(), Images: p.checked.images, Signer: p.signer, Extra: documents}
	err := attached.Attach(ctx, p.target.Store, pushed)
	if errors.Is(err, artifact.ErrNotFound) {
		return fmt.Errorf("the registry lost what was pushed: %w", err)
	}
	return err
}
