// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// Revision is the tree of a folder as it was at a revision of the repository
// that dir is in: anything that git rev-parse knows, such as main, v1.2.0,
// HEAD~3 or a hash. Path is relative to dir, and "" is dir itself. It reads the
// objects of the repository and asks no server; what is in the worktree and in
// the index does not count. Errors are ErrNotFound where there is no such
// repository, revision or folder, and those of trees.
//
// It runs the git binary where there is one. Without it a revision is a name of a
// branch or tag, HEAD or @, a hash or the start of one, or what git describe
// prints, with any of ~N, ^N, ^{}, ^{commit} and ^{/text} after it; an error says
// so of all else, and of repositories with SHA-256 or extensions; see
// gitrevisions(7).
func Revision(ctx context.Context, dir, rev, path string, limits source.Limits) (source.Tree, error) {
	return revision(ctx, FindBinary(), dir, rev, path, limits)
}

func revision(ctx context.Context, binary, dir, rev, path string, limits source.Limits) (source.Tree, error) {
	tree, err := readRevision(ctx, binary, dir, rev, path, limits)
	if err != nil {
		return source.Tree{}, fmt.Errorf("revision %q of %q: %w", rev, dir, err)
	}
	return tree, nil
}

func readRevision(ctx context.Context, binary, dir, rev, path string, limits source.Limits) (source.Tree, error) {
	if rev == "" || strings.HasPrefix(rev, "-") {
		return source.Tree{}, source.Refuse(source.ErrReference, "a revision is a branch, a tag, a hash, or what git rev-parse makes one of, such as HEAD~1")
	}
	var from checkout
	var err error
	if binary == "" {
		from, err = openCheckout(ctx, dir, rev)
	} else {
		from, err = runCheckout(ctx, binary, dir, rev)
	}
	if err != nil {
		return source.Tree{}, err
	}
	defer from.close()
	_, root, err := readCommit(from, from.commit)
	if err != nil {
		return source.Tree{}, err
	}
	at := clean(filepath.ToSlash(filepath.Join(from.prefix, path)))
	if at != "" {
		if err := source.CheckPath(at); err != nil {
			return source.Tree{}, err
		}
	}
	b := &source.Builder{Limits: limits}
	w := &walk{from: from, root: root, limits: limits, out: b}
	p, err := w.find(at)
	if err == nil {
		err = w.all(ctx, p)
	}
	if err != nil {
		return source.Tree{}, err
	}
	tree, err := treeOf(b, p)
	tree.Origin, tree.Revision = rev, chosen{commit: from.commit, name: rev}.revision()
	return tree, err
}

// checkout is a repository on this machine.
type checkout struct {
	objects
	// commit is what a revision leads to, and prefix the folder inside the
	// worktree that was named.
	commit, prefix string
	close          func()
}

// runCheckout reads a repository with the git binary.
func runCheckout(ctx context.Context, binary, dir, rev string) (checkout, error) {
	// Whose repository it is does not count: nothing in it is run.
	env := append(cleanEnv(os.DevNull), "GIT_ALLOW_PROTOCOL=none", "GIT_OPTIONAL_LOCKS=0",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=false")
	ask := func(args ...string) ([]string, error) {
		cmd := exec.CommandContext(ctx, binary, append([]string{"rev-parse"}, args...)...) //nolint:gosec // the caller says which binary, and options end before the revision
		var out, said capped
		out.most, said.most, said.drop = 64<<10, 64<<10, true
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &said
		isolate(cmd)
		err := cmd.Run()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &exit):
			return nil, source.Refuse(source.ErrNotFound, gist(said.String()))
		}
		return nil, err
	}
	where, err := ask("--absolute-git-dir", "--show-prefix")
	if err != nil {
		return checkout{}, err
	}
	commit, err := ask("--verify", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return checkout{}, source.Refuse(source.ErrNotFound, "the repository has no such commit")
	}
	if len(where) != 2 || len(commit) != 1 || !isHash(commit[0]) {
		return checkout{}, source.Refuse(source.ErrNotFound, "git says something else than one commit")
	}
	b, err := newBatch(ctx, binary, append(env, "GIT_DIR="+where[0]))
	if err != nil {
		return checkout{}, err
	}
	return checkout{objects: complete{b}, commit: commit[0], prefix: where[1], close: b.stop}, nil
}

// complete is objects that are all here.
type complete struct{ reader }

// reader is the part of objects that reads.
type reader interface {
	read(id string, fits fits) ([]byte, error)
}

func (complete) need(context.Context, []string) error { return nil }
