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

// DefaultTimeout bounds the download of one module.
const DefaultTimeout = 2 * time.Minute

// parallel limits the modules that are fetched at the same time.
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
	// Store caches modules, separately for each registry; nil disables caching. A failure of the
	// cache costs time, never a module.
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
	// Timeout bounds the download of one module; DefaultTimeout where zero.
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
	// Origin locates the module by the registry configuration: oci://host/repository:tag.
	Origin string
}

// String returns the dependency as the key of a lock: path@version.
func (d Dependency) String() string { return d.Path + "@" + d.Version }

// Complete adds the dependencies of the module that holds the package of tree to its
// cue.mod/pkg. It adds those that files of the module import, or that an added module
// imports. It returns a new tree with a new digest and the same origin and revision, and what
// it added, sorted; the tree itself where there is nothing to add. What cue.mod/pkg, gen and
// usr hold already is part of the tree, and is not compared with a lock. Locked maps
// path@version to the digest that the module must have; nil means that there is no lock.
//
// Modules that [Registry.Vendor] wrote are taken from there, before the cache and the
// registry. The new tree is the same with them and without: cue.mod/vendor is not part of it.
//
// Errors are source.ErrNotFound, ErrUnauthorized, ErrUnavailable, ErrDigest, ErrLimit,
// ErrLocked, and others without a sentinel for module files that cannot be completed.
func (r *Registry) Complete(ctx context.Context, tree source.Tree, locked map[string]string) (source.Tree, []Dependency, error) {
	needed, err := r.readNeeded(tree)
	if err != nil {
		return source.Tree{}, nil, err
	}
	m, v := needed.module, needed.vendored
	if len(needed.missing) == 0 && v == nil {
		return tree, nil, nil
	}
	if err := v.checkWhole(); err != nil {
		return source.Tree{}, nil, err
	}
	got, err := r.fetchImported(ctx, needed.missing, locked, v, importsOf(tree.FS, m.root))
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

// Needs returns what [Registry.Complete] may add to a tree, sorted. It sends no request, so
// that a pull policy is applied first. It returns nothing where the module imports none of
// its dependencies. The Digest of each is "", and so is the Origin of one that no registry is
// configured for. What lies in cue.mod/vendor is among them.
//
// Errors are the same as for Complete for module files that cannot be completed, and
// source.ErrReference for a Config that cannot be read.
func (r *Registry) Needs(tree source.Tree) ([]Dependency, error) {
	needed, err := r.readNeeded(tree)
	if err != nil || !slices.ContainsFunc(needed.missing, importsOf(tree.FS, needed.module.root)) {
		return nil, err
	}
	if _, _, err := r.locate(needed.missing[0]); err != nil {
		return nil, err
	}
	out := make([]Dependency, 0, len(needed.missing))
	for _, mv := range needed.missing {
		out = append(out, Dependency{Path: mv.BasePath(), Version: mv.Version(), Origin: r.origin(mv)})
	}
	return out, nil
}

// needed holds the input of [Registry.Complete].
type needed struct {
	module   *mainModule      // the module that holds the package of the tree
	vendored *vendored        // what is vendored in it; nil where nothing is
	missing  []module.Version // the dependencies that it does not hold
}

// readNeeded reads the module that holds the package of a tree, and what that module needs.
func (r *Registry) readNeeded(tree source.Tree) (needed, error) {
	m, err := readModule(tree.FS, tree.Dir, r.Provided)
	if err != nil {
		return needed{}, err
	}
	out := needed{module: m}
	out.vendored, err = readVendored(tree.FS, m.root)
	if err != nil || len(m.deps) == 0 {
		return out, err
	}
	out.missing, err = m.listMissing(filesOf(tree.FS, m.root))
	return out, err
}

// join returns tree with the archives in the cue.mod/pkg of the module at root, and without the
// folder of v, unless v is nil.
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

// fetchImported gets the modules that are wanted, and those that one of them imports. The
// other modules are ignored as if the module file did not list them: nothing reads them, and
// their faults hide nothing.
func (r *Registry) fetchImported(
	ctx context.Context, versions []module.Version, locked map[string]string, v *vendored, wanted func(module.Version) bool,
) ([]*archive, error) {
	if !slices.ContainsFunc(versions, wanted) {
		return nil, nil
	}
	got, failed := r.fetchEach(ctx, versions, locked, v)

	// A used module may import further ones, so the search is repeated until nothing changes.
	used := make([]bool, len(versions))
	for changed := true; changed; {
		changed = false
		for i, mv := range versions {
			if used[i] || !wanted(mv) {
				continue
			}
			used[i] = true
			changed = true
			if failed[i] != nil {
				return nil, errors.Join(failed...) // what it imports is not known
			}
			others := wanted
			wanted = func(mv module.Version) bool { return others(mv) || got[i].imports(mv.BasePath()) }
		}
	}

	// The order of versions is kept.
	var out []*archive
	for i, a := range got {
		if used[i] {
			out = append(out, a)
		}
	}
	return out, nil
}

// importsOf returns a function that reports whether a file of the module at root may import a
// package of another module.
func importsOf(fsys fs.FS, root string) func(module.Version) bool {
	var main archive
	for _, name := range filesOf(fsys, root) {
		if path.Ext(name) == ".cue" && !subpath.Within(name, vendorFolder) && name != modFile {
			// What cannot be read is reported where the tree is.
			data, _ := fs.ReadFile(fsys, path.Join(root, name))
			main.files = append(main.files, file{name, data})
		}
	}
	return func(mv module.Version) bool { return main.imports(mv.BasePath()) }
}

// fetchAll gets the modules, in the order of versions, from v where that has them. It reports
// every module that cannot be had, not only the first.
func (r *Registry) fetchAll(ctx context.Context, versions []module.Version, locked map[string]string, v *vendored) ([]*archive, error) {
	got, failed := r.fetchEach(ctx, versions, locked, v)
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return got, nil
}

// fetchEach gets the modules, and returns for each of them the archive or the error, in the
// order of versions.
func (r *Registry) fetchEach(
	ctx context.Context, versions []module.Version, locked map[string]string, v *vendored,
) (got []*archive, failed []error) {
	got, failed = make([]*archive, len(versions)), make([]error, len(versions))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, mv := range versions {
		g.Go(func() error {
			got[i], failed[i] = r.fetchOne(ctx, mv, locked, v)
			return nil
		})
	}
	_ = g.Wait()
	return got, failed
}

// fetchOne gets a module from what is vendored, the cache or its registry, in this order.
func (r *Registry) fetchOne(ctx context.Context, mv module.Version, locked map[string]string, v *vendored) (*archive, error) {
	want := locked[mv.String()]
	if want == "" && r.RequireLock {
		return nil, errNotInLock(mv)
	}
	if err := ctx.Err(); err != nil {
		return nil, about(mv, err)
	}

	// What is vendored must be what is locked, and is never replaced silently.
	if a, err := v.readArchive(mv); a != nil || err != nil {
		switch {
		case err != nil:
			return nil, err
		case want != "" && want != a.digest:
			return nil, errVendoredOtherThanLocked(mv, want, a.digest)
		}
		a.origin = r.origin(mv)
		return a, nil
	}

	// A cached module that is not the locked one is fetched again.
	a, err := r.readStored(ctx, mv)
	switch {
	case err == nil && (want == "" || want == a.digest):
		a.origin = r.origin(mv)
		return a, nil
	case r.Offline && err == nil:
		return nil, errOtherThanLocked(mv, want, a.digest, "the cache")
	case r.Offline:
		return nil, errOffline(mv, err)
	}

	// The registry has the last word, and may have other content than the lock.
	a, err = r.fetch(ctx, mv)
	if err != nil {
		return nil, err
	}
	if want != "" && want != a.digest {
		return nil, errOtherThanLocked(mv, want, a.digest, a.origin)
	}
	r.keep(ctx, a)
	return a, nil
}

// fetch gets a module from its registry, in bounded time.
func (r *Registry) fetch(ctx context.Context, mv module.Version) (*archive, error) {
	location, found, err := r.locate(mv)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, source.Refuse(source.ErrAbsent, fmt.Sprintf(
			"module %q: no registry is configured for it: name one in CUE_REGISTRY", mv.String()))
	}
	bounded, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	data, err := r.fetchZip(bounded, location)
	if err != nil {
		return nil, r.explain(ctx, bounded, mv, originOf(location), err)
	}
	a, err := unpack(mv, data, r.Limits)
	if err != nil {
		return nil, err
	}
	a.origin = originOf(location)
	return a, nil
}

func (r *Registry) timeout() time.Duration { return cmp.Or(r.Timeout, DefaultTimeout) }

// locate returns where the configuration has a module; false where it has it nowhere.
func (r *Registry) locate(mv module.Version) (location modconfig.HostLocation, found bool, err error) {
	r.once.Do(func() { r.resolver, r.broken = resolve(r.Config) })
	if r.broken != nil {
		return location, false, r.broken
	}
	location, found = r.resolver.ResolveToLocation(mv.BasePath(), mv.Version())
	return location, found, nil
}

// origin returns where the configuration has a module, for messages; "" if no registry is
// configured.
func (r *Registry) origin(mv module.Version) string {
	location, found, err := r.locate(mv)
	if !found || err != nil {
		return ""
	}
	return originOf(location)
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
