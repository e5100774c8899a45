// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
	"time"

	"cuelang.org/go/mod/modconfig"
	"cuelang.org/go/mod/module"
	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/source"
)

// DefaultTimeout is how long it may take to get one module.
const DefaultTimeout = 2 * time.Minute

// parallel is how many modules are fetched at the same time.
const parallel = 4

// Registry gets modules from registries. It must not be copied or changed after its
// first use, and is safe for concurrent use.
type Registry struct {
	// Config says which registry holds which modules, in the syntax of
	// CUE_REGISTRY: host/repository, prefix=host/repository, several of them
	// with commas between, +insecure for plain HTTP, file:PATH. "" is CUE's
	// central registry.
	Config string
	// Open connects to host/repository; plain says that Config has it without TLS.
	// Required, unless nothing is fetched.
	Open func(ctx context.Context, repository string, plain bool) (Repository, error)
	// Explain makes an error for the user of one of a Repository, with the module and
	// a sentinel of package source. Nil puts the module before it.
	Explain func(err error, name string) error
	// Store caches modules, separately for each registry; nil caches none. What it
	// cannot keep or read costs time, never a module.
	Store Store
	// Offline takes modules from Store only.
	Offline bool
	// RequireLock refuses modules that the lock does not name.
	RequireLock bool
	// Provided are paths of modules, without their major version, that
	// evaluation has by itself; they are not fetched.
	Provided []string
	// Limits bound each module, and the tree with its dependencies.
	Limits source.Limits
	// Timeout is how long it may take to get one module; DefaultTimeout where
	// zero.
	Timeout time.Duration

	once     sync.Once
	resolver *modconfig.Resolver
	broken   error
}

// Dependency is a module that was fetched.
type Dependency struct {
	// Path is the path of the module without its major version.
	Path string
	// Version is the version with its v: v1.2.3.
	Version string
	// Digest is sha256:<hex> of the zip of the module.
	Digest string
	// Origin is where the registry configuration says that the module is:
	// oci://host/repository:tag.
	Origin string
}

// String is the dependency as the key of a lock: path@version.
func (d Dependency) String() string { return d.Path + "@" + d.Version }

// Complete adds the dependencies of the module that holds the package of tree to
// its cue.mod/pkg, as far as files of the module, or of what they import, import them. It gives a new tree with a new digest and the same origin and
// revision, and what it fetched, sorted; the tree itself where there is nothing
// to add. What cue.mod/pkg, gen and usr hold already is part of the tree, and no
// lock is asked about it. Locked maps path@version to the digest that the module
// must have; nil has no lock.
//
// Modules that [Registry.Vendor] wrote are taken from there before anyone else
// is asked. The new tree is the same with them and without: cue.mod/vendor is not
// part of it.
//
// Errors are source.ErrNotFound, ErrUnauthorized, ErrUnavailable, ErrDigest,
// ErrLimit, ErrLocked, and others without a sentinel for module files that
// cannot be completed.
func (r *Registry) Complete(ctx context.Context, tree source.Tree, locked map[string]string) (source.Tree, []Dependency, error) {
	m, v, missing, err := r.needs(tree)
	if err != nil {
		return source.Tree{}, nil, err
	}
	if len(missing) == 0 && v == nil {
		return tree, nil, nil
	}
	if err := v.whole(); err != nil {
		return source.Tree{}, nil, err
	}
	got, err := r.imported(ctx, missing, locked, v, importsOf(tree.FS, m.root))
	if err != nil {
		return source.Tree{}, nil, err
	}
	if err := m.check(got); err != nil {
		return source.Tree{}, nil, err
	}
	out, err := r.join(tree, m.root, v, got)
	if err != nil {
		return source.Tree{}, nil, err
	}
	return out, dependencies(got), nil
}

