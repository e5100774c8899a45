// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

// gitPrefix marks a side as a Git revision, whatever files there are.
const gitPrefix = "git:"

func (a *app) diffCommand() *cobra.Command {
	var flags projectFlags
	var format choice
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

Where the sides are written in different dialects, that is said first, and waves, layers
and what a dialect writes into objects are not compared.

Exit code 1 says that there is a difference, or that a side holds an object twice.

` + exitCodes,
		Example: `  ropewalk diff HEAD~1 .                        what my last commit changes
  ropewalk diff main:apps/shop apps/shop --dialect argocd
  ropewalk diff oci://ghcr.io/acme/shop:prod .  what a push would change
  ropewalk diff out-before out-after --format json | jq '.changes[].object'
  ropewalk diff origin/main . --format markdown > comment.md`,
		Args: cobra.ExactArgs(2),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.runDiff(ctx, &flags, format.value, args[0], args[1])
		}),
	}
	format = newChoice("text", "markdown", "json")
	format.add(cmd, "format", "how to print it; markdown is for a comment on a change request")
	flags.add(cmd)
	return cmd
}

// errDifferent says by the exit code that two sides differ.
var errDifferent = errors.New("different")

// errDifferentReported is errDifferent with nothing left to say.
func errDifferentReported() error { return errors.Join(errDifferent, errReported) }

func (a *app) runDiff(ctx context.Context, flags *projectFlags, format, before, after string) error {
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
		if err := host.TraceChanges(ctx, now.rendered.evaluator, now.rendered.Request, &report); err != nil {
			return err
		}
	}
	if err := a.printDiff(report, format); err != nil || report.Empty() {
		return err
	}
	return errDifferentReported()
}

// ofSide says of which side an error is. Mistakes in files are printed one by
// one with their places, so that they get a line ahead of all.
func (a *app) ofSide(which, arg string, err error) error {
	var mistakes object.Errors
	var mistake *object.Error
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &mistakes), errors.As(err, &mistake):
		a.note("ropewalk: %s %s:\n", which, printable(strconv.Quote(arg)))
		return err
	}
	return fmt.Errorf("%s %q: %w", which, arg, err)
}

func (a *app) printDiff(report diff.Report, format string) error {
	switch format {
	case "json":
		data, err := report.JSON()
		if err != nil {
			return err
		}
		return a.write(data)
	case "markdown":
		return a.write([]byte(report.Markdown()))
	}
	// Colours are for the stream that they go to; paint knows of the other one.
	p := paint{on: a.OutColor}
	return a.write([]byte(report.Text(diff.Style{Bold: p.bold, Dim: p.dim, Added: p.good, Removed: p.bad, Warn: p.warn})))
}

// side is one side of a comparison, with the render that it comes from where it
// is one.
type side struct {
	diff.Snapshot
	rendered *rendered
	close    func()
}

// side is what arg names; other is the other argument.
func (a *app) side(ctx context.Context, flags *projectFlags, arg, other string) (side, error) {
	if rev, ok := strings.CutPrefix(arg, gitPrefix); ok {
		return a.revisionSide(ctx, flags, rev, other)
	}
	if isArtifact(arg) {
		return a.artifactSide(ctx, flags, arg)
	}
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a.revisionSide(ctx, flags, arg, other)
	case err != nil:
		return side{}, &environmentError{err: err}
	}
	specs, err := host.HoldsSpecs(arg)
	if err != nil {
		return side{}, &environmentError{err: err}
	}
	if !specs {
		return manifestsSide(arg, info.IsDir())
	}
	return a.projectSide(ctx, flags, arg, "", []string{arg})
}

// manifestsSide is a directory of manifests, or one file of them.
func manifestsSide(name string, dir bool) (side, error) {
	files := os.DirFS(name)
	if !dir {
		data, err := os.ReadFile(name) //nolint:gosec // the user names it, and its size is known
		if err != nil {
			return side{}, &environmentError{err: err}
		}
		tree, err := source.NewTree(map[string][]byte{filepath.Base(name): data}, "", "")
		if err != nil {
			return side{}, err
		}
		files = tree.FS
	}
	out, err := host.FilesSide(name, files, nil)
	var mistakes object.Errors
	if err != nil && !isSystem(err) && !errors.As(err, &mistakes) {
		// What is no manifest is a mistake in the file, as YAML that is broken is.
		err = &object.Error{Stage: object.StageCheck, Err: err}
	}
	return side{Snapshot: out, close: func() {}}, err
}

// projectSide renders a project; dir is where the paths begin, "" the working
// directory.
func (a *app) projectSide(ctx context.Context, flags *projectFlags, name, dir string, paths []string) (side, error) {
	r, err := a.renderIn(ctx, flags, dir, paths)
	if err != nil {
		return side{}, err
	}
	rendered, err := host.RenderSide(name, r.Result)
	if err != nil {
		r.close()
		return side{}, err
	}
	return side{Snapshot: rendered, rendered: &r, close: r.close}, nil
}
