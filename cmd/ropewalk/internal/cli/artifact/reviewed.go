// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"path"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/plugin/host/release"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render/emit"
)

// review is a PreviewPlan that a render must follow; nil is none.
type review struct {
	name string
	plan *release.PreviewPlan
}

// readReview reads the PreviewPlan in a file. It returns nil if the name is "".
func (a Commands) readReview(name string) (*review, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // no plan wants nothing
	}
	data, err := command.ReadRegular(name)
	if err != nil {
		return nil, err
	}
	document, err := a.parseRelease(name, data)
	if err != nil {
		return nil, err
	}
	plan, ok := document.(*release.PreviewPlan)
	if !ok {
		return nil, command.Usagef("\"ropewalk preview --plan\" writes one", "--reviewed: %s is no %s", name, release.KindPreviewPlan)
	}
	return &review{name, plan}, nil
}

// ReviewOf adds the digests of the manifests in files to the name of a render. Folders of layers do
// not count, because an artifact has none.
func ReviewOf(ctx context.Context, of release.Reviewed, files []emit.File) (release.Reviewed, error) {
	// The tree is that of the artifact that a build of the files makes.
	set, err := publishing.Pack(files, nil, artifact.Options{Empty: true})
	if err != nil {
		return of, err
	}
	of.Tree = set.Complete.Tree

	// Objects have the digests of their files, such as Service shop/web.
	flat := map[string][]byte{}
	for _, f := range files {
		flat[path.Base(f.Path)] = f.Data
	}
	tree, err := memfs.New(flat)
	if err != nil {
		return of, err
	}
	objects, err := snapshot.OfFiles(ctx, of.Title(), tree, nil)
	if err != nil {
		return of, err
	}
	of.Objects = map[string]string{}
	for _, item := range objects.Items {
		of.Objects[item.Object.Ref().String()] = digests.Of(flat[item.At.File])
	}
	return of, nil
}

// check refuses files that are not as reviewed.
func (r *review) check(ctx context.Context, of release.Reviewed, files []emit.File) error {
	if r == nil {
		return nil
	}
	got, err := ReviewOf(ctx, of, files)
	if err != nil {
		return err
	}
	if why := r.plan.Mismatch(got); why != "" {
		return planned(r.name, "%s: preview the change again with the same options, or check out what was reviewed", why)
	}
	return nil
}

// checkRender refuses a render that is not as reviewed.
func (r *review) checkRender(ctx context.Context, b build) error {
	made := b.provenance()
	return r.check(ctx, release.Reviewed{Project: made.Project, Environment: made.Environment, Dialect: made.Dialect}, b.Files)
}

// checkPulled refuses an artifact that is not as reviewed. Its provenance names the render, if it has
// one.
func (r *review) checkPulled(ctx context.Context, p command.Location, subject ocispec.Descriptor, pulled artifact.Pulled) error {
	// The manifests of a preview have their namespace.
	if r == nil {
		return nil
	}
	if pulled.Annotations[release.AnnotationNamespace] == release.AtDeploy {
		return planned(r.name, "the artifact leaves its namespace open, and its manifests are not those of a preview: use --reviewed when it is built, with --namespace-at-deploy")
	}

	// Find which render it is.
	var attached struct {
		Predicate struct {
			BuildDefinition struct {
				ExternalParameters map[string]string `json:"externalParameters"`
			} `json:"buildDefinition"`
		} `json:"predicate"`
	}
	text, err := artifact.Attached(ctx, p, subject, statement.PredicateProvenance)
	if err != nil && !errors.Is(err, artifact.ErrNotFound) {
		return err
	}
	_ = json.Unmarshal(text, &attached) // That of another tool names no render, and any of the plan counts.
	of := attached.Predicate.BuildDefinition.ExternalParameters
	files := make([]emit.File, len(pulled.Files))
	for i, f := range pulled.Files {
		files[i] = emit.File{Path: f.Path, Data: f.Data}
	}
	return r.check(ctx, release.Reviewed{Project: of["project"], Environment: of["environment"], Dialect: of["dialect"]}, files)
}
