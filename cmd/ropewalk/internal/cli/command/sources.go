// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
	"github.com/ropewalk/ropewalk/source/strictyaml"
)

// SourceFlags say how modules are fetched.
type SourceFlags struct {
	RegistryFlags
	Locked   bool
	Offline  bool
	pull     bool
	secrets  []string
	policy   string
	CacheDir string
	// Plan pins every reference, in place of the lock; errors call it PlanName.
	Plan     *lock.File
	PlanName string
	// Confined only fetches modules, and dependencies of CUE modules, that Plan has. Embedded
	// modules need no entry.
	Confined bool
	// Policy is the text of the pull policy; nil reads the file of --pull-policy.
	Policy []byte
	// Lock replaces the lock on disk; nil reads the lock on disk.
	Lock *lock.File
	// Record gets the modules that were used, and leaves the lock as it is.
	Record *lock.Recorder
	// Replace maps references to trees that are used without fetching them.
	Replace map[source.Ref]source.Tree
}

// Add adds the flags to a command.
func (s *SourceFlags) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&s.Locked, "locked", false, "refuse modules that are not in "+lock.Name+", or resolve to another revision now")
	f.BoolVar(&s.Offline, "offline", false, "contact no server: take modules from the cache and from "+lock.Name)
	f.BoolVar(&s.pull, "pull", false, "ask the servers again what tags and branches lead to; an answer is otherwise trusted for\nfive minutes")
	addTexts(f, &s.secrets, "secrets", "", "`FILE` of Secrets (manifests) that pullSecretRef and verify may name; may be\nrepeated; it is never rendered")
	f.StringVar(&s.policy, "pull-policy", "", "`FILE` of a PullPolicy: where modules may come from, and which must be signed")
	s.RegistryFlags.Add(cmd)
	AddCacheDir(cmd, &s.CacheDir)
	group(f, groupSources, "locked", "offline", "pull", "secrets", "pull-policy", "plain-http", "ca", "cache-dir")
}

// AddCacheDir adds --cache-dir.
func AddCacheDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "cache-dir", "", "`DIR` of the cache (default $ROPEWALK_CACHE, or ropewalk in the user's own)")
}

// CacheVariable names the environment variable with the directory of the cache.
const CacheVariable = "ROPEWALK_CACHE"

// cacheFolder returns the directory of the cache.
func cacheFolder(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if dir := os.Getenv(CacheVariable); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", &EnvironmentError{Err: fmt.Errorf("no directory for a cache is known: %w", err), Hint: "use --cache-dir"}
	}
	return filepath.Join(dir, "ropewalk"), nil
}

// Connect returns the host with its fetchers, for paths in files. If files is nil, the paths are on
// disk. Nothing is opened before a module needs it. If record is not nil, it gets the modules that
// were used, for a new lock. Mistakes in the files of Secrets, of the pull policy and of the lock are
// object.Errors. The host then fetches nothing, and [WithBroken] leaves out the errors of modules
// that were not fetched.
func (a *App) Connect(s *SourceFlags, files fs.FS, paths []string, record *lock.Recorder) (host.Host, error) {
	h := host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}

	// Collect the mistakes in files, so that all of them are reported at once.
	var broken object.Errors
	secrets, mistakes, err := readSecrets(s.secrets)
	if err != nil {
		return h, err
	}
	broken = append(broken, mistakes...)
	ca, err := s.Authorities()
	if err != nil {
		return h, err
	}
	policy, err := s.pullPolicy()
	if mistakes, ok := FileMistakes(err); ok {
		broken = append(broken, mistakes...)
	} else if err != nil {
		return h, err
	}

	// Open servers and the cache only when a module needs them.
	registries := sync.OnceValues(s.Registries)
	o := fetch.Options{
		Registries: registries, Secrets: secrets, Offline: s.Offline, Record: cmp.Or(record, s.Record),
		Guard: pullpolicy.Guard{Policy: policy}, Signed: fetch.NewSigned(),
		Git: func() git.Fetcher {
			return git.Fetcher{Binary: git.FindBinary(), UserEnv: os.Environ(), PlainHTTP: s.Plain, CA: ca}
		},
		Modules: func() *modules.Registry { return ModuleRegistry(s, registries) },
		Store:   sync.OnceValues(func() (*cache.Store, error) { return OpenCache(s.CacheDir) }),
		Report: func(err error) {
			if err != nil {
				a.Note("ropewalk: cache: %v\n", err)
			}
		},
	}

	// Read the lock, which a new lock does not need.
	file, found, err := s.projectLock(project.Options{FS: files, Args: paths})
	err = lockError(err)
	if err != nil && record == nil {
		mistakes, ok := FileMistakes(err)
		if !ok {
			return h, err
		}
		broken = append(broken, mistakes...)
	}
	if len(broken) > 0 {
		return withoutFetching(h), broken.Sorted()
	}

	// A plan takes the place of the lock.
	o.Lock, o.Mode = file, s.mode(record != nil)
	if s.Plan != nil {
		o.Lock = *s.Plan
		o.Mode = lock.Frozen
		o.Plan = s.PlanName
		found = true
	}
	if s.Confined {
		o.Mode = lock.Confined
	}

	// Refuse flags that exclude each other.
	if s.Locked && !found {
		return h, Usagef("run \"ropewalk lock\"", "--locked: there is no %s", lock.Name)
	}
	if s.pull && s.Offline {
		return h, Usagef("leave one of them out", "--pull and --offline exclude each other")
	}
	if s.pull || o.Mode == lock.Enforce || o.Mode == lock.Update {
		o.TTL = -1 // An answer of five minutes ago proves nothing.
	}
	return s.withReplacements(o.Connect(h)), nil
}

