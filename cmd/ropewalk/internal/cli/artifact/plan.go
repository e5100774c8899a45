// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/plugin/host/release"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/lock"
)

// build is a render that is packed.
type build struct {
	command.Rendered
	set      artifact.Set
	delivery *release.Delivery
}

// packRender packs a render, which must be as reviewed if that is wanted, without its namespace if
// that is left open.
func packRender(ctx context.Context, r command.Rendered, flags *buildFlags) (build, error) {
	if err := flags.review.checkRender(ctx, build{Rendered: r}); err != nil {
		return build{}, err
	}
	delivery, err := release.DeliveryOf(r.Plan, r.Request.Emit)
	if err != nil {
		return build{}, err
	}
	files, layers := r.Files, r.Layers
	if flags.atDeploy {
		namespace := ""
		if len(r.Request.Specs) > 0 {
			namespace = r.Request.Specs[0].Evaluate.Context.Namespace
		}
		written, err := release.OpenNamespace(r.Plan, r.Request.Emit, namespace)
		if err != nil {
			return build{}, err
		}
		files, layers = written.Files, written.Layers
	}
	set, err := publishing.Pack(files, layers, flags.Options())
	return build{Rendered: r, set: set, delivery: delivery}, err
}

// graph returns the plan of a render as the document that is attached.
func (b build) graph() ([]byte, error) {
	graph, err := b.Plan.Document().Below(shownDir(b.Paths)).JSON()
	if err != nil {
		return nil, err
	}
	return release.WithDelivery(graph, b.delivery)
}

func (b build) provenance() statement.Build {
	return publishing.BuildOf(b.Loaded, b.Sources, process.CurrentRelease().Version)
}

// Options of build that a plan keeps with their values, and those that it only names, for a
// value may be secret. All others are of the machine, such as --cache-dir.
var (
	keptOptions = []string{ //nolint:gochecknoglobals // a constant
		"source", "revision", "folders", "namespace-at-deploy", "values", "overrides-file", "env-file", "var-from-env",
		"image", "runtime-from-env", "name", "expression", "namespace", "kube-version", "cluster-domain", "crds", "allow-empty", "argocd-health", "skip-schemas", "preview", "label",
	}
	namedOptions = []string{"set", "set-string", "set-json", "set-file", "override-property", "runtime", "var"} //nolint:gochecknoglobals // a constant
)

// runPlan renders, and writes the plan of the build.
func (a Commands) runPlan(ctx context.Context, f *pflag.FlagSet, flags *buildFlags, paths []string) error {
	// Check what a plan needs before the render.
	if flags.to == "" || flags.signKey != "" || slices.Contains(paths, "-") || flags.follows != nil {
		return command.Usagef("name the paths and --to; --sign-key is for the build", "--plan needs files and a destination, and signs nothing")
	}
	if err := checkTarget(flags.to, flags.tags, flags.Options()); err != nil {
		return err
	}
	at, err := artifact.ParseLocation(flags.to)
	if err != nil || at.Kind != artifact.Registry {
		return command.Usagef("write --to oci://REGISTRY/REPOSITORY:TAG", "--plan: %s is not in a registry", flags.to)
	}

	// Render, and record which sources were used.
	flags.Sources.Record = &lock.Recorder{}
	r, err := a.Render(ctx, &flags.ProjectFlags, paths)
	if err != nil {
		return err
	}
	defer r.Close()
	a.Warn(r.Warnings)
	out, err := packRender(ctx, r, flags)
	if err != nil {
		return err
	}

	// Write the plan.
	plan, err := out.plan(f, flags, at)
	if err != nil {
		return err
	}
	data, err := plan.Seal()
	if err != nil {
		return err
	}
	if flags.plan == "-" {
		return a.Write(data)
	}
	if err := os.WriteFile(flags.plan, data, 0o644); err != nil { //nolint:gosec // a plan holds no secret
		return &command.EnvironmentError{Err: err}
	}
	a.Note("%s written: %s, %s at %s\n", flags.plan, printable.Count(len(plan.Spec.Sources), "source"), plan.Metadata.Name, plan.Spec.Artifact.Digest)
	return nil
}

// plan returns the plan of a build.
func (b build) plan(f *pflag.FlagSet, flags *buildFlags, at artifact.Location) (*release.BuildPlan, error) {
	// The plan pins what the render used, and what it gave.
	record := flags.Sources.Record
	made := b.provenance()
	out := &release.BuildPlan{
		Header: release.Header{APIVersion: release.Version, Kind: release.KindBuildPlan, Metadata: release.Metadata{Name: b.Name}},
		Spec: release.BuildPlanSpec{
			Ropewalk: made.Version, Paths: b.Paths, Environment: b.Environment, Dialect: made.Dialect,
			Options: map[string][]string{}, Inputs: made.Inputs, Sources: record.File().Sources, Modules: record.File().Modules,
			Credentials: record.Secrets(), Destination: release.Destination{
				Repository: "oci://" + at.Name, Tags: append([]string{cmp.Or(at.Tag, "latest")}, flags.tags...),
			},
			Artifact: release.Built{Digest: b.set.Complete.Descriptor.Digest.String(), Tree: b.set.Complete.Tree},
		},
	}
	if made.Variables != "" {
		out.Spec.Variables = &release.Variables{Digest: made.Variables, Names: b.variables()}
	}

	// Labels are for the people who look for a plan, or for what it made. As an option they are
	// annotations of the artifact, which they were not in plans of older versions.
	labels, err := flags.parseLabels()
	if err != nil {
		return nil, err
	}
	out.Metadata.Labels = labels

	// Keep the options, but only the names of those with values that may be secret.
	f.Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		switch {
		case slices.Contains(keptOptions, flag.Name):
			out.Spec.Options[flag.Name] = values
		case slices.Contains(namedOptions, flag.Name):
			for _, v := range values {
				name, _, _ := strings.Cut(v, "=")
				out.Spec.Again = append(out.Spec.Again, "--"+flag.Name+" "+name)
			}
		}
	})
	return out, nil
}

