// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/argocd"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/source/modules"
)

// Defaults of plugin argocd: the directory is the one that Argo CD's manifests
// give the sockets of plugins.
const (
	pluginSockets = "/home/argocd/cmp-server/plugins"
	pluginHTTP    = ":8085"
	pluginWorkers = 2
	// pluginRemembered is how many bytes of finished evaluations, and again of
	// finished renders, are kept in memory.
	pluginRemembered = 32 << 20
)

// argocdFlags are those of plugin argocd.
type argocdFlags struct {
	registryFlags
	name, dir, http, cacheDir, temporary, askPass string
	allowUnlocked, health                         bool
	workers, renders                              int
	memory, archive                               size
	timeout, request, drain                       time.Duration
}

func (a *app) pluginArgoCD() *cobra.Command {
	var flags argocdFlags
	cmd := &cobra.Command{
		Use:   "argocd",
		Short: "Serve the repo-server of Argo CD, as a sidecar",
		Long: `Serve the repo-server of Argo CD on a socket, as a sidecar that shares the directory
of sockets with it. An Application whose source says plugin: {name: ropewalk} is
rendered as "ropewalk render --dialect argocd" renders its path.

Parameters of the Application: environment, values, set, images and allowEmpty; any
other is the path of an input, as --set takes it. Variables of the Application:
ROPEWALK_ENV, ROPEWALK_SET (a line for each) and ROPEWALK_ALLOW_EMPTY.

References must be pinned, by a digest or a commit, or be in ropewalk.lock: Argo CD
keeps a render for a day and does not see what they lead to.

Everything is evaluated in worker processes. SIGTERM removes the socket, lets requests
go on for the time of --drain, and ends.

` + exitCodes,
		Example: `  ropewalk plugin argocd
  ropewalk plugin argocd --socket-dir run --http 127.0.0.1:8085 --cache-dir cache
  curl localhost:8085/readyz`,
		Args: cobra.NoArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error { return a.runArgoCD(ctx, &flags) }),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&flags.name, "name", argocd.DefaultName, "`NAME` of the plugin; the socket is NAME.sock")
	f.StringVar(&flags.dir, "socket-dir", pluginSockets, "`DIR` of the sockets of plugins")
	f.StringVar(&flags.http, "http", pluginHTTP, "`ADDRESS` of /healthz, /readyz and /metrics; none where empty")
	f.StringVar(&flags.temporary, "temp-dir", "", "`DIR` for what of a repository does not stay in memory (default the system's)")
	f.StringVar(&flags.askPass, "askpass-socket", "", "`SOCKET` of the repo-server to ask for the credentials of a source, for modules\nin the registry that it comes from; none are asked for where empty")
	f.BoolVar(&flags.allowUnlocked, "allow-unlocked", false, "take references that are neither pinned nor in "+lock.Name)
	f.BoolVar(&flags.health, "argocd-health", false, "Argo CD has the health checks that \"render --argocd-cm\" writes")
	f.IntVar(&flags.workers, "workers", pluginWorkers, "evaluate in `N` processes")
	f.IntVar(&flags.renders, "renders", 0, "render `N` requests at once (default twice the workers)")
	flags.memory, flags.archive = evaluate.DefaultMemory, 256<<20
	f.Var(&flags.memory, "memory", "limit of the memory of one evaluation")
	f.Var(&flags.archive, "archive", "limit of the size of a repository, compressed")
	f.DurationVar(&flags.timeout, "timeout", evaluate.DefaultTimeout, "limit of the evaluation of one spec")
	f.DurationVar(&flags.request, "request-timeout", argocd.DefaultTimeout, "limit of a request; that of the repo-server holds where it is less")
	f.DurationVar(&flags.drain, "drain", argocd.DefaultDrain, "how long requests may go on after SIGTERM")
	flags.add(cmd)
	addCacheDir(cmd, &flags.cacheDir)
	return cmd
}

// check refuses what no server can be made of.
func (f *argocdFlags) check() error {
	switch {
	case f.workers < 1:
		return usagef("", "--workers %d: expected 1 or more", f.workers)
	case f.renders < 0:
		return usagef("", "--renders %d: expected 0 or more", f.renders)
	case f.timeout <= 0 || f.request <= 0 || f.drain < 0:
		return usagef("", "--timeout, --request-timeout and --drain: expected more than 0")
	case f.memory < leastMemory:
		return usagef("", "--memory %s: expected at least 32MiB", &f.memory)
	}
	return nil
}

