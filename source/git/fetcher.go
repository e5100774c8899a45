// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/local"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// The defaults of [Fetcher].
const (
	DefaultTimeout  = 2 * time.Minute
	DefaultTransfer = 512 << 20
)

// Fetcher gets trees from Git servers. The zero value fetches from https
// servers without credentials, and without the git binary. It is safe for concurrent use.
type Fetcher struct {
	// Secrets has the credentials that references name, and the keys to verify
	// signatures with; nil is none.
	Secrets source.Secrets
	// Limits bound the tree, submodules included.
	Limits source.Limits
	// Timeout bounds each call, all requests together; DefaultTimeout where zero.
	Timeout time.Duration
	// Transfer is how many bytes a server may send for a repository: compressed,
	// on disk, with the git binary, and uncompressed, in memory, without it.
	// DefaultTransfer where zero.
	Transfer int64
	// Binary is the path of git; "" does without. [FindBinary] finds it.
	Binary string
	// PlainHTTP reports whether http:// references, which are not encrypted, may
	// name a host, with the port where the reference has one; nil allows none, not
	// even the loopback. Credentials go there too.
	PlainHTTP func(host string) bool
	// CA is PEM of certificate authorities for every https server, beside those of
	// the system, or those that the Secret of the reference has in their place.
	CA []byte
	// UserEnv is the environment of the user, as os.Environ has it. Where it is
	// set, references without a Secret are got with the user's own configuration
	// of git and ssh: credential helpers, agent, known_hosts, proxies. It needs
	// the binary. Where it is nil, git and ssh read no configuration at all.
	UserEnv []string
	// Scratch is a folder for temporary repositories and keys, which are removed
	// again; the system's own where "".
	Scratch string
	// Known finds a tree by the id that [Result] gave it; nil finds none. What it
	// finds is taken instead of asking for any file.
	Known func(ctx context.Context, treeID string) (source.Tree, bool)
}

var _ source.Resolver = (*Fetcher)(nil)

// Result is a tree with what Git calls it.
type Result struct {
	Tree source.Tree
	// Commit is the hash of the commit.
	Commit string
	// TreeID is the id of the folder that the tree is made of, with a colon and
	// the folder of the package where that is not the root. The same id has the
	// same files always. It is "" where files come from outside the folder,
	// through symlinks or submodules, which the id does not cover.
	TreeID string
	// Known is set where the tree is that of Fetcher.Known.
	Known bool
}

// FindBinary returns the path of the git binary, or "" where there is none.
func FindBinary() string {
	found, err := exec.LookPath("git")
	if err != nil {
		return ""
	}
	return found
}

// Fetch gets the tree of a reference. Errors are sentinels of package source.
func (f *Fetcher) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	result, err := f.FetchResult(ctx, ref)
	return result.Tree, err
}

// FetchResult works as Fetch does, and also returns the id of the tree in Git. The tree is
// that of the module of the folder ref.Path by the rules of package local. The root of the
// commit stands for that of the project, and symlinks inside the commit are followed wherever
// they are.
func (f *Fetcher) FetchResult(ctx context.Context, ref source.Ref) (Result, error) {
	return call(ctx, f, ref, func(ctx context.Context, r reference, with credentials) (Result, error) {
		dir := path.Clean(ref.Path)
		if dir != "." {
			if err := source.CheckPath(dir); err != nil {
				return Result{}, err
			}
		}
		g := &get{f: f, ref: r, with: with, verify: ref.Verify}
		files, at, err := g.open(ctx)
		if err != nil {
			return Result{}, err
		}
		defer files.Close()
		result, err := f.read(ctx, files, dir)
		if err != nil {
			return Result{}, err
		}
		result.Commit = at.commit
		result.Tree.Origin = r.url
		if dir != "." {
			result.Tree.Origin += "//" + dir
		}
		result.Tree.Revision, result.Tree.Pinned = at.revision(), r.at(at.commit)
		return result, nil
	})
}

// read reads the module of a folder.
func (f *Fetcher) read(ctx context.Context, files *Files, dir string) (Result, error) {
	if _, err := files.folderID(dir); err != nil {
		return Result{}, err
	}
	root, err := rootfs.Of(files, ".")
	if err != nil {
		return Result{}, trimPath(err)
	}

	// The id names the module and the package in it, so that a tree that is known is not read
	// again.
	p := local.Find(root, dir, dir)
	p.Limits = f.Limits
	p.Hidden = true
	id, err := files.folderID(p.Module)
	if err != nil {
		return Result{}, err
	}
	if p.Dir != p.Module {
		id += ":" + strings.TrimPrefix(p.Dir, p.Module+"/")
	}
	result := Result{TreeID: id}
	if f.Known != nil && !files.outside {
		result.Tree, result.Known = f.Known(ctx, id)
		if result.Known {
			return result, nil
		}
	}

	// Files outside of the module are not in its id, so a tree with such files has none.
	files.start = p.Module
	result.Tree, err = files.readPackage(ctx, p)
	if err != nil {
		return Result{}, err
	}
	if files.outside {
		result.TreeID = ""
	}
	return result, nil
}