// Needs returns what [Registry.Complete] may add to a tree, sorted, without any
// request, so that a pull policy is applied first: nothing where the module imports none of
// its dependencies.
// Their Digest is "", and so is the Origin of one that no registry is configured
// for. What lies in cue.mod/vendor is among them.
//
// Errors are those of Complete for module files that cannot be completed, and
// source.ErrReference for a Config that cannot be read.
func (r *Registry) Needs(tree source.Tree) ([]Dependency, error) {
	m, _, missing, err := r.needs(tree)
	if err != nil || !slices.ContainsFunc(missing, importsOf(tree.FS, m.root)) {
		return nil, err
	}
	if _, _, err := r.locate(missing[0]); err != nil {
		return nil, err
	}
	out := make([]Dependency, 0, len(missing))
	for _, mv := range missing {
		out = append(out, Dependency{Path: mv.BasePath(), Version: mv.Version(), Origin: r.origin(mv)})
	}
	return out, nil
}

// needs is the module that holds the package of a tree, what is vendored in it, nil
// where nothing is, and the dependencies that it does not hold.
func (r *Registry) needs(tree source.Tree) (*mainModule, *vendored, []module.Version, error) {
	m, err := readModule(tree.FS, tree.Dir, r.Provided)
	if err != nil {
		return nil, nil, nil, err
	}
	v, err := readVendored(tree.FS, m.root)
	if err != nil || len(m.deps) == 0 {
		return m, v, nil, err
	}
	missing, err := m.missing(filesOf(tree.FS, m.root))
	return m, v, missing, err
}

// join is tree with the archives in the cue.mod/pkg of the module at root, and
// without the folder of v, where there is one.
func (r *Registry) join(tree source.Tree, root string, v *vendored, got []*archive) (source.Tree, error) {
	b := source.Builder{Limits: r.Limits}
	fsys := tree.FS
	if v != nil {
		fsys = without{fsys, path.Join(root, vendorFolder)}
	}
	if err := b.AddFS(fsys); err != nil {
		return source.Tree{}, err
	}
	for _, a := range got {
		for _, f := range a.files {
			if err := b.Add(pkgPath(root, a.version.BasePath(), f.name), f.data); err != nil {
				return source.Tree{}, about(a.version, err)
			}
		}
	}
	out, err := b.Tree(tree.Origin, tree.Revision)
	if err != nil {
		return source.Tree{}, err
	}
	out.Pinned, out.Dir, out.Version = tree.Pinned, tree.Dir, tree.Version
	return out, nil
}

// without is a file system without a folder.
type without struct {
	fs.FS
	folder string
}

// ReadDir implements fs.ReadDirFS.
func (w without) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(w.FS, name)
	return slices.DeleteFunc(slices.Clone(entries), func(e fs.DirEntry) bool { return path.Join(name, e.Name()) == w.folder }), err
}

// imported gets those of the modules that are wanted, or imported by one that is. The others
// are as if the module file did not list them: nothing reads them, and what is wrong with
// them hides nothing.
func (r *Registry) imported(ctx context.Context, versions []module.Version, locked map[string]string, v *vendored, wanted func(module.Version) bool) ([]*archive, error) {
	if !slices.ContainsFunc(versions, wanted) {
		return nil, nil
	}
	got, failed := r.each(ctx, versions, locked, v)
	used := make([]bool, len(versions))
	for changed := true; changed; {
		changed = false
		for i, mv := range versions {
			if used[i] || !wanted(mv) {
				continue
			}
			used[i], changed = true, true
			if failed[i] != nil {
				return nil, errors.Join(failed...) // what it imports is not known
			}
			others := wanted
			wanted = func(mv module.Version) bool { return others(mv) || got[i].imports(mv.BasePath()) }
		}
	}
	var out []*archive
	for i, a := range got {
		if used[i] {
			out = append(out, a)
		}
	}
	return out, nil
}

// importsOf reports whether a file of the module at root may import a package of another
// one.
func importsOf(fsys fs.FS, root string) func(module.Version) bool {
	var own archive
	for _, name := range filesOf(fsys, root) {
		if path.Ext(name) == ".cue" && !subpath.Within(name, vendorFolder) && name != modFile {
			// What cannot be read is reported where the tree is.
			data, _ := fs.ReadFile(fsys, path.Join(root, name))
			own.files = append(own.files, file{name, data})
		}
	}
	return func(mv module.Version) bool { return own.imports(mv.BasePath()) }
}

