// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/artifact"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// gitPrefix marks a side as a Git revision, whatever files there are.
const gitPrefix = "git:"

func (a commands) diffCommand() *cobra.Command {
	var flags command.ProjectFlags
	var format command.Choice
	cmd := &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "Say what is different between two renders",
		Long: `Say of each object what is different between two renders: created, changed, deleted, or
to be made again because a field cannot be changed; what moves to another wave or
layer; what is dangerous; and which line of a spec is behind it.

BEFORE and AFTER are each one of
  PATH                    a project, a spec or a CUE package, which is rendered; or a file
                          of manifests
  DIR                     a directory of manifests, such as an earlier output
  REVISION[:PATH]         the project at a Git revision of this repository, such as HEAD~1 or
                          main:apps/shop; without PATH that of the other side
  oci://…, oci-layout:…   an artifact, with the graph that is attached to it
Write git:REVISION where a file has the name of the revision. Nothing is fetched for a
Git revision: it is read from this repository, and so are files of --values and --crds
where the revision has them.

The sides have one environment (--env). To compare two of them, render each with -o and
compare the directories.

Where the sides are written in different dialects, that is reported first, and waves, layers
and what a dialect writes into objects are not compared.

Exit code 4 says that there is a difference, or that a side holds an object twice, and 1
that a side does not render.

` + command.ExitCodes,
		Example: `  ropewalk diff HEAD~1 .                        what my last commit changes
  ropewalk diff main:apps/shop apps/shop --dialect argocd
  ropewalk diff oci://ghcr.io/acme/shop:prod .  what a push would change
  ropewalk diff out-before out-after --format json | jq '.changes[].object'
  ropewalk diff origin/main . --format markdown > comment.md`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("expected two sides, got %d: write OLD NEW, such as HEAD . for what changed since the last commit", len(args))
			}
			return nil
		},
		RunE: a.Run(func(ctx context.Context, args []string) error {
			return a.runDiff(ctx, &flags, format.Value, args[0], args[1])
		}),
	}
	format = command.NewChoice("text", "markdown", "json")
	format.Add(cmd, "format", "how to print it; markdown is for a comment on a change request")
	flags.Add(cmd)
	flags.AddLocalSources(cmd)
	return cmd
}

func (a commands) runDiff(ctx context.Context, flags *command.ProjectFlags, format, before, after string) error {
	old, err := a.side(ctx, flags, before, after)
	if err != nil {
		return a.ofSide("BEFORE", before, err)
	}
	defer old.close()
	now, err := a.side(ctx, flags, after, before)
	if err != nil {
		return a.ofSide("AFTER", after, err)
	}
	defer now.close()
	report := diff.Compare(old.Snapshot, now.Snapshot)
	if now.rendered != nil {
		if err := snapshot.Trace(ctx, now.rendered.Evaluator, now.rendered.Request, &report); err != nil {
			return err
		}
		placeFields(report, now.rendered.Place)
	}
	if err := a.printDiff(report, format); err != nil || report.Empty() {
		return err
	}
	return command.ErrDifferentReported()
}

// placeFields puts the origins of changed fields where the user wrote them.
func placeFields(report diff.Report, place func(object.Pos) object.Pos) {
	for _, c := range report.Changes {
		for i := range c.Fields {
			if f := &c.Fields[i]; f.Pos.IsValid() {
				f.Pos = place(f.Pos)
				f.From = f.Pos.String()
			}
		}
	}
}

// ofSide says of which side an error is. Mistakes in files are printed one by
// one with their places, so that they get a line ahead of all.
func (a commands) ofSide(which, arg string, err error) error {
	var mistakes object.Errors
	var mistake *object.Error
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &mistakes), errors.As(err, &mistake):
		a.Note("ropewalk: %s %q:\n", which, arg)
		return err
	}
	return fmt.Errorf("%s %q: %w", which, arg, err)
}

func (a commands) printDiff(report diff.Report, format string) error {
	switch format {
	case "json":
		data, err := report.JSON()
		if err != nil {
			return err
		}
		return a.Write(data)
	case "markdown":
		return a.Write([]byte(report.Markdown()))
	}
	// Colours are for the stream that they go to; paint knows of the other one.
	p := command.Paint{On: a.OutColor}
	return a.Write([]byte(report.Text(diff.Style{Bold: p.Bold, Dim: p.Dim, Added: p.Good, Removed: p.Bad, Warn: p.Warn})))
}

// side is one side of a comparison, with the render that it comes from where it
// is one, but for its result.
type side struct {
	diff.Snapshot
	rendered *command.Rendered
	close    func()
}

// side is what arg names; other is the other argument.
func (a commands) side(ctx context.Context, flags *command.ProjectFlags, arg, other string) (side, error) {
	if rev, ok := strings.CutPrefix(arg, gitPrefix); ok {
		return a.revisionSide(ctx, flags, rev, other)
	}
	if command.IsArtifact(arg) {
		return a.artifactSide(ctx, flags, arg)
	}
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a.revisionSide(ctx, flags, arg, other)
	case err != nil:
		return side{}, &command.EnvironmentError{Err: err}
	}
	specs, err := project.HoldsSpecs(arg)
	if err != nil {
		return side{}, &command.EnvironmentError{Err: err}
	}
	if !specs {
		return manifestsSide(ctx, arg, info.IsDir())
	}
	return a.projectSide(ctx, flags, arg, nil, arg)
}

// manifestsSide is a directory of manifests, or one file of them.
func manifestsSide(ctx context.Context, name string, dir bool) (out side, err error) {
	out.close = func() {}
	if dir {
		out.Snapshot, err = snapshot.OfFiles(ctx, name, os.DirFS(name), nil)
	} else {
		data, failed := os.ReadFile(name) //nolint:gosec // the user names it, and its size is known
		if failed != nil {
			return side{}, &command.EnvironmentError{Err: failed}
		}
		out.Snapshot, err = snapshot.OfFile(ctx, name, data)
	}
	var mistakes object.Errors
	if err != nil && !command.IsSystem(err) && !errors.As(err, &mistakes) {
		// What is no manifest is a mistake in the file, as YAML that is broken is.
		err = &object.Error{Stage: object.StageCheck, Err: err}
	}
	return out, err
}

// projectSide renders a project in files; nil is the disk.
func (a commands) projectSide(ctx context.Context, flags *command.ProjectFlags, name string, files fs.FS, arg string) (side, error) {
	r, err := a.RenderFS(ctx, flags, files, []string{arg})
	if err != nil {
		return side{}, err
	}
	rendered, err := snapshot.OfRender(name, r.Result, nil)
	if err != nil {
		r.Close()
		return side{}, err
	}
	r.Result = render.Result{} // Of two large projects it would hold what the comparison needs.
	return side{Snapshot: rendered, rendered: &r, close: r.Close}, nil
}

// artifactSide is an artifact with the graph that is attached to it.
func (a commands) artifactSide(ctx context.Context, flags *command.ProjectFlags, arg string) (side, error) {
	p, err := a.Open(ctx, &flags.Sources.RegistryFlags, arg, false)
	if err != nil {
		return side{}, err
	}
	defer p.Close() //nolint:errcheck // nothing was written
	files, err := artifact.Snapshot(ctx, p, p.Reference)
	if err != nil {
		return side{}, command.LocationError(p, err)
	}
	files.Name = arg
	return side{Snapshot: files, close: func() {}}, nil
}
