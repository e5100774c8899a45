// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/ropewalk/ropewalk/source"
)

// OpenRevision opens the tree of a commit of the repository that dir is in. Its root is the root of
// the repository. rev is anything that git rev-parse knows, such as main, v1.2.0, HEAD~3 or a hash.
// Only the objects of the repository are read: no server is asked, and the worktree and the index
// do not count. Errors are ErrNotFound where there is no such repository or revision, and
// ErrReference. The caller closes the result.
//
// It runs the git binary where it finds the binary. Without it, go-git reads the repository, and a
// revision is a name of a branch or tag, HEAD or @, a hash or the start of a hash, with any of ~N,
// ^N, ^{} and ^{commit} after it; every other form is an error.
func OpenRevision(ctx context.Context, dir, rev string) (*Files, error) {
	checkedOut, err := openCheckout(ctx, FindBinary(), dir, rev)
	if err != nil {
		return nil, fmt.Errorf("revision %q of %q: %w", rev, dir, err)
	}
	return newFiles(checkedOut, checkedOut.commit, maxRevision, checkedOut.close)
}

// maxRevision limits the bytes that are read of a revision.
const maxRevision = 256 << 20

func openCheckout(ctx context.Context, binary, dir, rev string) (checkout, error) {
	switch {
	case rev == "" || strings.HasPrefix(rev, "-"):
		return checkout{}, source.Refuse(source.ErrReference,
			"a revision is a branch, a tag, a hash, or another expression of git rev-parse, such as HEAD~1")
	case binary != "":
		return openBinary(ctx, binary, dir, rev)
	}
	return openLibrary(ctx, dir, rev)
}

// checkout is a repository on this machine, and complete.
type checkout struct {
	objects
	// commit is the hash that a revision leads to.
	commit string
	close  func()
}

// localEnv returns the environment of git for a repository on this machine. The owner of the
// repository does not count, because nothing in it is run.
func localEnv() []string {
	return append(cleanEnv(os.DevNull),
		"GIT_ALLOW_PROTOCOL=none",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		"GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=false")
}

// isShallow reports whether a clone is shallow; a clone that does not say counts as complete.
func isShallow(ctx context.Context, binary, dir string, env []string) bool {
	out, _, _ := runGit(ctx, binary, dir, env, nil, "rev-parse", "--is-shallow-repository")
	return strings.TrimSpace(string(out)) == "true"
}

// openBinary reads a repository with the git binary.
func openBinary(ctx context.Context, binary, dir, rev string) (checkout, error) {
	env := localEnv()
	out, stderr, err := runGit(ctx, binary, dir, env, nil, "rev-parse", "--verify", "--end-of-options", rev+"^{commit}")
	var exit *exec.ExitError
	commit := strings.TrimSpace(string(out))
	switch {
	case errors.As(err, &exit) && !strings.Contains(stderr, "Needed a single revision"):
		return checkout{}, source.Refuse(source.ErrNotFound, firstLine(stderr))
	case errors.As(err, &exit), err == nil && !isHash(commit):
		return checkout{}, errNoCommit(isShallow(ctx, binary, dir, env))
	case err != nil:
		return checkout{}, err
	}
	b, err := newBatch(ctx, binary, dir, env)
	if err != nil {
		return checkout{}, err
	}
	return checkout{objects: b, commit: commit, close: b.stop}, nil
}

// largeObject is from which size on go-git does not read objects of a repository
// on disk before they are known to fit, in bytes.
const largeObject = 1 << 20

// minAbbreviation is the fewest digits that a hash is abbreviated to.
const minAbbreviation = 4

// store is objects of go-git, all of which are here.
type store struct {
	storer.EncodedObjectStorer
	// missing is the error for an object that is not there.
	missing func(id string) error
}

var _ objects = store{}

