// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"oras.land/oras-go/v2/content"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host/output"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source/modules"
)

// Commands has the subcommands of this package.
type Commands struct{ *command.App }

// Command returns the command artifact.
func (a Commands) Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "artifact",
		Short: "Push, pull, copy, sync, inspect, sign and prune artifacts",
		Long: `Work with renders as OCI artifacts, in registries and in image layouts.
` + command.LocationHelp,
	}
	cmd.AddCommand(a.artifactPush(), a.artifactPull(), a.artifactCopy(), a.artifactSync(), a.artifactTag(), a.artifactInspect(),
		a.artifactSign(), a.artifactVerify(), a.artifactPrune(), a.artifactKeygen())
	return cmd
}

// checkTarget refuses a location that cannot be pushed to, further tags that are none, and a source
// and a revision that cannot be written into an artifact. It does so before anything is opened or
// written.
func checkTarget(arg string, tags []string, opts artifact.Options) error {
	if err := opts.Check(); err != nil {
		return &command.UsageError{Err: err}
	}
	at, err := artifact.ParseLocation(arg)
	if err != nil {
		return &command.UsageError{Err: err}
	}
	if at.Digest != "" {
		return command.Usagef("write a tag, or none for latest", "%s: nothing can be pushed to a digest", arg)
	}
	if at.Tag != "" {
		tags = append([]string{at.Tag}, tags...)
	}
	if err := artifact.CheckTags(tags); err != nil {
		return &command.UsageError{Err: err}
	}
	return nil
}

func (a Commands) artifactPush() *cobra.Command {
	var r command.RegistryFlags
	var tags []string
	var name string
	var expires time.Duration
	var opts artifact.Options
	format := command.NewChoice("text", "json")
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "push DIR REFERENCE",
		Short: "Push a directory of manifests",
		Long: `Push a directory of manifests, such as what "render -o" wrote, as an artifact. "build"
does both at once, and attaches the graph and the provenance, which are not known here.

Folders are the barrier layers of the flux dialect. They are called as in "build", and
have the same digests, where --name says what the project is called, or where the folder
flux is there, which "render --repository" writes; it is what applies the artifact, and
no part of it. Else the layers are called as their folders. The Kustomizations in flux
apply the folders of one artifact: push with --folders for them.

With --expires, "artifact prune --expired" deletes the push once that time has passed.
Pushing to the tag again, also of the same manifests, begins the time anew.
` + command.LocationHelp + `

` + command.ExitCodes,
		Example: `  ropewalk artifact push out oci://ghcr.io/acme/shop:v1
  ropewalk artifact push out oci://ghcr.io/acme/shop:v1 --name shop
  ropewalk artifact push out oci://ghcr.io/acme/shop-previews:pr-12 --expires 168h`,
		Args: cobra.ExactArgs(2),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			if err := checkTarget(args[1], tags, opts); err != nil {
				return err
			}
			if name != "" && !isLayerName(name) {
				return command.Usagef("use at most 59 lower-case letters, digits and -", "--name %s: layers cannot be named after it", name)
			}
			if cmd.Flags().Changed("expires") {
				if expires < time.Second {
					return command.Usagef("write 1s or more, such as 168h", "--expires %s: expected a second or more", expires)
				}
				opts.Expires = time.Now().Add(expires)
			}
			// A layout is made only for manifests that are good.
			set, err := packDir(ctx, args[0], name, opts)
			if err != nil {
				return err
			}
			return a.WithLocation(ctx, &r, format.Value, args[1], true, func(p command.Location) (any, string, error) {
				pushed, err := publishing.Publication{Set: set, Push: artifact.PushOptions{At: p.Time}}.
					Publish(ctx, p.Store, append([]string{p.Reference}, tags...))
				return Built{Reference: p.At(p.Reference), Pushed: pushed, Objects: set.Complete.Files},
					fmt.Sprintf("%s\n  digest   %s\n  changed  %s\n", p.At(p.Reference), pushed.Digest, yesNo(pushed.Changed)), err
			})
		}),
	}
	f := cmd.Flags()
	f.StringArrayVar(&tags, "tag", nil, "another `TAG` to push it under; may be repeated")
	f.StringVar(&name, "name", "", "`NAME` of the project, for the names of the barrier layers")
	f.DurationVar(&expires, "expires", 0, "`DURATION` such as 168h, after which artifact prune --expired deletes the push")
	f.BoolVar(&opts.Folders, "folders", false, foldersHelp)
	f.StringVar(&opts.Source, "source", "", "`URL` of the repository that the manifests come from")
	f.StringVar(&opts.Revision, "revision", "", "`REVISION` of it, such as main@sha1:<hash>")
	format.Add(cmd, "format", "how to print what was done")
	r.Add(cmd)
	return cmd
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (a Commands) artifactPull() *cobra.Command {
	var r command.RegistryFlags
	var layer, dir string
	cmd := &cobra.Command{
		Use:   "pull REFERENCE -o DIR",
		Short: "Write the manifests of an artifact into a directory",
		Long: `Write the manifests of an artifact into a directory, which is replaced as a whole or
not at all.
` + command.LocationHelp,
		Example: `  ropewalk artifact pull oci://ghcr.io/acme/shop:v1 -o out`,
		Args:    cobra.ExactArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			if dir == "" || dir == "-" {
				return command.Usagef("add -o DIR", "-o names no directory to write to")
			}
			return a.WithLocation(ctx, &r, "text", args[0], false, func(p command.Location) (any, string, error) {
				bar := command.NewProgress(a.Streams, "pulling")
				pulled, err := artifact.Pull(ctx, p, p.Reference, artifact.PullOptions{Layer: layer, Progress: bar.Bytes})
				bar.Clear()
				if err != nil {
					return nil, "", err
				}
				if len(pulled.Files) == 0 {
					return nil, "", &object.Error{
						Stage: object.StageCheck, Err: fmt.Errorf("%s has no files: %s is left as it is", p.At(p.Reference), dir),
						Hint: "empty the directory yourself if that is meant",
					}
				}
				files := make([]emit.File, 0, len(pulled.Files))
				for _, f := range pulled.Files {
					files = append(files, emit.File{Path: f.Path, Data: f.Data})
				}
				if err := output.Write(ctx, dir, files, output.Options{}); err != nil {
					return nil, "", err
				}
				a.Note("%s of %s written to "+a.Paint.Bold("%s")+"\n", printable.Count(len(files), "file"), pulled.Digest, dir)
				return nil, "", nil
			})
		}),
	}
	f := cmd.Flags()
	f.StringVarP(&dir, "output", "o", "", "`DIR` to write to")
	f.StringVar(&layer, "layer", "", "`NAME` of the barrier layer to pull; all of them where it is not given")
	r.Add(cmd)
	return cmd
}