func (a *app) runArgoCD(ctx context.Context, flags *argocdFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	a.listen() // Workers are processes of our own.
	var said sync.Mutex
	report := func(err error) {
		if err != nil {
			said.Lock()
			defer said.Unlock()
			a.note("ropewalk: %v\n", err)
		}
	}
	store := sync.OnceValues(func() (*cache.Store, error) { return openCache(flags.cacheDir) })
	connect, err := flags.connect(store, report)
	if err != nil {
		return err
	}
	pool, err := evaluate.NewPool(evaluate.PoolOptions{
		Size: flags.workers, Schemas: evaluateOptions().Schemas, Memory: int64(flags.memory), Timeout: flags.timeout,
	})
	if err != nil {
		return &environmentError{err: err}
	}
	defer func() { report(pool.Close()) }()
	renders := flags.renders
	if renders == 0 {
		renders = 2 * flags.workers
	}
	version, stores := rememberedRenders(store, report)
	server := argocd.New(argocd.Options{
		Name: flags.name, Dir: flags.dir, Temporary: flags.temporary,
		Renderer: render.Renderer{Evaluator: evaluate.Remember(pool, pluginRemembered)},
		Stores:   stores, Version: version, Connect: connect,
		AllowUnlocked: flags.allowUnlocked, HealthConfigured: flags.health,
		Renders: renders, Parallel: flags.workers,
		Archive: argocd.Limits{Compressed: int64(flags.archive)},
		Limits:  evaluate.Limits{Timeout: flags.timeout, Memory: int64(flags.memory)},
		Timeout: flags.request, Drain: flags.drain, Report: report, AskPass: argocd.AskPass(flags.askPass),
	})
	return serveWith(ctx, server, flags.http)
}

// rememberedRenders is where finished renders are kept: in memory, and on disk
// where the build can be told from others.
func rememberedRenders(open func() (*cache.Store, error), report func(error)) (version string, stores []rendercache.Store) {
	r := currentRelease()
	stores = []rendercache.Store{rendercache.Memory{Entries: cache.NewMemory[[]byte](pluginRemembered)}}
	if r.Modified || r.Revision == "" && r.Version == "(devel)" {
		return r.Version, stores
	}
	disk, err := open()
	if err != nil {
		report(err)
		return r.Version + " " + r.Revision, stores
	}
	return r.Version + " " + r.Revision, append(stores, disk)
}

// serveWith serves the socket, and health and metrics at an address, until ctx ends.
func serveWith(ctx context.Context, server *argocd.Server, address string) error {
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if address != "" {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			return &environmentError{err: err, hint: "use --http"}
		}
		web := &http.Server{Handler: server.Handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
		defer func() { _ = web.Close() }()
		go func() {
			if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
				cancel(err)
			}
		}()
	}
	err := server.Serve(ctx)
	select {
	case failure := <-failed:
		err = errors.Join(err, failure)
	default:
	}
	if err != nil {
		return &environmentError{err: err}
	}
	return nil
}

// connect makes what fetches the modules of a request.
func (f *argocdFlags) connect(store func() (*cache.Store, error), report func(error)) (func(argocd.Connection) (host.Host, error), error) {
	ca, err := f.authorities()
	if err != nil {
		return nil, err
	}
	registries := sync.OnceValues(f.registries)
	return func(c argocd.Connection) (host.Host, error) {
		registries := registries
		if c.Source != nil {
			// Logins are remembered by Registries, and these are of one request.
			registries = func() (*remote.Registries, error) { return f.registriesOf(c.Source) }
		}
		o := fetch.Options{
			Registries: registries, Store: store, Scope: c.Scope, Lock: c.Lock, Mode: c.Mode, Report: report,
			Git: func() git.Fetcher {
				return git.Fetcher{Binary: git.FindBinary(), UserEnv: os.Environ(), PlainHTTP: f.plain, CA: ca}
			},
			Modules: func() *modules.Registry {
				return moduleRegistry(&sourceFlags{registryFlags: f.registryFlags, locked: c.Mode == lock.Frozen}, ca)
			},
		}
		return o.Connect(host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}), nil
	}, nil
}

// registriesOf connects to registries with the credentials of a source for the one
// that it comes from, and as usual to others.
func (f *argocdFlags) registriesOf(own *argocd.Source) (*remote.Registries, error) {
	r, err := f.registries()
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(own.Repository)
	if err != nil || at.Scheme != "oci" {
		return r, nil //nolint:nilerr // it is the URL of a Git repository
	}
	usual := r.Credentials
	r.Credentials = remote.CredentialsFunc(func(ctx context.Context, host string) (auth.Credential, error) {
		if !strings.EqualFold(host, at.Host) {
			return usual.Credential(ctx, host)
		}
		user, password, err := own.Credentials(ctx)
		if err != nil {
			return auth.EmptyCredential, err
		}
		return auth.Credential{Username: user, Password: password}, nil
	})
	return r, nil
}