// read reads an object.
func (s store) read(id, kind string, most int64) ([]byte, error) {
	o, err := s.EncodedObject(plumbing.AnyObject, plumbing.NewHash(id))
	if err != nil {
		return nil, s.missing(id)
	}
	if err := checkFits(o.Type().String(), o.Size(), kind, most); err != nil {
		return nil, err
	}
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, o.Size()))
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	if int64(len(data)) != o.Size() || plumbing.ComputeHash(o.Type(), data).String() != id {
		return nil, source.Refuse(source.ErrDigest, fmt.Sprintf("object %s of the repository is damaged", id))
	}
	return slices.Clip(data), nil
}

// openLibrary reads a repository by go-git.
func openLibrary(ctx context.Context, dir, rev string) (checkout, error) {
	d, err := openOnDisk(dir)
	if err != nil {
		return checkout{}, source.Refuse(source.ErrNotFound, fmt.Sprintf(
			"it is in no Git repository that can be read without the git binary (%s)", firstLine(err.Error())))
	}
	commit, err := d.resolve(ctx, rev)
	if err != nil {
		return checkout{}, err
	}
	objects := store{d, func(id string) error {
		return source.Refuse(source.ErrNotFound, fmt.Sprintf("object %s is not in the repository, which may be a partial or damaged clone", id))
	}}
	return checkout{objects: objects, commit: commit, close: func() {}}, nil
}

// openOnDisk finds the repository that a folder is, or is in.
func openOnDisk(dir string) (onDisk, error) {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved // the repository is looked for above the real folder
	}
	// The folder may be a bare repository, which is not looked for above it.
	repo, err := gogit.PlainOpenWithOptions(dir, &gogit.PlainOpenOptions{EnableDotGitCommonDir: true})
	if errors.Is(err, gogit.ErrRepositoryNotExists) {
		repo, err = gogit.PlainOpenWithOptions(dir, &gogit.PlainOpenOptions{EnableDotGitCommonDir: true, DetectDotGit: true})
	}
	if err != nil {
		return onDisk{}, err
	}
	from, ok := repo.Storer.(*filesystem.Storage)
	if !ok {
		return onDisk{}, gogit.ErrRepositoryNotExists
	}
	return onDisk{filesystem.NewStorageWithOptions(from.Filesystem(), cache.NewObjectLRUDefault(), filesystem.Options{
		LargeObjectThreshold: largeObject, AlternatesFS: osfs.New("/"),
	})}, nil
}

// onDisk is a repository on this machine, as go-git reads it.
type onDisk struct{ *filesystem.Storage }

// errNoCommit returns the error for a revision that is not there. A shallow clone may lack
// what its origin has.
func errNoCommit(shallow bool) error {
	if shallow {
		return source.Refuse(source.ErrNotFound, "the repository has no such commit, and is a shallow clone: fetch the revision first, "+
			"with git fetch --depth=1 origin REVISION, or all with git fetch --unshallow")
	}
	return source.Refuse(source.ErrNotFound, "the repository has no such commit")
}

// errNoCommit returns the error for a revision that is not there.
func (d onDisk) errNoCommit() error {
	shallow, _ := d.Shallow() // Without an answer the clone counts as complete.
	return errNoCommit(len(shallow) > 0)
}

func errOtherForm() error {
	return source.Refuse(source.ErrNotFound, needsBinary("it is not a branch, a tag or a hash, with or without ~N, ^N or ^{commit} after it: "+
		"a range is not one commit, and every other form, such as main@{1}, @{u}, HEAD^{/text} and dates,"))
}