// Resolve returns the commit that a reference leads to, as the server has it. For a commit
// there is no request.
func (f *Fetcher) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	if r, err := f.parse(ref.Ref); err == nil && r.by == byCommit {
		ref.Ref = r.at(r.choice)
		return source.Resolved{Ref: ref, Revision: chosen{commit: r.choice}.revision(), Immutable: true}, nil
	}
	return call(ctx, f, ref, func(ctx context.Context, r reference, with credentials) (source.Resolved, error) {
		from, err := f.connect(ctx, r.location, with)
		if err != nil {
			return source.Resolved{}, err
		}
		defer from.close()
		c, err := r.choose(ctx, from)
		if err != nil {
			return source.Resolved{}, err
		}
		pinned := ref
		pinned.Ref = r.at(c.commit)
		return source.Resolved{Ref: pinned, Revision: c.revision()}, nil
	})
}

// Check checks that the Secret of a reference gives access to it. It lists the default
// branch, and fetches nothing. A cache that has the tree already calls it before each use.
func (f *Fetcher) Check(ctx context.Context, ref source.Ref) error {
	_, err := call(ctx, f, ref, func(ctx context.Context, r reference, with credentials) (struct{}, error) {
		from, err := f.connect(ctx, r.location, with)
		if err != nil {
			return struct{}{}, err
		}
		defer from.close()
		_, err = from.listRefs(ctx, reference{}.patterns())
		return struct{}{}, err
	})
	return err
}

// call reads the reference and its Secret, and runs do within the timeout. Its errors name
// the reference and hold no credentials.
func call[T any](ctx context.Context, f *Fetcher, ref source.Ref, do func(context.Context, reference, credentials) (T, error)) (T, error) {
	var zero T
	fail := func(err error) (T, error) { return zero, fmt.Errorf("git %q: %w", redactReference(ref.Ref), err) }
	r, err := f.parse(ref.Ref)
	if err != nil {
		return fail(err)
	}
	with, err := f.readCredentials(ctx, ref.Secret)
	if err != nil {
		return fail(err)
	}
	timeout := f.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	inTime, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := do(inTime, r, with)
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return fail(ctx.Err())
	case errors.Is(inTime.Err(), context.DeadlineExceeded):
		return fail(source.Refuse(source.ErrUnavailable, fmt.Sprintf("the server did not finish within %s", timeout)))
	}
	return fail(err)
}

// parse reads a reference of a kind that this fetcher may follow.
func (f *Fetcher) parse(ref string) (reference, error) {
	r, err := parse(ref)
	if err == nil && r.scheme == schemeHTTP && (f.PlainHTTP == nil || !f.PlainHTTP(r.hostPort())) {
		err = source.Refuse(errors.Join(source.ErrReference, &source.PlainError{Host: r.hostPort()}),
			fmt.Sprintf("http:// is not encrypted: write https://, or allow plain http for %q", r.hostPort()))
	}
	return r, err
}

// connect opens the repository at a location, with the git binary or without.
func (f *Fetcher) connect(ctx context.Context, at location, with credentials) (remote, error) {
	own := f.UserEnv != nil && with.secret == "" && f.Binary != ""
	if !own {
		if err := with.check(at.scheme); err != nil {
			return nil, err
		}
	}
	if f.Binary == "" || !own && at.scheme == schemeSSH && findSSH() == "" {
		return f.dial(at, with)
	}
	dir, err := os.MkdirTemp(f.Scratch, "git-")
	if err != nil {
		return nil, err
	}
	return newCommand(ctx, f, dir, at, with, own)
}

func (f *Fetcher) transfer() int64 {
	if f.Transfer == 0 {
		return DefaultTransfer
	}
	return f.Transfer
}

// get is one commit that is being got.
type get struct {
	f      *Fetcher
	ref    reference
	with   credentials
	verify source.Verify
	// depth is in how many submodules it lies.
	depth int
}

// open resolves, fetches and verifies the commit.
func (g *get) open(ctx context.Context) (*Files, chosen, error) {
	from, err := g.f.connect(ctx, g.ref.location, g.with)
	if err != nil {
		return nil, chosen{}, err
	}
	at, all, err := g.fetch(ctx, from)
	if err != nil {
		from.close()
		return nil, chosen{}, err
	}
	files, err := newFiles(all, at.commit, g.f.Limits.WithDefaults().Bytes, from.close)
	if err != nil {
		return nil, chosen{}, err
	}
	files.module = func(name, commit string) (*Files, error) { return g.openSubmodule(ctx, files, name, commit) }
	return files, at, nil
}

func (g *get) fetch(ctx context.Context, from remote) (chosen, objects, error) {
	at, err := g.ref.choose(ctx, from)
	if err != nil {
		return chosen{}, nil, err
	}
	all, err := from.open(ctx, at, g.verify.Provider != "")
	if err != nil {
		return chosen{}, nil, err
	}
	return at, all, g.f.verify(ctx, g.verify, all, at)
}
