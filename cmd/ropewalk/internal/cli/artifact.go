// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/output"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

func (a *app) artifactCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "artifact",
		Short: "Push, pull, copy, inspect, sign and prune artifacts",
		Long: `Work with renders as OCI artifacts, in registries and in image layouts.
` + placeHelp,
	}
	cmd.AddCommand(a.artifactPush(), a.artifactPull(), a.artifactCopy(), a.artifactTag(), a.artifactInspect(),
		a.artifactSign(), a.artifactVerify(), a.artifactPrune(), a.artifactKeygen())
	return cmd
}

// outcome prints what a command did: as data, or as text.
func (a *app) outcome(format string, data any, text string) error {
	if format != "json" {
		return a.print(text)
	}
	out, err := encode(data)
	if err != nil {
		return err
	}
	return a.write(out)
}

// in opens a place, works there, and closes it. What the work prints is printed
// when all of it lasts, and not where it failed. What is written wrongly on the
// command line, and what is wrong in manifests, is no matter of the place.
func (a *app) in(ctx context.Context, r *registryFlags, arg string, create bool, work func(place) error) error {
	p, err := a.open(ctx, r, arg, create)
	if err != nil {
		return err
	}
	var said bytes.Buffer
	out := a.Out
	a.Out = &said
	err = work(p)
	a.Out = out
	var mistake *object.Error
	switch {
	case errors.Is(err, artifact.ErrReference):
		err = &usageError{err: err}
	case !errors.As(err, &mistake):
		err = placeError(p, err)
	}
	if err := finish(ctx, p, err); err != nil {
		return err
	}
	return a.write(said.Bytes())
}

// finish ends the use of a place. Where something went wrong, a layout that was
// made for it is taken away, and an archive is left as it was.
func finish(ctx context.Context, p place, err error) error {
	if err != nil {
		_ = p.abandon(ctx) // the error before counts
	}
	if closeErr := p.close(); err == nil && closeErr != nil {
		err = &environmentError{err: closeErr}
	}
	return err
}

// checkTarget refuses what cannot be pushed to, further tags that are none, and
// a source and a revision that cannot be written into an artifact, before anything is opened or written.
func checkTarget(arg string, tags []string, opts artifact.Options) error {
	if err := opts.Check(); err != nil {
		return &usageError{err: err}
	}
	at, err := artifact.ParseLocation(arg)
	if err != nil {
		return &usageError{err: err}
	}
	if at.Digest != "" {
		return usagef("write a tag, or none for latest", "%s: nothing can be pushed to a digest", arg)
	}
	if at.Tag != "" {
		tags = append([]string{at.Tag}, tags...)
	}
	if err := artifact.CheckTags(tags); err != nil {
		return &usageError{err: err}
	}
	return nil
}

func (a *app) artifactPush() *cobra.Command {
	var r registryFlags
	var tags []string
	var name string
	var opts artifact.Options
	format := newChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "push DIR REFERENCE",
		Short: "Push a directory of manifests",
		Long: `Push a directory of manifests, such as what "render -o" wrote, as an artifact. "build"
does both at once, and attaches the graph and the provenance, which are not known here.

Folders are the barrier layers of the flux dialect. They are called as in "build", and
have the same digests, where --name says what the project is called, or where the folder
flux is there, which "render --repository" writes; it is what applies the artifact, and
no part of it. Else the layers are called as their folders. The Kustomizations in flux
apply the folders of one artifact: push with --folders for them.
` + placeHelp + `

` + exitCodes,
		Example: `  ropewalk artifact push out oci://ghcr.io/acme/shop:v1
  ropewalk artifact push out oci://ghcr.io/acme/shop:v1 --name shop`,
		Args: cobra.ExactArgs(2),
		RunE: a.run(func(ctx context.Context, args []string) error {
			if err := checkTarget(args[1], tags, opts); err != nil {
				return err
			}
			if name != "" && !isLayerName(name) {
				return usagef("lower-case letters, digits and - are wanted, at most 59", "--name %s", name)
			}
			// A layout is made only for manifests that are good.
			set, err := packDir(args[0], name, opts)
			if err != nil {
				return err
			}
			return a.in(ctx, &r, args[1], true, func(p place) error {
				pushed, err := host.Publication{Set: set, Push: artifact.PushOptions{At: time.Now()}}.
					Publish(ctx, p.Store, append([]string{p.reference}, tags...))
				if err != nil {
					return err
				}
				return a.outcome(format.value, built{Reference: p.at(p.reference), Pushed: pushed, Objects: set.Complete.Files},
					fmt.Sprintf("%s\n  digest   %s\n  changed  %s\n", p.at(p.reference), pushed.Digest, yesNo(pushed.Changed)))
			})
		}),
	}
	f := cmd.Flags()
	f.StringArrayVar(&tags, "tag", nil, "another `TAG` to push it under; may be repeated")
	f.StringVar(&name, "name", "", "`NAME` of the project, for the names of the barrier layers")
	f.BoolVar(&opts.Folders, "folders", false, foldersHelp)
	f.StringVar(&opts.Source, "source", "", "`URL` of the repository that the manifests come from")
	f.StringVar(&opts.Revision, "revision", "", "`REVISION` of it, such as main@sha1:<hash>")
	format.add(cmd, "format", "how to print what was done")
	r.add(cmd)
	return cmd
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (a *app) artifactPull() *cobra.Command {
	var r registryFlags
	var layer, dir string
	cmd := &cobra.Command{
		Use:   "pull REFERENCE -o DIR",
		Short: "Write the manifests of an artifact into a directory",
		Long: `Write the manifests of an artifact into a directory, which is replaced as a whole or
not at all.
` + placeHelp,
		Example: `  ropewalk artifact pull oci://ghcr.io/acme/shop:v1 -o out`,
		Args:    cobra.ExactArgs(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			if dir == "" {
				return usagef("add -o DIR", "-o is missing")
			}
			return a.in(ctx, &r, args[0], false, func(p place) error {
				bar := newTransfer(a.Streams, "pulling")
				defer bar.clear()
				pulled, err := artifact.Pull(ctx, p, p.reference, artifact.PullOptions{Layer: layer, Progress: bar.add})
				if err != nil {
					return err
				}
				bar.clear()
				files := make([]emit.File, 0, len(pulled.Files))
				for _, f := range pulled.Files {
					files = append(files, emit.File{Path: f.Path, Data: f.Data})
				}
				if err := output.Write(ctx, dir, files, output.Options{}); err != nil {
					return err
				}
				a.note("%s of %s written to %s\n", plural(len(files), "file"), pulled.Digest, a.paint.bold(dir))
				return nil
			})
		}),
	}
	f := cmd.Flags()
	f.VarP(&single{to: &dir}, "output", "o", "`DIR` to write to")
	f.StringVar(&layer, "layer", "", "`NAME` of the barrier layer to pull; all of them where it is not given")
	r.add(cmd)
	return cmd
}

