// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/plugin/host/release"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/diff"
)

// buildFlags are those of build beside those of every project.
type buildFlags struct {
	command.ProjectFlags
	to       string
	tags     []string
	signKey  string
	source   string
	revision string
	folders  bool
	format   command.Choice
	// plan is where a plan is written to in place of the push.
	plan string
	// labels are those of the plan, and annotations of the artifact.
	labels   []string
	atDeploy bool
	// installation is the file of the Installation that has the environment.
	installation string
	// recursive means every project on its own.
	recursive command.Recursive
	// reviewed is the file of a PreviewPlan, and review what is in it.
	reviewed string
	review   *review
	// follows is the plan that is built; nil is none.
	follows *release.BuildPlan
}

// Options returns the options of the artifact.
func (f *buildFlags) Options() artifact.Options {
	labels, _ := f.parseLabels() // Mistakes in them end the command early.
	out := artifact.Options{Source: f.source, Revision: f.revision, Labels: labels, Folders: f.folders, Empty: f.AllowEmpty}
	if f.atDeploy {
		out.Annotations = map[string]string{release.AnnotationNamespace: release.AtDeploy}
	}
	return out
}

// parseLabels returns the labels by their names. Names that Ropewalk writes itself are refused.
func (f *buildFlags) parseLabels() (map[string]string, error) {
	out := map[string]string{}
	for _, l := range f.labels {
		name, value, ok := strings.Cut(l, "=")
		switch _, given := out[name]; {
		case !ok || name == "" || value == "":
			return nil, command.Usagef("write NAME=VALUE", "--label %s", l)
		case given:
			return nil, command.Usagef("remove one of them", "--label %s: %q is there twice", l, name)
		case strings.HasPrefix(name, "dev.ropewalk."):
			return nil, command.Usagef("choose another name", "--label %s: names that begin with dev.ropewalk. are those that Ropewalk writes", l)
		}
		out[name] = value
	}
	if err := (artifact.Options{Labels: out}).Check(); err != nil {
		return nil, &command.UsageError{Err: err}
	}
	return out, nil
}

