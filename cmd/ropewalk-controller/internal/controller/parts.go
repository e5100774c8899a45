// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/internal/telemetry"
	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/plugin/flux"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// renderPending limits the finished renders that wait for the disk, in bytes.
const renderPending = 8 << 20

// parts render, fetch and cache for all Transforms.
type parts struct {
	shares      shares
	pool        *worker.Pool
	components  *worker.Components
	evaluations *resultcache.Results
	renders     *lru.Cache[string, []byte]
	trees       *lru.Cache[string, source.Tree]
	// disk is nil without a --cache-dir, and writer writes to it.
	disk   *cache.Store
	writer *rendercache.WriteBehind
	// policy is nil without a --pull-policy.
	policy *pullpolicy.File
	ca     []byte
	// tracer makes the spans of --otlp-endpoint; nil without it. flush exports the last ones.
	tracer trace.TracerProvider
	flush  func()
	// report gets errors that do not end anything.
	report func(error)
}

// newParts makes the parts. After an error, nothing is left running.
func (f *flags) newParts(log logr.Logger) (*parts, error) {
	// Divide the memory between the process and its workers.
	divided, err := divide(int64(f.total), f.workers)
	if err != nil {
		return nil, err
	}
	p := &parts{shares: divided, report: func(err error) {
		if err != nil {
			log.Error(err, "continuing without it")
		}
	}}

	// Open files and folders, and probe folders that will be written to.
	p.ca, err = authorities(f.ca)
	if err != nil {
		return nil, err
	}
	if err := p.openDisk(f.cacheDir); err != nil {
		return nil, err
	}
	if f.storagePath != "" {
		if err := process.ProbeDir(f.storagePath); err != nil {
			return nil, fmt.Errorf("--storage-path: %w", err)
		}
	}
	if f.pullPolicy != "" {
		p.policy, err = pullpolicy.Open(f.pullPolicy, p.report)
		if err != nil {
			return nil, fmt.Errorf("--pull-policy: %w", err)
		}
	}

	// Start the workers.
	options := worker.Options{
		Size:    f.workers,
		Schemas: process.EvaluateOptions().Schemas,
		Memory:  divided.worker,
		Timeout: f.timeout,
	}
	p.pool, err = worker.NewPool(options)
	if err != nil {
		return nil, err
	}
	p.components = process.Components(p.pool, options)

	// Trace requests, and cache results in memory.
	p.tracer, p.flush = telemetry.Open(f.otlp, flux.Name, process.CurrentRelease().Version, p.report)
	p.evaluations = resultcache.New(divided.evaluations)
	p.renders = lru.New[string, []byte](divided.renders)
	p.trees = lru.New[string, source.Tree](divided.trees)
	return p, nil
}

// openDisk opens the cache. A cache that the flags name and that does not exist is a mistake, which
// would otherwise be noticed as a slow controller.
func (p *parts) openDisk(dir string) error {
	if dir == "" {
		return nil
	}
	disk, err := cache.Open(dir, cache.StoreOptions{})
	if err := errors.Join(err, process.ProbeDir(dir)); err != nil {
		return fmt.Errorf("--cache-dir: %w", err)
	}
	p.disk = disk
	p.writer = &rendercache.WriteBehind{Next: disk, MaxPending: renderPending, Failed: p.report}
	return nil
}

// close ends the workers, and returns when the disk has every render.
func (p *parts) close() error {
	err := errors.Join(p.components.Close(), p.pool.Close())
	if p.writer != nil {
		p.writer.Wait()
	}
	p.flush()
	return err
}

// stores returns the caches of finished renders: also the disk if the build can be distinguished
// from others.
func (p *parts) stores() (version string, stores []rendercache.Store) {
	r := process.CurrentRelease()
	stores = []rendercache.Store{rendercache.MemoryStore{Entries: p.renders}}
	if identity := r.Identity(); identity != "" && p.writer != nil {
		return identity, append(stores, p.writer)
	}
	// A render in memory was made by this very process.
	return r.String(), stores
}