// resolve finds the commit of a revision. It does not use ResolveRevision of go-git, which
// ignores what it does not know, such as the date in main@{yesterday}, takes ^3 for ^2, and
// prefers the start of a hash to a branch of that name.
func (d onDisk) resolve(ctx context.Context, rev string) (string, error) {
	form := regexp.MustCompile(`^(.*?)((?:~\d*|\^\d*|\^\{\}|\^\{commit\})*)$`).FindStringSubmatch(rev)
	if form == nil {
		return "", errOtherForm()
	}
	id, err := d.findNamed(form[1])
	if err != nil {
		return "", err
	}

	// A shallow clone ends at some commits, whose parents it does not have.
	shallow, err := d.Shallow()
	if err != nil {
		return "", err
	}

	// Each step leads from a commit to one before it.
	commit, err := d.findCommit(id)
	for _, step := range regexp.MustCompile(`[~^](?:\d+|\{\w*\})?`).FindAllString(form[2], -1) {
		if err != nil || step[len(step)-1] == '}' {
			continue
		}
		n := 1
		if len(step) > 1 {
			n, err = strconv.Atoi(step[1:])
			if err != nil {
				return "", d.errNoCommit()
			}
		}

		// ~N is N steps to the first parent, and ^N one step to the parent N.
		parent, times := 0, n
		if step[0] == '^' {
			parent, times = n-1, min(n, 1)
		}
		for ; err == nil && times > 0; times-- {
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			if slices.Contains(shallow, commit.Hash) {
				return "", d.errNoCommit()
			}
			commit, err = commit.Parent(parent)
		}
	}
	if err != nil {
		return "", d.errNoCommit()
	}
	return commit.Hash.String(), nil
}

// findNamed finds the object of a name: a hash comes before references, and those before the
// start of a hash; see gitrevisions(7).
func (d onDisk) findNamed(name string) (plumbing.Hash, error) {
	if hash := strings.ToLower(name); len(hash) == 40 && isHash(hash) {
		return plumbing.NewHash(hash), nil
	}
	if name == "@" {
		name = "HEAD"
	}
	if !isRefName(name) {
		return plumbing.ZeroHash, errOtherForm()
	}

	// A name may stand for a branch, a tag or another reference.
	for _, rule := range plumbing.RefRevParseRules {
		full := fmt.Sprintf(rule, name)
		ref, err := storer.ResolveReference(d, plumbing.ReferenceName(full))
		if err != nil {
			continue
		}
		for _, ownPrefix := range []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/"} {
			if strings.HasPrefix(full, ownPrefix) { // each worktree has its own, and go-git reads them in the first
				return plumbing.ZeroHash, errOtherForm()
			}
		}
		return ref.Hash(), nil
	}

	// The output of git describe ends with an abbreviation.
	if i := strings.LastIndex(name, "-g"); i > 0 {
		name = name[i+2:]
	}
	return d.findAbbreviated(strings.ToLower(name))
}

// findAbbreviated finds the commit, or the tag of a commit, whose hash starts with some digits.
func (d onDisk) findAbbreviated(start string) (plumbing.Hash, error) {
	prefix, err := hex.DecodeString(start[:len(start)&^1])
	if err != nil || len(start) < minAbbreviation {
		return plumbing.ZeroHash, d.errNoCommit()
	}
	hashes, err := d.HashesWithPrefix(prefix)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	var found []plumbing.Hash
	for _, h := range hashes {
		if !strings.HasPrefix(h.String(), start) || slices.Contains(found, h) {
			continue
		}
		if _, err := d.findCommit(h); err == nil {
			found = append(found, h)
		}
	}
	switch len(found) {
	case 0:
		return plumbing.ZeroHash, d.errNoCommit()
	case 1:
		return found[0], nil
	}
	return plumbing.ZeroHash, source.Refuse(source.ErrNotFound, fmt.Sprintf(
		"%d commits have hashes that start with %q: add digits", len(found), start))
}

// findCommit returns the commit that an object is, or that a tag points to.
func (d onDisk) findCommit(id plumbing.Hash) (*object.Commit, error) {
	for {
		if c, err := object.GetCommit(d, id); err == nil {
			return c, nil
		}
		tag, err := object.GetTag(d, id)
		if err != nil {
			return nil, err
		}
		id = tag.Target
	}
}