// Build returns the command build.
func (a Commands) Build() *cobra.Command {
	var flags buildFlags
	cmd := &cobra.Command{
		Use:   "build [PATH...|-|PLAN] --to REFERENCE",
		Short: "Render specs and push the manifests as an artifact",
		Long: `Render specs, pack the manifests as an OCI artifact that Flux and Argo CD both take, and
push it to a registry or into an image layout. The graph, the provenance and a list of
the images are attached to it; with --sign-key all of it is signed. Tags move last.

The same render gives the same digest everywhere. Where the tag leads to the same
manifests and labels already, nothing is pushed.

With --plan nothing is pushed: what would be fetched, rendered and pushed is written into a
BuildPlan. "build PLAN" does just that later, elsewhere, in the same folder of a checkout
of the same revision: references are those that the plan pins, and what is not as planned
is refused. Options whose values may be secret (--set, --var, …) are named in the plan and
given again.

With --recursive each project is an artifact of its own, in a repository below that of --to:
--to oci://ghcr.io/acme:v2 is oci://ghcr.io/acme/apps/shop:v2 for the project in apps/shop,
and oci-layout:out is oci-layout:out/apps/shop. PATH itself is called like its folder.
` + command.LocationHelp + `
` + command.ProjectHelp + `

` + command.ExitCodes,
		Example: `  ropewalk build shop --to oci-layout:out/shop            no registry, no account
  ropewalk build shop --dialect flux --to oci://ghcr.io/acme/shop:v1.4.0 --tag latest
  ropewalk build --env prod --to oci://ghcr.io/acme/shop:prod --sign-key cosign.key
  ropewalk build shop --installation berlin.yaml --to oci://ghcr.io/acme/shop:prod
  ropewalk build shop --to oci-archive:shop.tar --format json | jq -r .digest
  ropewalk build shop --to oci://ghcr.io/acme/shop:v2 --plan shop-v2.yaml
  ropewalk build shop-v2.yaml
  ropewalk build shop --env prod --to oci://ghcr.io/acme/shop:prod --reviewed reviewed.yaml
  ropewalk build -r . --to oci://ghcr.io/acme/manifests:v2   a repository for each project`,
	}
	f := cmd.Flags()
	cmd.RunE = a.Run(func(ctx context.Context, args []string) error {
		if _, err := flags.parseLabels(); err != nil {
			return err
		}
		var err error
		if !flags.recursive {
			args, err = a.follow(f, &flags, args)
			if err != nil {
				return err
			}
		}
		if err := a.readInstallation(f, &flags); err != nil {
			return err
		}
		flags.review, err = a.readReview(flags.reviewed)
		if err != nil {
			return err
		}
		if flags.recursive {
			return a.runBuilds(ctx, &flags, args)
		}
		if flags.plan != "" {
			return a.runPlan(ctx, f, &flags, args)
		}
		return a.runBuild(ctx, &flags, args)
	})
	f.StringVar(&flags.to, "to", "", "`REFERENCE` to push to")
	f.StringArrayVar(&flags.tags, "tag", nil, "another `TAG` to push it under; may be repeated")
	flags.recursive.Add(cmd, "build each project at and below PATH into a repository of its own below that of\n--to")
	f.StringVar(&flags.signKey, "sign-key", "", "`FILE` of the private key to sign with (PEM, cosign's own too; its password is\nin $COSIGN_PASSWORD)")
	f.StringVar(&flags.source, "source", "", "`URL` of the repository that the specs come from, for the engines to show")
	f.StringVar(&flags.revision, "revision", "", "`REVISION` of it, such as main@sha1:<hash>, for commit statuses")
	f.BoolVar(&flags.folders, "folders", false, foldersHelp)
	f.StringVar(&flags.plan, "plan", "", "`FILE` to write a BuildPlan to, or -; nothing is pushed")
	f.StringVar(&flags.reviewed, "reviewed", "", reviewedHelp)
	f.StringArrayVar(&flags.labels, "label", nil, "`NAME=VALUE`, such as component=shop: an annotation of the artifact, and a label of\nthe plan; may be repeated")
	f.StringVar(&flags.installation, "installation", "", "`FILE` of an Installation, in place of --env: rendered is the environment that it\nnames, or that has it among its clusters")
	f.BoolVar(&flags.atDeploy, "namespace-at-deploy", false, "leave the namespace of objects out, for \"deploy --namespace\"; what names it\nelsewhere is an error")
	flags.format = command.NewChoice("text", "json")
	flags.format.Add(cmd, "format", "how to print what was done")
	flags.Add(cmd)
	return cmd
}

// readInstallation reads the Installation that chooses the environment, if one is named.
func (a Commands) readInstallation(f *pflag.FlagSet, flags *buildFlags) error {
	if flags.installation == "" {
		return nil
	}
	if f.Changed("env") {
		return command.Usagef("leave one of them out", "--env and --installation both choose the environment")
	}
	document, err := a.readRelease(flags.installation)
	if err != nil {
		return err
	}
	i, ok := document.(*release.Installation)
	if !ok {
		return command.Usagef("", "--installation: %s is no %s", flags.installation, release.KindInstallation)
	}
	flags.Installation = host.Installation{File: flags.installation, Name: i.Metadata.Name, Environment: i.Spec.Environment}
	return nil
}

// foldersHelp is what --folders does, in build and in artifact push.
const foldersHelp = "keep the folders of the layers, for the Kustomizations of \"render --repository\";\nArgo CD reads no folders"

// reviewedHelp is what --reviewed does, in build and in deploy.
const reviewedHelp = "`FILE` of \"preview --plan\": manifests that are not those of the preview are refused"

// Built is the result of build, as it is printed.
type Built struct {
	Reference string `json:"reference"`
	artifact.Pushed
	Objects int `json:"objects"`
	Waves   int `json:"waves"`
	// Changes are the differences to what the tag led to before, by kind; nil
	// where nothing was there or nothing changed.
	Changes map[diff.Kind]int `json:"changes,omitempty"`
	Dangers int               `json:"dangers,omitempty"`
	Signed  bool              `json:"signed,omitempty"`
}