// variables returns the names of the variables of the workloads.
func (b build) variables() []string {
	names := map[string]bool{}
	for _, s := range b.Request.Specs {
		if s.Workload != nil {
			for name := range s.Workload.Variables {
				names[name] = true
			}
		}
	}
	return object.SortedKeys(names)
}

// follow reads the plan that is the only path, and sets the flags to its options. It returns the
// paths of the plan, or the paths unchanged if there is no plan.
func (a Commands) follow(f *pflag.FlagSet, flags *buildFlags, paths []string) ([]string, error) {
	// A file that is no document of a release is a path like any other.
	if len(paths) != 1 || paths[0] == "-" {
		return paths, nil
	}
	if info, err := os.Stat(paths[0]); err != nil || !info.Mode().IsRegular() {
		return paths, nil //nolint:nilerr // what is wrong with a path is reported by the render
	}
	document, err := a.readRelease(paths[0])
	if document == nil {
		return paths, err
	}

	// Refuse options that the plan has.
	plan, ok := document.(*release.BuildPlan)
	if !ok {
		return nil, command.Usagef("\"ropewalk deploy\" and \"ropewalk artifact sync\" take the other documents", "%s is no %s", paths[0], release.KindBuildPlan)
	}
	for _, name := range append([]string{"to", "tag", "env", "installation", "dialect", "plan"}, keptOptions...) {
		if f.Changed(name) {
			return nil, command.Usagef("leave it out", "--%s is what the plan says, and %s is a plan", name, paths[0])
		}
	}

	// Set the options of the plan as if they were given.
	to := plan.Spec.Destination
	options := map[string][]string{"dialect": {plan.Spec.Dialect}, "to": {to.Repository + ":" + to.Tags[0]}, "tag": to.Tags[1:]}
	if plan.Spec.Environment != "" {
		options["env"] = []string{plan.Spec.Environment}
	}
	for name, values := range plan.Spec.Options {
		if !slices.Contains(keptOptions, name) {
			return nil, planned(paths[0], "it has the option %q, which is none of a plan", name)
		}
		options[name] = values
	}
	for _, name := range object.SortedKeys(options) {
		for _, value := range options[name] {
			if err := f.Set(name, value); err != nil {
				return nil, planned(paths[0], "its option %s: %v", name, err)
			}
		}
	}

	// Build just what the plan pins.
	flags.follows = plan
	flags.Sources.PlanName = paths[0]
	flags.Sources.Plan = &lock.File{Sources: plan.Spec.Sources, Modules: plan.Spec.Modules}
	return plan.Spec.Paths, nil
}

// planned returns the error that something is not as a plan says.
func planned(name, format string, args ...any) error {
	return source.Refuse(source.ErrLocked, name+": "+fmt.Sprintf(format, args...))
}

// checkPlan compares a build with the plan that it follows.
func (f *buildFlags) checkPlan(b build) error {
	if f.follows == nil {
		return nil
	}
	want := f.follows.Spec
	made := b.provenance()
	name := f.Sources.PlanName
	again := ""
	if len(want.Again) > 0 {
		again = " (it was made with " + strings.Join(want.Again, ", ") + ")"
	}
	switch got := b.set.Complete.Descriptor.Digest.String(); {
	case want.Variables != nil && made.Variables != want.Variables.Digest:
		return planned(name, "the variables %s have other values than when it was made: give the same with --var or --env-file%s", strings.Join(want.Variables.Names, ", "), again)
	case made.Inputs != want.Inputs:
		return planned(name, "the inputs of the specs are not those of the plan: check out the same revision, and give the same values%s", again)
	case got != want.Artifact.Digest:
		return planned(name, "this render is %s with the tree %s, and the plan says %s with the tree %s: check out the same revision, and use ropewalk %s", got, b.set.Complete.Tree, want.Artifact.Digest, want.Artifact.Tree, want.Ropewalk)
	}
	return nil
}

// readRelease reads a file that may be a document of a release. It returns nil if it is none.
func (a Commands) readRelease(name string) (any, error) {
	data, err := command.ReadRegular(name)
	if err != nil || release.KindOf(data) == "" {
		return nil, err
	}
	return a.parseRelease(name, data)
}

// parseRelease reads a document of a release.
func (a Commands) parseRelease(name string, data []byte) (any, error) {
	document, err := release.Read(name, data, process.CurrentRelease().Version)
	if mistakes, ok := command.FileMistakes(err); ok {
		return nil, mistakes
	}
	return document, err
}
