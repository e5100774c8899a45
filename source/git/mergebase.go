// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/ropewalk/ropewalk/source"
)

// MergeBases returns the hashes of the best common commits of two revisions of the repository that
// dir is in, as git merge-base --all does; the newest is first. Only histories that were merged
// crosswise have several of them. Revisions have the forms of [OpenRevision], and nothing is
// fetched. Errors are ErrNotFound where a revision is not there, or both have no common commit,
// ErrReference, and ErrLimit.
func MergeBases(ctx context.Context, dir, a, b string) ([]string, error) {
	out, err := mergeBases(ctx, FindBinary(), dir, a, b)
	if err != nil {
		return nil, fmt.Errorf("revisions %q and %q of %q: %w", a, b, dir, err)
	}
	return out, nil
}

func mergeBases(ctx context.Context, binary, dir, a, b string) ([]string, error) {
	var commits [2]string
	for i, rev := range []string{a, b} {
		c, err := openCheckout(ctx, binary, dir, rev)
		if err != nil {
			return nil, err
		}
		c.close()
		commits[i] = c.commit
	}
	if binary == "" {
		return libraryMergeBases(ctx, dir, commits)
	}
	env := localEnv()
	out, stderr, err := runGit(ctx, binary, dir, env, nil, "merge-base", "--all", commits[0], commits[1])
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return nil, errNoMergeBase(isShallow(ctx, binary, dir, env))
	case errors.As(err, &exit):
		return nil, source.Refuse(source.ErrNotFound, firstLine(stderr))
	}
	return strings.Fields(string(out)), err
}

// errNoMergeBase returns the error for revisions without a common commit.
func errNoMergeBase(shallow bool) error {
	if shallow {
		return source.Refuse(source.ErrNotFound, "they have no common commit in this shallow clone: fetch their history first, "+
			"with git fetch --unshallow, or in a pipeline with fetch-depth: 0 (actions/checkout) or GIT_DEPTH: 0 (GitLab)")
	}
	return source.Refuse(source.ErrNotFound, "they have no common commit")
}

// maxHistory limits the commits that go-git reads of a history.
const maxHistory = 1 << 20

// libraryMergeBases finds the common commits with go-git.
func libraryMergeBases(ctx context.Context, dir string, commits [2]string) ([]string, error) {
	d, err := openOnDisk(dir)
	if err != nil {
		return nil, err
	}

	// The history counts what is read, and ends where a shallow clone does.
	h := &history{onDisk: d, check: ctx.Err, left: maxHistory}
	h.shallow, err = d.Shallow()
	if err != nil {
		return nil, err
	}
	var both [2]*object.Commit
	for i, id := range commits {
		both[i], err = object.GetCommit(h, plumbing.NewHash(id))
		if err != nil {
			return nil, err
		}
	}
	// An error in the middle of the walk is not returned by all of its steps.
	found, err := both[0].MergeBase(both[1])
	switch {
	case h.err != nil:
		return nil, h.err
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, errNoMergeBase(len(h.shallow) > 0)
	}

	// Git lists the newest first.
	slices.SortStableFunc(found, func(a, b *object.Commit) int { return b.Committer.When.Compare(a.Committer.When) })
	out := make([]string, len(found))
	for i, c := range found {
		out[i] = c.Hash.String()
	}
	return out, nil
}

// history is the commits of a repository. Those at the edge of a shallow clone have no
// parents, as for git.
type history struct {
	onDisk
	shallow []plumbing.Hash
	check   func() error
	// left counts the commits that may still be read.
	left int
	// err is the first error.
	err error
}

// EncodedObject reads an object.
func (h *history) EncodedObject(kind plumbing.ObjectType, id plumbing.Hash) (plumbing.EncodedObject, error) {
	h.left--
	if err := h.check(); err != nil {
		return nil, h.fail(err)
	}
	if h.left < 0 {
		return nil, h.fail(source.OverLimit("the history has more than %d commits", maxHistory))
	}

	// The commits at the end of a shallow clone have parents that are not there.
	o, err := h.onDisk.EncodedObject(kind, id)
	if err != nil {
		return nil, h.fail(source.Refuse(source.ErrNotFound, fmt.Sprintf("commit %s is not in the repository, which may be a damaged clone", id)))
	}
	if o.Type() != plumbing.CommitObject || !slices.Contains(h.shallow, id) {
		return o, nil
	}

	// Such a commit is read as if it had no parents.
	r, err := o.Reader()
	if err != nil {
		return nil, h.fail(err)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxCommit))
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, h.fail(err)
	}
	header, message, _ := bytes.Cut(data, []byte("\n\n"))
	lines := slices.DeleteFunc(bytes.Split(header, []byte("\n")), func(line []byte) bool { return bytes.HasPrefix(line, []byte("parent ")) })
	root := &plumbing.MemoryObject{}
	root.SetType(plumbing.CommitObject)
	_, err = root.Write(slices.Concat(bytes.Join(lines, []byte("\n")), []byte("\n\n"), message))
	return rootCommit{root, id}, err
}

// fail keeps the first error.
func (h *history) fail(err error) error {
	if h.err == nil {
		h.err = err
	}
	return err
}

// rootCommit is a commit that has lost its parents, and not its name.
type rootCommit struct {
	plumbing.EncodedObject
	id plumbing.Hash
}

// Hash returns the hash of the commit.
func (c rootCommit) Hash() plumbing.Hash { return c.id }