// runBuilds builds each project at and below paths into a repository of its own.
func (a Commands) runBuilds(ctx context.Context, flags *buildFlags, paths []string) error {
	// Refuse what would fail only after the first push.
	at, err := artifact.ParseLocation(flags.to)
	switch {
	case flags.plan != "":
		return command.Usagef("plan each project in a call of its own", "--plan is of one artifact, and --recursive builds many")
	case flags.to != "" && err != nil:
		return &command.UsageError{Err: err}
	case at.Kind == artifact.LayoutFile:
		return command.Usagef("write --to oci-layout:DIR or oci://REGISTRY/REPOSITORY", "--recursive builds many artifacts, and an archive holds one")
	}
	projects, err := flags.recursive.Projects(paths)
	if err != nil {
		return err
	}
	if flags.to != "" {
		if err := checkBelow(at, projects); err != nil {
			return err
		}
	}

	// Build each project, and collect the results as data.
	var data bytes.Buffer
	list := []json.RawMessage{}
	asJSON := flags.format.Value == "json"
	err = a.EachApart(projects, paths, func(below command.Below, paths []string) error {
		one := *flags
		if flags.to != "" {
			one.to = at.Below(filepath.ToSlash(below.Name()))
		}
		app := *a.App
		data.Reset()
		if asJSON {
			app.Out = &data
		}
		err := Commands{&app}.runBuild(ctx, &one, paths)
		a.JSON = app.JSON
		a.Texts = app.Texts
		if data.Len() > 0 {
			list = append(list, bytes.Clone(data.Bytes()))
		}
		return err
	})

	// Print all results as one list.
	if asJSON && len(list) > 0 {
		if err := a.Outcome("json", list, ""); err != nil {
			return err
		}
	}
	return err
}

// checkBelow reports a project whose artifact cannot be below a location, before any is pushed.
func checkBelow(to artifact.Location, projects []command.Below) error {
	projects = slices.DeleteFunc(slices.Clone(projects), func(p command.Below) bool { return p.Optional })
	for _, p := range projects {
		name := filepath.ToSlash(p.Name())
		at, err := artifact.ParseLocation(to.Below(name))
		switch {
		case err != nil:
			return &command.UsageError{Err: fmt.Errorf("%s: %w", p.Path, err)}
		case at.Name != to.Name+"/"+name:
			return command.Usagef("give --to a tag", "%s: the end of its name would be a tag", p.Path)
		}
	}
	if to.Kind != artifact.LayoutDir {
		return nil
	}
	return command.Beside(projects)
}

func (a Commands) runBuild(ctx context.Context, flags *buildFlags, paths []string) error {
	// Check the flags before the render.
	a.JSON = flags.format.Value == "json"
	if flags.to == "" {
		// A plan that is not there would have named the place.
		if len(paths) == 1 && paths[0] != "-" {
			if _, err := os.Stat(paths[0]); errors.Is(err, fs.ErrNotExist) {
				return &command.EnvironmentError{Err: fmt.Errorf("%s does not exist", paths[0]), Hint: "name a BuildPlan that is there, or a project and --to"}
			}
		}
		return command.Usagef("add --to oci://REGISTRY/REPOSITORY[:TAG] or --to oci-layout:DIR", "--to is missing")
	}
	signer, err := command.ReadSigner(flags.signKey)
	if err != nil {
		return err
	}
	if err := checkTarget(flags.to, flags.tags, flags.Options()); err != nil {
		return err
	}

	// Render, and print the notes of the render.
	r, err := a.Render(ctx, &flags.ProjectFlags, paths)
	if err != nil {
		return err
	}
	defer r.Close()
	a.Warn(r.Warnings)
	a.NoteOthers(r.Loaded)
	if waves := len(r.Plan.Waves); waves > 1 && r.Request.Emit.Dialect == dialect.Plain {
		a.Note("no engine keeps the order of the %d waves in the dialect %s: --dialect %s or %s is for one that does\n", waves, dialect.Plain, dialect.ArgoCD, dialect.Flux)
	}

	// Pack the render, and compare it with the plan that it follows.
	out, err := packRender(ctx, r, flags)
	if err != nil {
		return err
	}
	if err := flags.checkPlan(out); err != nil {
		return err
	}
	// A layout is made only for a render that is good.
	return a.WithLocation(ctx, &flags.Sources.RegistryFlags, flags.format.Value, flags.to, true, func(to command.Location) (any, string, error) {
		out, err := a.push(ctx, flags, out, to, signer)
		return out, builtText(out), err
	})
}