// options returns the options of the reconciler, except options that a manager makes.
func (f *flags) options(p *parts) flux.Options {
	version, stores := p.stores()
	o := flux.Options{
		Renderer:              render.Renderer{Evaluator: p.components},
		Workers:               f.workers,
		Evaluations:           p.evaluations,
		Stores:                stores,
		Version:               version,
		Limits:                evaluate.Limits{Timeout: f.timeout, Memory: p.shares.worker},
		Parallel:              f.workers,
		Working:               p.shares.working,
		Modules:               f.modules(p),
		WorkloadIdentity:      f.gates[flux.GateWorkloadIdentity],
		DefaultServiceAccount: f.defaultAccount,
		NoCrossNamespaceRefs:  f.acl.NoCrossNamespaceRefs,
		ArgoCD:                flux.ArgoCD{Namespaces: f.argocdNamespaces, Projects: f.argocdProjects},
		Concurrent:            f.concurrent,
		RateLimiter:           runtimectrl.GetRateLimiter(f.retry),
		DependencyRequeue:     f.requeueDependency,
		FetchTimeout:          f.fetching,
		PlanCacheBytes:        p.shares.plans,
		Tracer:                p.tracer,
	}
	if f.serves() {
		o.Storage = &flux.Storage{Path: f.storagePath, Address: f.storageAddress, URL: f.storageAdvertised, TTL: f.retention}
	}
	return o
}

// serves reports whether this controller serves artifacts itself.
func (f *flags) serves() bool { return f.storagePath != "" && f.gates[gateExternalArtifact] }

// modules returns the configuration of the sources of modules.
func (f *flags) modules(p *parts) flux.Modules {
	registries := f.registries(p.ca, false)
	m := flux.Modules{
		Embedded: cue.Module, EmbeddedNames: cue.Names(),
		Registries: func(plain bool) (*remote.Registries, error) { return f.registries(p.ca, plain), nil },
		Git: func() git.Fetcher {
			return git.Fetcher{Binary: git.FindBinary(), UserEnv: os.Environ(), PlainHTTP: f.plain, CA: p.ca}
		},
		Dependencies: func() *modules.Registry {
			r := fetch.ModuleRegistry(f.cueRegistry, func() (*remote.Registries, error) { return registries, nil })
			r.Provided = []string{cue.SchemaPath}
			if p.disk != nil {
				r.Store = p.disk
			}
			return r
		},
		Trees: p.trees, Signed: fetch.NewSigned(), SourceHost: f.sourceHost, Report: p.report,
	}
	if p.disk != nil {
		m.Store = func() (*cache.Store, error) { return p.disk, nil }
	}
	if p.policy != nil {
		m.Policy = p.policy.Current
	}
	return m
}

// registries connects to registries, by http for all hosts if plain is true.
func (f *flags) registries(ca []byte, plain bool) *remote.Registries {
	r := &remote.Registries{
		Credentials: remote.DockerConfig(f.dockerConfig), PlainHTTP: f.plain, Proxy: http.ProxyFromEnvironment,
		UserAgent: flux.Name + "/" + process.CurrentRelease().Version,
	}
	if plain {
		r.PlainHTTP = func(string) bool { return true }
	}
	if len(ca) > 0 {
		r.CA = map[string][]byte{"": ca}
	}
	return r
}

// plain reports whether a host, with its port, is one of --plain-http.
func (f *flags) plain(host string) bool {
	return slices.ContainsFunc(f.plainHTTP, func(given string) bool { return strings.EqualFold(given, host) })
}

// authorities returns the certificate authorities in files, in PEM.
func authorities(files []string) ([]byte, error) {
	var out []byte
	for _, name := range files {
		data, err := os.ReadFile(name) //nolint:gosec // who runs the controller names it
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(data) {
			return nil, errors.New("--ca " + name + ": the file contains no PEM certificate")
		}
		out = append(append(out, data...), '\n')
	}
	return out, nil
}
