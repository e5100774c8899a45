// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/git"
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
  PATH                    a project or a spec, which is rendered
  DIR                     a directory of manifests, such as an earlier output
  REVISION[:PATH]         the project at a Git revision of this repository, such as HEAD~1 or
                          main:apps/shop; without PATH that of the other side
  oci://…, oci-layout:…   an artifact, with the graph that is attached to it
Write git:REVISION where a file has the name of the revision. Nothing is fetched for a
Git revision: it is read from this repository.

Exit code 1 says that there is a difference.

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
		return err
	}
	defer old.close()
	now, err := a.side(ctx, flags, after, before)
	if err != nil {
		return err
	}
	defer now.close()
	report := diff.Compare(old.Side, now.Side)
	if now.rendered != nil {
		if err := host.TraceChanges(ctx, now.rendered.evaluator, now.rendered.Request.Specs, &report); err != nil {
			return err
		}
	}
	if err := a.printDiff(report, format); err != nil || report.Empty() {
		return err
	}
	return errDifferentReported()
}

func (a *app) printDiff(report diff.Report, format string) error {
	switch format {
	case "json":
		data, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return err
		}
		return a.write(append(data, '\n'))
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
	diff.Side
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
	_, err := os.Stat(arg)
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
		files, err := host.FilesSide(arg, os.DirFS(arg), nil)
		return side{Side: files, close: func() {}}, err
	}
	return a.projectSide(ctx, flags, arg, "", []string{arg})
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
	return side{Side: rendered, rendered: &r, close: r.close}, nil
}

// revisionSide renders the project as it was at a revision of the repository
// that the working directory, or the other side, is in.
func (a *app) revisionSide(ctx context.Context, flags *projectFlags, rev, other string) (side, error) {
	rev, inside, given := strings.Cut(rev, ":")
	repository, at, err := inRepository(other)
	if err != nil {
		return side{}, fmt.Errorf("%q is no file; and it can be no revision: %w", rev, err)
	}
	if !given {
		inside = at
	}
	tree, err := git.Revision(ctx, repository, rev, "", revisionLimits())
	if err != nil {
		return side{}, &environmentError{err: err, hint: fmt.Sprintf("%q is no file, and no revision of the repository", rev)}
	}
	dir, err := os.MkdirTemp("", "ropewalk-diff-")
	if err != nil {
		return side{}, &environmentError{err: err}
	}
	clean := func() { _ = os.RemoveAll(dir) }
	err = writeTree(dir, tree)
	if err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, inside)); statErr != nil {
			err = fmt.Errorf("revision %s has no %q: name it as %s:PATH", rev, inside, rev)
		}
	}
	if err != nil {
		clean()
		return side{}, &environmentError{err: err}
	}
	s, err := a.projectSide(ctx, flags, rev, dir, []string{filepath.FromSlash(inside)})
	// Its files are in memory by now, and its positions are those of the user.
	clean()
	return s, err
}

// revisionLimits bound a whole repository, of which a project is a part.
func revisionLimits() source.Limits { return source.Limits{Files: 200_000, Bytes: 1 << 30} }

// artifactSide is an artifact with the graph that is attached to it.
func (a *app) artifactSide(ctx context.Context, flags *projectFlags, arg string) (side, error) {
	p, err := a.open(ctx, &flags.sources.registryFlags, arg, false)
	if err != nil {
		return side{}, err
	}
	defer p.close() //nolint:errcheck // nothing was written
	files, err := pulledSide(ctx, p, p.reference)
	if err != nil {
		return side{}, placeError(p, err)
	}
	files.Name = arg
	return side{Side: files, close: func() {}}, nil
}

// pulledSide is an artifact of a place as one side of a comparison. The graph
// that is attached says in which waves its objects are; an artifact without one
// is no reason to fail.
func pulledSide(ctx context.Context, p place, reference string) (diff.Side, error) {
	pulled, err := artifact.Pull(ctx, p, reference, artifact.PullOptions{})
	if err != nil {
		return diff.Side{}, err
	}
	subject, err := p.Resolve(ctx, pulled.Digest)
	if err != nil {
		return diff.Side{}, err
	}
	text, err := artifact.Attached(ctx, p, subject, statement.PredicateGraph)
	if err != nil && !errors.Is(err, artifact.ErrNotFound) {
		return diff.Side{}, err
	}
	var attached struct {
		Predicate json.RawMessage `json:"predicate"`
	}
	if text != nil {
		if err := json.Unmarshal(text, &attached); err != nil {
			return diff.Side{}, fmt.Errorf("the graph that is attached cannot be read: %w", err)
		}
	}
	return host.FilesSide(p.at(reference), pulled.FS, attached.Predicate)
}

// inRepository is the repository that a path is in, and where in it; the
// working directory stands for what is no path.
func inRepository(arg string) (repository, inside string, err error) {
	if _, err := os.Stat(arg); err != nil || isArtifact(arg) {
		arg = "."
	}
	full, err := filepath.Abs(arg)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return "", "", &environmentError{err: err}
	}
	for dir := full; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			rel, err := filepath.Rel(dir, full)
			return dir, filepath.ToSlash(rel), err
		}
		if dir == filepath.Dir(dir) {
			return "", "", usagef("BEFORE and AFTER are each a path, a Git revision or an artifact", "%s is in no Git repository", arg)
		}
	}
}

// writeTree writes a tree into an empty directory.
func writeTree(dir string, tree source.Tree) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written through it any more
	return fs.WalkDir(tree.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree.FS, name)
		if err != nil {
			return err
		}
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return err
		}
		return root.WriteFile(name, data, 0o600)
	})
}