// all gets the modules, in the order of versions, from v where that has them. It
// reports every module that cannot be had, not only the first.
func (r *Registry) all(ctx context.Context, versions []module.Version, locked map[string]string, v *vendored) ([]*archive, error) {
	got, failed := r.each(ctx, versions, locked, v)
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return got, nil
}

// each gets the modules, or says why not, in the order of versions.
func (r *Registry) each(ctx context.Context, versions []module.Version, locked map[string]string, v *vendored) (got []*archive, failed []error) {
	got, failed = make([]*archive, len(versions)), make([]error, len(versions))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, mv := range versions {
		g.Go(func() error {
			got[i], failed[i] = r.one(ctx, mv, locked, v)
			return nil
		})
	}
	_ = g.Wait()
	return got, failed
}

// one gets a module from what is vendored, the cache or its registry.
func (r *Registry) one(ctx context.Context, mv module.Version, locked map[string]string, v *vendored) (*archive, error) {
	want := locked[mv.String()]
	if want == "" && r.RequireLock {
		return nil, notInLock(mv)
	}
	if err := ctx.Err(); err != nil {
		return nil, about(mv, err)
	}
	if a, err := v.archive(mv); a != nil || err != nil {
		switch {
		case err != nil:
			return nil, err
		case want != "" && want != a.digest:
			return nil, vendoredOtherThanLocked(mv, want, a.digest)
		}
		a.origin = r.origin(mv)
		return a, nil
	}
	a, err := r.stored(ctx, mv)
	switch {
	case err == nil && (want == "" || want == a.digest):
		a.origin = r.origin(mv)
		return a, nil
	case r.Offline && err == nil:
		return nil, otherThanLocked(mv, want, a.digest, "the cache")
	case r.Offline:
		return nil, offline(mv, err)
	}
	a, err = r.fetch(ctx, mv)
	if err != nil {
		return nil, err
	}
	if want != "" && want != a.digest {
		return nil, otherThanLocked(mv, want, a.digest, a.origin)
	}
	r.keep(ctx, a)
	return a, nil
}

// fetch gets a module from its registry, in bounded time.
func (r *Registry) fetch(ctx context.Context, mv module.Version) (*archive, error) {
	at, known, err := r.locate(mv)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, source.Refuse(source.ErrAbsent, fmt.Sprintf("module %q: no registry is configured for it: name one in CUE_REGISTRY", mv.String()))
	}
	bounded, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	data, err := r.zip(bounded, at)
	if err != nil {
		return nil, r.explain(ctx, bounded, mv, originOf(at), err)
	}
	a, err := unpack(mv, data, r.Limits)
	if err != nil {
		return nil, err
	}
	a.origin = originOf(at)
	return a, nil
}

func (r *Registry) timeout() time.Duration { return cmp.Or(r.Timeout, DefaultTimeout) }

// locate is where the configuration has a module, and whether it has it anywhere.
func (r *Registry) locate(mv module.Version) (at modconfig.HostLocation, known bool, err error) {
	r.once.Do(func() { r.resolver, r.broken = resolve(r.Config) })
	if r.broken != nil {
		return at, false, r.broken
	}
	at, known = r.resolver.ResolveToLocation(mv.BasePath(), mv.Version())
	return at, known, nil
}

// origin is locate for people; "" if no registry is configured.
func (r *Registry) origin(mv module.Version) string {
	at, known, err := r.locate(mv)
	if !known || err != nil {
		return ""
	}
	return originOf(at)
}

func dependencies(got []*archive) []Dependency {
	out := make([]Dependency, 0, len(got))
	for _, a := range got {
		out = append(out, Dependency{
			Path: a.version.BasePath(), Version: a.version.Version(), Digest: a.digest, Origin: a.origin,
		})
	}
	return out
}
