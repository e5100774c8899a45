// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package impact

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/local"
	"github.com/ropewalk/ropewalk/source/lock"
)

// target is the module, and the version of it that consumers are rendered with.
type target struct {
	// name is what the user called it.
	name string
	// kind and base are the type of its references and what they have in common: the
	// repository without a version. Path is the folder in it, "" for any.
	kind, base, path string
	// ref is the reference to the new version, "" where candidate stands in for it.
	ref       string
	candidate *source.Tree
	host      host.Host

	mu      sync.Mutex
	fetched map[source.Ref]fetched
}

// fetched is the new version for references with some credentials and signatures.
type fetched struct {
	tree source.Tree
	err  error
}

// baseOf returns the repository of a reference, without the version.
func baseOf(kind, ref string) string {
	ref, _, _ = strings.Cut(ref, "?")
	if kind == reftype.OCI {
		ref, _, _ = strings.Cut(ref, "@")
		slash := strings.LastIndexByte(ref, '/')
		name, _, _ := strings.Cut(ref[slash+1:], ":")
		return ref[:slash+1] + name
	}
	return strings.TrimSuffix(strings.TrimSuffix(ref, "/"), ".git")
}

// splitGit takes the folder off a reference to a Git repository.
func splitGit(text string) (ref, folder string) {
	ref, folder = reftype.SplitFolder(text)
	if folder != "" {
		folder = path.Clean(folder)
	}
	return ref, folder
}

// parseTarget reads MODULE.
func parseTarget(name string, candidate bool) (*target, error) {
	t := &target{name: name, fetched: map[source.Ref]fetched{}}
	rest, git := strings.CutPrefix(name, reftype.Git+":")
	switch {
	case strings.HasPrefix(name, "oci://"):
		t.kind = reftype.OCI
		t.ref = name
	case git:
		t.kind = reftype.Git
		t.ref, t.path = splitGit(rest)
	default:
		return nil, command.Usagef("name it as its consumers refer to it, oci://REGISTRY/REPOSITORY:TAG or git:URL?tag=TAG//FOLDER; \"ropewalk preview\" shows changes within one repository",
			"%s is no module of a registry or of a Git repository", name)
	}
	t.base = baseOf(t.kind, t.ref)
	versioned := strings.TrimSuffix(strings.TrimSuffix(t.ref, "/"), ".git") != t.base
	switch {
	case candidate && versioned:
		return nil, command.Usagef("write "+t.base, "%s names a version, and --with another one", name)
	case !candidate && !versioned && t.kind == reftype.OCI:
		return nil, command.Usagef("write "+t.base+":TAG, or --with DIR for a folder that is not published yet", "%s names no version", name)
	case !candidate && !versioned:
		return nil, command.Usagef("write ?tag=TAG (or branch, semver, commit), or --with DIR for a folder that is not published yet", "%s names no version", name)
	}
	return t, nil
}

// open fetches the new version, or reads the folder that stands in for it.
func (t *target) open(ctx context.Context, a *command.App, flags *command.SourceFlags, folder string) (err error) {
	if folder != "" {
		t.ref = ""
		t.candidate, err = readFolder(ctx, folder)
		return err
	}
	own := *flags
	own.Locked = false // It is the lock of no consumer.
	t.host, err = a.Connect(&own, nil, nil, &lock.Recorder{})
	if err != nil {
		return err
	}
	_, err = t.version(ctx, source.Ref{Type: t.kind, Path: t.path})
	if err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	return nil
}

// readFolder reads the folder of a module, with the module of CUE around it.
func readFolder(ctx context.Context, folder string) (*source.Tree, error) {
	full, err := filepath.Abs(folder)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if info, failed := os.Stat(full); err != nil || failed != nil || !info.IsDir() {
		return nil, command.Usagef(project.NearestFile(folder), "--with %s is no folder of a module", folder)
	}
	root, ok := project.Nearest(full, "cue.mod")
	if !ok {
		root = full
	}
	rel, err := filepath.Rel(root, full)
	if err != nil {
		return nil, &command.EnvironmentError{Err: err}
	}
	tree, err := local.Fetcher{Root: root}.Fetch(ctx, source.Ref{Type: source.TypePath, Ref: filepath.ToSlash(rel)})
	if err != nil {
		return nil, fmt.Errorf("--with %s: %w", folder, err)
	}
	tree.Origin = strings.TrimSuffix(filepath.ToSlash(filepath.Clean(folder)), "/"+tree.Dir)
	return &tree, nil
}

// title returns the new version as people name it.
func (t *target) title(folder string) string {
	if folder != "" {
		return t.base + " as in " + folder
	}
	return t.name
}

// isUsed reports whether a reference leads to the module, in whatever version.
func (t *target) isUsed(r host.Reference) bool {
	return r.Module && r.Type == t.kind && baseOf(r.Type, r.Ref.Ref) == t.base && (t.path == "" && t.candidate == nil || path.Clean("./"+r.Path) == path.Clean("./"+t.path))
}

// uses returns the references that lead to the module.
func (t *target) uses(all []host.Reference) (out []host.Reference) {
	for _, r := range all {
		if t.isUsed(r) {
			out = append(out, r)
		}
	}
	return out
}

// version returns the new version for a reference. It is fetched with the credentials of the
// reference, and must have the signature that the reference requires.
func (t *target) version(ctx context.Context, ref source.Ref) (source.Tree, error) {
	if t.candidate != nil {
		return *t.candidate, nil
	}
	ref.Ref = t.ref
	if t.path != "" {
		ref.Path = t.path // It may be written in another way.
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out, known := t.fetched[ref]
	if known {
		return out.tree, out.err
	}
	out.tree, out.err = t.host.Fetchers[t.kind].Fetch(ctx, ref)
	if ctx.Err() == nil { // What one consumer had no time for, the next one may have.
		t.fetched[ref] = out
	}
	return out.tree, out.err
}

// usesOf returns the uses of the module by one spec.
func usesOf(s render.Spec, digests map[string][]host.Reference) (out []host.Reference) {
	for _, from := range append([]render.Source{s.Source}, s.Policies...) {
		for _, r := range digests[from.Digest] {
			if r.Pos.File == s.Evaluate.Pos.File || len(digests[from.Digest]) == 1 {
				out = append(out, r)
			}
		}
	}
	return slices.CompactFunc(out, func(a, b host.Reference) bool { return a.Pos == b.Pos })
}