// push packs and pushes a render.
func (a Commands) push(ctx context.Context, flags *buildFlags, r build, to command.Location, signer *signature.Signer) (Built, error) {
	graph, err := r.graph()
	if err != nil {
		return Built{}, err
	}
	bar := command.NewProgress(a.Streams, "pushing")
	pushed, err := publishing.Publication{
		Set: r.set, Graph: graph, Build: r.provenance(),
		Images: publishing.Images(r.Plan.Graph.Nodes), Signer: signer,
		Push: artifact.PushOptions{At: to.Time, Progress: bar.Bytes},
	}.Publish(ctx, to.Store, append([]string{to.Reference}, flags.tags...))
	bar.Clear()
	if err != nil {
		return Built{}, err
	}
	out := Built{
		Reference: to.At(to.Reference), Pushed: pushed, Objects: len(r.Plan.Graph.Nodes), Waves: len(r.Plan.Waves),
		Signed: signer != nil && pushed.Changed,
	}
	if pushed.Changed && pushed.Previous != "" {
		out.Changes, out.Dangers = a.sincePush(ctx, r.Rendered, to, pushed.Previous)
	}
	return out, nil
}

// shownDir returns the directory of the first path as positions name it.
func shownDir(paths []string) string {
	if len(paths) == 0 || paths[0] == "-" {
		return "."
	}
	dir := filepath.Clean(paths[0])
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	if filepath.IsAbs(dir) {
		if work, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(work, dir); err == nil && filepath.IsLocal(rel) {
				dir = rel
			}
		}
	}
	return filepath.ToSlash(dir)
}

// sincePush counts what is different from an earlier push. The result is empty if the earlier push
// cannot be read any more: the numbers are not necessary.
func (a Commands) sincePush(ctx context.Context, r command.Rendered, to command.Location, digest string) (map[diff.Kind]int, int) {
	before, err := Snapshot(ctx, to, digest)
	if err != nil {
		return nil, 0
	}
	after, err := snapshot.OfRender(ctx, "now", r.Result, nil)
	if err != nil {
		return nil, 0
	}
	report, err := diff.Compare(ctx, before, after)
	if err != nil {
		return nil, 0
	}
	out := map[diff.Kind]int{}
	for _, c := range report.Changes {
		out[c.Kind]++
	}
	return out, report.Dangers()
}

func builtText(out Built) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s"+format+"\n", append([]any{name}, args...)...)
	}
	b.WriteString(out.Reference + "\n")
	line("digest", "%s", out.Digest)
	line("tree", "%s", out.Tree)
	line("holds", "%s in %s", printable.Count(out.Objects, "object"), printable.Count(out.Waves, "wave"))
	for _, l := range out.Layers {
		line("layer", "%s %s", l.Name, l.Digest)
	}
	switch {
	case !out.Changed:
		line("changed", "no: the manifests are what the tag led to already; nothing was pushed")
	case out.Changes == nil:
		line("changed", "yes: %s pushed", command.BytesText(out.Uploaded))
	default:
		line("changed", "yes: %s; %s pushed", changesText(out), command.BytesText(out.Uploaded))
	}
	if len(out.Tags) > 1 {
		line("tags", "%s", strings.Join(out.Tags, ", "))
	}
	if out.Signed {
		line("signed", "yes, with all that is attached")
	}
	return b.String()
}

func changesText(out Built) string {
	var parts []string
	for _, k := range []diff.Kind{diff.Created, diff.Changed, diff.Recreated, diff.Moved, diff.Deleted} {
		if n := out.Changes[k]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no object"}
	}
	if out.Dangers > 0 {
		parts = append(parts, printable.Count(out.Dangers, "danger")+": see ropewalk diff")
	}
	return strings.Join(parts, ", ")
}