// projectLock returns the lock of a project. The result found is false if the project has no lock.
func (s *SourceFlags) projectLock(opts project.Options) (file lock.File, found bool, err error) {
	if s.Lock != nil {
		return *s.Lock, true, nil
	}
	return project.Lock(opts)
}

// withReplacements returns h with fetchers that know Replace.
func (s *SourceFlags) withReplacements(h host.Host) host.Host {
	if len(s.Replace) == 0 {
		return h
	}
	for name, next := range h.Fetchers {
		h.Fetchers[name] = source.FetcherFunc(func(ctx context.Context, ref source.Ref) (source.Tree, error) {
			if tree, ok := s.Replace[ref]; ok {
				return tree, nil
			}
			return next.Fetch(ctx, ref)
		})
	}
	return h
}

// PolicyFile returns the file of --pull-policy, or "" without the flag.
func (s *SourceFlags) PolicyFile() string { return s.policy }

// pullPolicy returns the policy that Policy holds, or the policy on disk. A nil policy allows all.
func (s *SourceFlags) pullPolicy() (*pullpolicy.Policy, error) {
	if s.Policy != nil {
		return pullpolicy.Parse(s.policy, s.Policy)
	}
	file, err := OpenPolicy("--pull-policy", s.policy, nil)
	return file.Current(), err
}

// OpenPolicy returns the pull policy in a file that a flag names. It returns nil, which allows all,
// if the flag names no file. Errors of the file at a later time go to report.
func OpenPolicy(flag, name string, report func(error)) (*pullpolicy.File, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // no policy allows all
	}
	policy, err := pullpolicy.Open(name, report)
	var mistakes *strictyaml.Error
	switch {
	case errors.As(err, &mistakes):
		return nil, err
	case errors.Is(err, pullpolicy.ErrPolicy):
		return nil, Usagef("", "%s: %v", flag, err)
	case err != nil:
		return nil, &EnvironmentError{Err: err}
	}
	return policy, nil
}

// WithOptions adds to each error of fetching the option that may help, and returns err.
func WithOptions(err error) error {
	var mistakes object.Errors
	if errors.As(err, &mistakes) {
		for _, m := range mistakes {
			m.Hint = cmp.Or(m.Hint, OptionFor(m.Err))
		}
	}
	return err
}

// OptionFor returns the option that may help against an error of fetching.
func OptionFor(err error) string {
	var plain *source.PlainError
	switch {
	case errors.As(err, &plain):
		return "--plain-http " + plain.Host
	case errors.Is(err, source.ErrHostKey) && strings.Contains(err.Error(), "authority"):
		return "--ca FILE"
	}
	return ""
}

func (s *SourceFlags) mode(update bool) lock.Mode {
	switch {
	case update:
		return lock.Update
	case s.Offline && s.Locked:
		return lock.Frozen
	case s.Locked:
		return lock.Enforce
	}
	return lock.Prefer
}

// ModuleRegistry returns where dependencies of CUE modules come from: from the registries of
// CUE_REGISTRY, as for CUE's own command, with the logins of docker.
func ModuleRegistry(s *SourceFlags, registries func() (*remote.Registries, error)) *modules.Registry {
	r := fetch.ModuleRegistry(os.Getenv("CUE_REGISTRY"), registries)
	r.Offline = s.Offline
	r.RequireLock = s.Locked || s.Confined
	r.Provided = []string{cue.SchemaPath}
	return r
}

// OpenCache opens the cache on disk that the flag names, or the default cache.
func OpenCache(flag string) (*cache.Store, error) {
	dir, err := cacheFolder(flag)
	if err != nil {
		return nil, err
	}
	return cache.Open(dir, cache.StoreOptions{})
}

// LockFile returns the path of the lock of a project: beside its ropewalk.yaml, or in the directory
// that the first path names.
func LockFile(paths []string) string {
	dir := "."
	if len(paths) > 0 && paths[0] != "-" {
		dir = paths[0]
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, lock.Name)
}

// ReadLock reads a lock. The result found is false if the file does not exist.
func ReadLock(name string) (file lock.File, found bool, err error) {
	data, err := ReadRegular(name)
	if errors.Is(err, fs.ErrNotExist) {
		return lock.File{}, false, nil
	}
	found = err == nil
	if found {
		file, err = lock.Parse(name, data)
	}
	return file, found, lockError(err)
}

// lockError returns the error of a lock that cannot be used.
func lockError(err error) error {
	if _, ok := FileMistakes(err); ok || err == nil {
		return err
	}
	return &EnvironmentError{Err: err}
}

// readSecrets reads files of Secrets, and returns the mistakes in them apart from other errors.
func readSecrets(files []string) (secrets source.Secrets, mistakes object.Errors, err error) {
	byName := map[string]map[string][]byte{}
	for _, name := range files {
		data, err := ReadRegular(name)
		var path *fs.PathError
		if errors.As(err, &path) {
			mistakes = append(mistakes, &object.Error{Stage: object.StageResolve, Pos: object.Pos{File: name}, Err: path.Err})
			continue
		} else if err != nil {
			return nil, nil, err
		}
		found, err := host.Secrets(spec.File{Name: name, Data: data})
		mistakes = append(mistakes, object.AsErrors(err, object.StageResolve)...)
		for n, s := range found {
			byName[n] = s
		}
	}
	return source.SecretsFunc(func(_ context.Context, name string) (map[string][]byte, error) {
		if s, ok := byName[name]; ok {
			return s, nil
		}
		return nil, source.Refuse(source.ErrNotFound, fmt.Sprintf("no Secret is named %q: pass its manifest with --secrets FILE", name))
	}), mistakes, nil
}
