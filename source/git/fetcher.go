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
	// Secrets has the credentials that references name, and the keys to verify signatures with; nil
	// has no Secrets.
	Secrets source.Secrets
	// Limits bound the tree, submodules included.
	Limits source.Limits
	// Timeout bounds each call, all requests together; DefaultTimeout where zero.
	Timeout time.Duration
	// Transfer limits the bytes that a server may send for a repository: compressed, on disk, with
	// the git binary, and uncompressed, in memory, without it. DefaultTransfer where zero.
	Transfer int64
	// Binary is the path of git; "" does without. [FindBinary] finds it.
	Binary string
	// PlainHTTP reports whether http:// references, which are not encrypted, may name a host, and
	// its port if the reference has a port; nil allows no host, not even the loopback. Credentials
	// go there too.
	PlainHTTP func(host string) bool
	// CA is PEM of certificate authorities for every https server. They are trusted beside the
	// authorities of the system, or of the Secret that replaces them.
	CA []byte
	// UserEnv is the environment of the user, as os.Environ has it. Where it is
	// set, references without a Secret are got with the user's own configuration
	// of git and ssh: credential helpers, agent, known_hosts, proxies. It needs
	// the binary. Where it is nil, git and ssh read no configuration at all.
	UserEnv []string
	// Scratch is a folder for temporary repositories and keys, which are removed
	// again; the system's own where "".
	Scratch string
	// Known finds a tree by the id that [Result] gave it; nil finds no tree. A known tree is used
	// without asking the server for files.
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
	// Known is set where the tree comes from Fetcher.Known.
	Known bool
}

// FindBinary returns the path of the git binary, or "" if there is no such binary.
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

// FetchResult works as Fetch does, and also returns the id of the tree in Git. The tree holds the
// module of the folder ref.Path by the rules of package local. The root of the commit stands for
// the root of the project, and symlinks inside the commit are followed wherever they are.
func (f *Fetcher) FetchResult(ctx context.Context, ref source.Ref) (Result, error) {
	return call(ctx, f, ref, func(ctx context.Context, r reference, with credentials) (Result, error) {
		dir := path.Clean(ref.Path)
		if dir != "." {
			if err := source.CheckPath(dir); err != nil {
				return Result{}, err
			}
		}
		g := &get{f: f, ref: r, with: with, verify: ref.Verify}
		files, commit, err := g.open(ctx)
		if err != nil {
			return Result{}, err
		}
		defer files.Close()

		// The origin names the folder, and the pinned reference the commit.
		result, err := f.read(ctx, files, dir)
		if err != nil {
			return Result{}, err
		}
		result.Commit = commit.commit
		result.Tree.Origin = r.url
		if dir != "." {
			result.Tree.Origin += "//" + dir
		}
		result.Tree.Revision, result.Tree.Pinned = commit.revision(), r.at(commit.commit)
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

	// Files outside of the module are not in its id, so a tree with such files has no id.
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
		server, err := f.connect(ctx, r.location, with)
		if err != nil {
			return source.Resolved{}, err
		}
		defer server.close()
		c, err := r.choose(ctx, server)
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
		server, err := f.connect(ctx, r.location, with)
		if err != nil {
			return struct{}{}, err
		}
		defer server.close()
		_, err = server.listRefs(ctx, reference{}.patterns())
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

	// An end of the time is the fault of the server, and a cancelled ctx the wish of the caller.
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
	if err != nil || r.scheme != schemeHTTP {
		return r, err
	}
	if f.PlainHTTP == nil || !f.PlainHTTP(r.hostPort()) {
		err = source.Refuse(errors.Join(source.ErrReference, &source.PlainError{Host: r.hostPort()}),
			fmt.Sprintf("http:// is not encrypted: write https://, or allow plain http for %q", r.hostPort()))
	}
	return r, err
}

// connect opens the repository at a location, with the git binary or without.
func (f *Fetcher) connect(ctx context.Context, server location, with credentials) (remote, error) {
	userConfig := f.UserEnv != nil && with.secret == "" && f.Binary != ""
	if !userConfig {
		if err := with.check(server.scheme); err != nil {
			return nil, err
		}
	}
	lacksSSH := !userConfig && server.scheme == schemeSSH && findSSH() == ""
	if f.Binary == "" || lacksSSH {
		return f.dial(server, with)
	}
	dir, err := os.MkdirTemp(f.Scratch, "git-")
	if err != nil {
		return nil, err
	}
	return newCommand(ctx, f, dir, server, with, userConfig)
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
	server, err := g.f.connect(ctx, g.ref.location, g.with)
	if err != nil {
		return nil, chosen{}, err
	}
	commit, stored, err := g.fetch(ctx, server)
	if err != nil {
		server.close()
		return nil, chosen{}, err
	}
	files, err := newFiles(stored, commit.commit, g.f.Limits.WithDefaults().Bytes, server.close)
	if err != nil {
		return nil, chosen{}, err
	}
	files.module = func(name, commit string) (*Files, error) { return g.openSubmodule(ctx, files, name, commit) }
	return files, commit, nil
}

func (g *get) fetch(ctx context.Context, server remote) (chosen, objects, error) {
	commit, err := g.ref.choose(ctx, server)
	if err != nil {
		return chosen{}, nil, err
	}
	stored, err := server.open(ctx, commit, g.verify.Provider != "")
	if err != nil {
		return chosen{}, nil, err
	}
	return commit, stored, g.f.verify(ctx, g.verify, stored, commit)
}