func (a *app) artifactTag() *cobra.Command {
	var r registryFlags
	cmd := &cobra.Command{
		Use:     "tag REFERENCE TAG...",
		Short:   "Give an artifact more tags",
		Long:    "Give an artifact more tags in its repository or layout.\n" + placeHelp,
		Example: `  ropewalk artifact tag oci://ghcr.io/acme/shop:v1 stable`,
		Args:    cobra.MinimumNArgs(2),
		RunE: a.run(func(ctx context.Context, args []string) error {
			if err := artifact.CheckTags(args[1:]); err != nil {
				return &usageError{err: err}
			}
			return a.in(ctx, &r, args[0], false, func(p place) error {
				digest, err := artifact.Tag(ctx, p, p.reference, args[1:]...)
				if err != nil {
					return err
				}
				for _, tag := range args[1:] {
					if err := a.print(p.at(tag) + " " + digest + "\n"); err != nil {
						return err
					}
				}
				return nil
			})
		}),
	}
	r.add(cmd)
	return cmd
}

func (a *app) artifactInspect() *cobra.Command {
	var r registryFlags
	var layer, show string
	format := newChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "inspect REFERENCE",
		Short: "Say what is in an artifact, and what is attached to it",
		Long: `Say what an artifact is, which files it holds and what is attached to it: signatures,
the graph, provenance, images. With --show, print what is attached.
` + placeHelp,
		Example: `  ropewalk artifact inspect oci-layout:out/shop
  ropewalk artifact inspect oci://ghcr.io/acme/shop:v1 --show provenance | jq .predicate`,
		Args: cobra.ExactArgs(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.in(ctx, &r, args[0], false, func(p place) error {
				if show != "" {
					return a.showAttached(ctx, p, show)
				}
				found, err := artifact.Inspect(ctx, p, p.reference, artifact.PullOptions{Layer: layer})
				if err != nil {
					return err
				}
				found.Reference = p.at(p.reference)
				return a.outcome(format.value, found, inspectionText(found))
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&layer, "layer", "", "`NAME` of the barrier layer to look at")
	f.StringVar(&show, "show", "", "`WHAT` to print: manifest, graph, provenance or sbom")
	format.add(cmd, "format", "how to print it")
	r.add(cmd)
	return cmd
}

// showAttached prints the manifest, or a statement that is attached.
func (a *app) showAttached(ctx context.Context, p place, what string) error {
	if what == "manifest" {
		_, content, err := p.FetchReference(ctx, p.reference)
		if err != nil {
			return err
		}
		defer content.Close() //nolint:errcheck // it is read only
		data, err := readBounded(content)
		if err != nil {
			return err
		}
		return a.write(append(data, '\n'))
	}
	predicates := map[string]string{
		"graph": statement.PredicateGraph, "provenance": statement.PredicateProvenance, "sbom": statement.PredicateSBOM,
	}
	predicate, ok := predicates[what]
	if !ok {
		return usagef("expected manifest, graph, provenance or sbom", "--show %s", what)
	}
	subject, err := p.Resolve(ctx, p.reference)
	if err != nil {
		return err
	}
	text, err := artifact.Attached(ctx, p, subject, predicate)
	if err != nil {
		return err
	}
	return a.write(append(text, '\n'))
}

func inspectionText(i artifact.Inspection) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s"+format+"\n", append([]any{name}, args...)...)
	}
	b.WriteString(i.Reference + "\n")
	line("digest", "%s", i.Digest)
	if i.Tree != "" {
		line("tree", "%s", i.Tree)
	}
	line("type", "%s", strings.Join(nonEmpty(i.MediaType, i.ArtifactType), " "))
	for _, name := range []string{artifact.AnnotationSource, artifact.AnnotationRevision} {
		if v := i.Annotations[name]; v != "" {
			line(name[strings.LastIndexByte(name, '.')+1:], "%s", v)
		}
	}
	for _, l := range i.Blobs {
		line("blob", "%s %s %s", l.MediaType, l.Digest, bytesText(l.Size))
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
	if i.NotRender != "" {
		line("files", "none: %s", i.NotRender)
	}
	for _, f := range i.Files {
		line("file", "%s %s", f.Path, bytesText(f.Size))
	}
	return b.String()
}

// attachedName is a predicate type in a word.
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
