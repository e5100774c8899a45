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
// It runs the git binary where there is one. Without it, go-git reads the
// repository, and a revision is a name of a branch or tag, HEAD or @, a hash or
// the start of one, with any of ~N, ^N, ^{} and ^{commit} after it; everything
// else is an error that says so.
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
		return source.Tree{}, source.Refuse(source.ErrReference, "a revision is a branch, a tag, a hash, or another expression of git rev-parse, such as HEAD~1")
	}
	open := openLibrary
	if binary != "" {
		open = func(ctx context.Context, dir, rev string) (checkout, error) { return openBinary(ctx, binary, dir, rev) }
	}
	from, err := open(ctx, dir, rev)
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

// checkout is a repository on this machine, and complete.
type checkout struct {
	objects
	// commit is that of a revision, and prefix the folder inside the worktree
	// that was named.
	commit, prefix string
	close          func()
}

// openBinary reads a repository with the git binary.
func openBinary(ctx context.Context, binary, dir, rev string) (checkout, error) {
	// The owner of the repository does not count: nothing in it is run.
	env := append(cleanEnv(os.DevNull), "GIT_ALLOW_PROTOCOL=none", "GIT_OPTIONAL_LOCKS=0",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=false")
	parse := func(args ...string) ([]string, error) {
		cmd := exec.CommandContext(ctx, binary, append([]string{"rev-parse"}, args...)...) //nolint:gosec // the caller says which binary, and options end before the revision
		var out, stderr capped
		out.limit, stderr.limit, stderr.drop = 64<<10, 64<<10, true
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &stderr
		isolate(cmd)
		err := cmd.Run()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &exit):
			return nil, source.Refuse(source.ErrNotFound, firstLine(stderr.String()))
		}
		return nil, err
	}
	at, err := parse("--absolute-git-dir", "--show-prefix")
	if err != nil {
		return checkout{}, err
	}
	commit, err := parse("--verify", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return checkout{}, noCommit()
	}
	if len(at) != 2 || len(commit) != 1 || !isHash(commit[0]) {
		return checkout{}, source.Refuse(source.ErrNotFound, "the output of git rev-parse is not one commit")
	}
	b, err := newBatch(ctx, binary, append(env, "GIT_DIR="+at[0]))
	if err != nil {
		return checkout{}, err
	}
	return checkout{objects: b, commit: commit[0], prefix: at[1], close: b.stop}, nil
}