func (a Commands) artifactTag() *cobra.Command {
	var r command.RegistryFlags
	cmd := &cobra.Command{
		Use:     "tag REFERENCE TAG...",
		Short:   "Give an artifact more tags",
		Long:    "Give an artifact more tags in its repository or layout.\n" + command.LocationHelp,
		Example: `  ropewalk artifact tag oci://ghcr.io/acme/shop:v1 stable`,
		Args:    cobra.MinimumNArgs(2),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			if err := artifact.CheckTags(args[1:]); err != nil {
				return &command.UsageError{Err: err}
			}
			return a.WithLocation(ctx, &r, "text", args[0], false, func(p command.Location) (any, string, error) {
				digest, err := artifact.Tag(ctx, p, p.Reference, args[1:]...)
				var text strings.Builder
				for _, tag := range args[1:] {
					text.WriteString(p.At(tag) + " " + digest + "\n")
				}
				return nil, text.String(), err
			})
		}),
	}
	r.Add(cmd)
	return cmd
}

func (a Commands) artifactInspect() *cobra.Command {
	var r command.RegistryFlags
	var layer, show string
	format := command.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "inspect REFERENCE",
		Short: "Say what is in an artifact, and what is attached to it",
		Long: `Say what an artifact is, which files it holds and what is attached to it: signatures,
the graph, provenance, images. With --show, print what is attached.
` + command.LocationHelp,
		Example: `  ropewalk artifact inspect oci-layout:out/shop
  ropewalk artifact inspect oci://ghcr.io/acme/shop:v1 --show provenance | jq .predicate`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			if show != "" {
				return a.WithLocation(ctx, &r, "text", args[0], false, func(p command.Location) (any, string, error) {
					text, err := attached(ctx, p, show)
					return nil, string(text) + "\n", err
				})
			}
			return a.WithLocation(ctx, &r, format.Value, args[0], false, func(p command.Location) (any, string, error) {
				found, err := artifact.Inspect(ctx, p, p.Reference, artifact.PullOptions{Layer: layer})
				found.Reference = p.At(p.Reference)
				return found, inspectionText(found), err
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&layer, "layer", "", "`NAME` of the barrier layer to look at")
	f.StringVar(&show, "show", "", "`WHAT` to print: manifest, graph, provenance or sbom")
	format.Add(cmd, "format", "how to print it")
	r.Add(cmd)
	return cmd
}

// attached returns the manifest, or a statement that is attached.
func attached(ctx context.Context, p command.Location, what string) ([]byte, error) {
	if what == "manifest" {
		desc, body, err := p.FetchReference(ctx, p.Reference)
		if err != nil {
			return nil, err
		}
		defer body.Close() //nolint:errcheck // it is read only
		return content.ReadAll(body, desc)
	}
	predicate := map[string]string{
		"graph": statement.PredicateGraph, "provenance": statement.PredicateProvenance, "sbom": statement.PredicateSBOM,
	}[what]
	if predicate == "" {
		return nil, command.Usagef("expected manifest, graph, provenance or sbom", "--show %s", what)
	}
	subject, err := p.Resolve(ctx, p.Reference)
	if err != nil {
		return nil, err
	}
	return artifact.Attached(ctx, p, subject, predicate)
}

// inspectionText returns an inspection as people read it.
func inspectionText(i artifact.Inspection) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		b.WriteString(printable.Linef("  %-9s"+format+"\n", append([]any{name}, args...)...))
	}
	b.WriteString(printable.Line(i.Reference) + "\n")
	line("digest", "%s", i.Digest)
	if i.Tree != "" {
		line("tree", "%s", i.Tree)
	}
	line("type", "%s", strings.Join(nonEmpty(i.MediaType, i.ArtifactType), " "))
	for _, name := range []string{artifact.AnnotationSource, artifact.AnnotationRevision, artifact.AnnotationExpires} {
		if v := i.Annotations[name]; v != "" {
			line(name[strings.LastIndexByte(name, '.')+1:], "%s", v)
		}
	}

	// Then its content, and what is attached to it.
	for _, l := range i.Blobs {
		line("blob", "%s %s %s", l.MediaType, l.Digest, command.BytesText(l.Size))
	}
	for _, l := range i.Layers {
		line("layer", "%s %s", l.Name, l.Digest)
	}
	for _, ref := range i.Referrers {
		kind := ref.Annotations["dev.sigstore.bundle.predicateType"]
		signed := "unsigned"
		if ref.ArtifactType == signature.BundleType {
			signed = "signed, by whom is not checked"
		}
		line("attached", "%s (%s)", strings.Join(nonEmpty(attachedName(kind), ref.ArtifactType, ref.Digest), " "), signed)
	}
	if i.Simple != "" {
		line("attached", "signature of cosign v2 %s", i.Simple)
	}

	// The files come last, because there may be many.
	isModule := slices.ContainsFunc(i.Blobs, func(l artifact.InspectedBlob) bool { return l.MediaType == modules.TypeModuleFile })
	if isModule {
		line("module", "of CUE: ropewalk show oci://%s", strings.TrimPrefix(i.Reference, "oci://"))
	} else if i.NotRender != "" {
		line("files", "none: %s", i.NotRender)
	}
	for _, f := range i.Files {
		line("file", "%s %s", f.Path, command.BytesText(f.Size))
	}
	return b.String()
}

// attachedName returns a predicate type in a word.
func attachedName(predicate string) string {
	switch predicate {
	case statement.PredicateSignature:
		return "signature"
	case statement.PredicateGraph:
		return "graph"
	case statement.PredicateProvenance:
		return "provenance"
	case statement.PredicateSBOM:
		return "sbom"
	}
	return predicate
}

func nonEmpty(words ...string) (out []string) {
	for _, w := range words {
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}
