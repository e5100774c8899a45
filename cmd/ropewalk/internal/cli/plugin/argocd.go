// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/internal/telemetry"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/plugin/argocd"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// Defaults of plugin argocd: the directory is the one that Argo CD's manifests
// give the sockets of plugins.
const (
	pluginSockets = "/home/argocd/cmp-server/plugins"
	pluginHTTP    = ":8085"
	pluginWorkers = 2
)

// ArgoCDFlags are those of plugin argocd.
type ArgoCDFlags struct {
	command.RegistryFlags
	name, dir, http, cacheDir, temporary, askPass string
	otlp                                          string
	Config, Secrets, GitCredentials               string
	allowUnlocked, health                         bool
	workers, renders                              int
	total, memory, archive                        process.Size
	timeout, request, read, drain                 time.Duration
}

// ArgoCD returns the command plugin argocd.
func (a Commands) ArgoCD() *cobra.Command {
	var flags ArgoCDFlags
	cmd := &cobra.Command{
		Use:   "argocd",
		Short: "Serve the repo-server of Argo CD, as a sidecar",
		Long: `Serve the repo-server of Argo CD on a socket, as a sidecar that shares the directory
of sockets with it. An Application whose source says plugin: {name: ropewalk} is
rendered as "ropewalk render --dialect argocd" renders its path.

Parameters of the Application: environment, preview, values, set, images and
allowEmpty; any other is the path of an input, as --set takes it. Variables of the
Application: ROPEWALK_ENV, ROPEWALK_PREVIEW, ROPEWALK_SET (a line for each) and
ROPEWALK_ALLOW_EMPTY.

References must be pinned, by a digest or a commit, or be in ropewalk.lock: Argo CD
keeps a render for a day and does not see what they lead to.

Registries and Git servers are accessed with the docker configuration and the Git
configuration of the user that runs the server, and with --git-credentials. A
pullSecretRef names a Secret of the application's project, in --secrets. Which modules
may be used at all, and which must be signed, says --config.

Everything is evaluated in worker processes, which share --memory-total with the
server. On SIGTERM, it removes the socket, lets requests go on for
the time of --drain, and exits.

Each flag can be an environment variable of the server instead: --argocd-health is
ROPEWALK_ARGOCD_HEALTH=true. The flag wins.

` + command.ExitCodes,
		Example: `  ropewalk plugin argocd
  ropewalk plugin argocd --socket-dir run --http 127.0.0.1:8085 --cache-dir cache
  ropewalk plugin argocd --config pull-policy.yaml --secrets secrets --git-credentials git
  curl localhost:8085/readyz`,
		Args: cobra.NoArgs,
	}
	cmd.RunE = a.Run(func(ctx context.Context, _ []string) error {
		if err := setFromEnvironment(cmd.Flags(), os.Environ(), a.reporter()); err != nil {
			return err
		}
		return a.runArgoCD(ctx, &flags)
	})
	addArgoCDFlags(cmd, &flags)
	cmd.AddCommand(a.pluginArgoCDGenerate(), a.pluginArgoCDParameters())
	return cmd
}

func addArgoCDFlags(cmd *cobra.Command, flags *ArgoCDFlags) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&flags.name, "name", argocd.DefaultName, "`NAME` of the plugin; the socket is NAME.sock")
	f.StringVar(&flags.dir, "socket-dir", pluginSockets, "`DIR` of the sockets of plugins")
	f.StringVar(&flags.http, "http", pluginHTTP, "`ADDRESS` of /healthz, /readyz and /metrics; none where empty")
	f.StringVar(&flags.otlp, "otlp-endpoint", "", telemetry.Usage)
	f.StringVar(&flags.temporary, "temp-dir", "", "`DIR` for what of a repository does not stay in memory (default the system's)")
	f.StringVar(&flags.askPass, "askpass-socket", "", "`SOCKET` of the repo-server to ask for the credentials of a source, for modules\nin the registry that it comes from; none where empty")
	f.StringVar(&flags.Config, "config", "", "`FILE` of a PullPolicy: where modules may come from, and which must be signed;\na change counts for the next request")
	f.StringVar(&flags.Secrets, "secrets", "", "`DIR` of Secrets that pullSecretRef and verify may name: PROJECT/NAME/ENTRY, each\nNAME as Kubernetes mounts a Secret")
	f.StringVar(&flags.GitCredentials, "git-credentials", "", "`DIR` of credentials for references of Git without a Secret: HOST/ENTRY, with the\nentries of a Secret (username, password, bearerToken, identity, known_hosts, ca.crt)")
	f.BoolVar(&flags.allowUnlocked, "allow-unlocked", false, "take references that are neither pinned nor in "+lock.Name)
	f.BoolVar(&flags.health, "argocd-health", false, "Argo CD has the health checks that \"render --argocd-cm\" writes")
	f.IntVar(&flags.workers, "workers", pluginWorkers, "evaluate in `N` processes")
	f.IntVar(&flags.renders, "renders", 0, "unpack and render `N` requests at once (default four times the workers)")
	flags.total = pluginTotal
	flags.archive = 256 << 20
	f.Var(&flags.total, "memory-total", "memory of the server and all of its workers together")
	f.Var(&flags.memory, "memory", "limit of the memory of one evaluation (default what --memory-total leaves a worker)")
	f.Var(&flags.archive, "archive", "limit of the size of a repository, compressed")
	f.DurationVar(&flags.timeout, "timeout", evaluate.DefaultTimeout, "limit of the evaluation of one spec")
	f.DurationVar(&flags.read, "read-timeout", argocd.DefaultRead, "limit for the archive of a request to arrive")
	f.DurationVar(&flags.request, "request-timeout", argocd.DefaultTimeout, "limit of a request; that of the repo-server holds where it is less")
	f.DurationVar(&flags.drain, "drain", argocd.DefaultDrain, "how long requests may go on after SIGTERM")
	flags.Add(cmd)
	command.AddCacheDir(cmd, &flags.cacheDir)
}

// check refuses flags with which no server can be made.
func (f *ArgoCDFlags) check() error {
	switch {
	case f.workers < 1:
		return command.Usagef("", "--workers %d: expected 1 or more", f.workers)
	case f.renders < 0:
		return command.Usagef("", "--renders %d: expected 0 or more", f.renders)
	case f.timeout <= 0 || f.request <= 0 || f.read <= 0 || f.drain < 0:
		return command.Usagef("", "--timeout, --request-timeout, --read-timeout and --drain: expected more than 0")
	case f.memory != 0 && f.memory < command.LeastMemory:
		return command.Usagef("", "--memory %s: expected at least 32MiB", &f.memory)
	}
	if err := telemetry.Check(f.otlp); err != nil {
		return command.Usagef("", "--otlp-endpoint: %v", err)
	}
	return f.checkFolders()
}

// checkFolders makes the folders that the server writes to, and refuses a path that cannot be a
// folder.
func (f *ArgoCDFlags) checkFolders() error {
	for _, own := range []struct{ flag, dir string }{{"--temp-dir", f.temporary}, {"--cache-dir", f.cacheDir}} {
		if own.dir == "" {
			continue
		}
		if err := process.ProbeDir(own.dir); err != nil {
			return command.Usagef("", "%s: %v", own.flag, err)
		}
	}
	for _, mounted := range []struct{ flag, dir string }{{"--secrets", f.Secrets}, {"--git-credentials", f.GitCredentials}} {
		// What is not there yet may be mounted later.
		if info, err := os.Stat(mounted.dir); err == nil && !info.IsDir() {
			return command.Usagef("", "%s %s: expected a folder", mounted.flag, mounted.dir)
		}
	}
	return nil
}

func (a Commands) runArgoCD(ctx context.Context, flags *ArgoCDFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	server, done, err := flags.newServer(a.reporter())
	if err != nil {
		return err
	}
	defer done()
	return serveWith(ctx, server, flags.http)
}

// reporter prints errors that failed nothing; it is safe for concurrent use.
func (a Commands) reporter() func(error) {
	var printing sync.Mutex
	return func(err error) {
		if err != nil {
			printing.Lock()
			defer printing.Unlock()
			a.Note("ropewalk: %v\n", err)
		}
	}
}

// newServer makes a server that does not serve yet. The result done ends its workers.
func (f *ArgoCDFlags) newServer(report func(error)) (server *argocd.Server, done func(), err error) {
	// Divide the memory between the server and its workers.
	requests := cmp.Or(f.renders, 4*f.workers)
	parts, err := Divide(int64(f.total), int64(f.memory), f.workers, requests)
	if err != nil {
		return nil, nil, err
	}

	// Open what all requests share, and nothing that a request may not need.
	policy, err := command.OpenPolicy("--config", f.Config, report)
	if err != nil {
		return nil, nil, err
	}
	store := sync.OnceValues(func() (*cache.Store, error) { return command.OpenCache(f.cacheDir) })
	connect, err := f.Connect(store, policy, report)
	if err != nil {
		return nil, nil, err
	}

	// Start the workers.
	options := worker.Options{Size: f.workers, Schemas: process.EvaluateOptions().Schemas, Memory: parts.Worker, Timeout: f.timeout}
	pool, err := worker.NewPool(options)
	if err != nil {
		return nil, nil, &command.EnvironmentError{Err: err}
	}
	components := process.Components(pool, options)

	// Cache results, and trace requests.
	parts.hold()
	evaluations := resultcache.New(parts.Evaluations)
	renders := lru.New[string, []byte](parts.Renders)
	version, stores, written := renderStores(renders, store, report)
	tracer, flush := telemetry.Open(f.otlp, "ropewalk-argocd", version, report)

	// Make the server of all of it.
	server = argocd.New(argocd.Options{
		Name: f.name, Dir: f.dir, Temporary: f.temporary,
		Evaluator: components, Workers: f.workers, Evaluations: evaluations, Stores: stores, Version: version,
		Tracer: tracer, Connect: connect, Epoch: func() string { return policy.Current().Digest() },
		Collectors:    []prometheus.Collector{readings{pool: pool, evaluations: evaluations, renders: renders, store: store, policy: policy, shares: parts}},
		AllowUnlocked: f.allowUnlocked, HealthConfigured: f.health,
		Requests: requests, Parallel: f.workers, Queue: parts.Queue, Response: int(parts.response), Working: parts.working, Variables: parts.Variables,
		Archive: argocd.Limits{Compressed: int64(f.archive), Memory: parts.Archive},
		Limits:  evaluate.Limits{Timeout: f.timeout, Memory: parts.Worker},
		Timeout: f.request, Read: f.read, Drain: f.drain, Report: report, AskPass: argocd.AskPass(f.askPass),
	})
	return server, func() { report(errors.Join(components.Close(), pool.Close())); written(); flush() }, nil
}

// renderPending is how many bytes of finished renders may wait for the disk.
const renderPending = 4 << 20

// renderStores returns the caches of finished renders: in memory, and on disk if the build has an
// identity. The disk is written after the response. The result written returns when everything is
// on disk.
func renderStores(memory *lru.Cache[string, []byte], open func() (*cache.Store, error), report func(error)) (version string, stores []rendercache.Store, written func()) {
	r := process.CurrentRelease()
	stores = []rendercache.Store{rendercache.MemoryStore{Entries: memory}}
	identity := r.Identity()
	if identity == "" {
		return r.Version, stores, func() {}
	}
	disk, err := open()
	if err != nil {
		report(err)
		return identity, stores, func() {}
	}
	writer := &rendercache.WriteBehind{Next: disk, MaxPending: renderPending, Failed: report}
	return identity, append(stores, writer), writer.Wait
}

// serveWith serves the socket, and health and metrics at an address, until ctx ends.
func serveWith(ctx context.Context, server *argocd.Server, address string) error {
	web := &http.Server{Handler: server.Handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	both, ctx := errgroup.WithContext(ctx)
	if address != "" {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			return &command.EnvironmentError{Err: err, Hint: "use --http"}
		}
		both.Go(func() error {
			if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	both.Go(func() error {
		defer web.Close() //nolint:errcheck // the server has ended
		return server.Serve(ctx)
	})
	if err := both.Wait(); err != nil {
		return &command.EnvironmentError{Err: err}
	}
	return nil
}

// Connect returns what fetches the modules of a request.
func (f *ArgoCDFlags) Connect(
	store func() (*cache.Store, error), policy *pullpolicy.File, report func(error),
) (func(argocd.Connection) (host.Host, error), error) {
	ca, err := f.Authorities()
	if err != nil {
		return nil, err
	}
	shared := sync.OnceValues(f.registries)
	signed := fetch.NewSigned()
	return func(c argocd.Connection) (host.Host, error) {
		registries := shared
		if c.Source != nil {
			// Logins are remembered by Registries, and these are of one request.
			registries = func() (*remote.Registries, error) { return f.RegistriesOf(c.Source) }
		}
		o := fetch.Options{
			Registries: registries, Store: store, Scope: c.Scope, Lock: c.Lock, Mode: c.Mode, Report: report,
			Secrets: fetch.Mounted(f.Secrets).Of(c.Project), GitHosts: fetch.Mounted(f.GitCredentials),
			Guard: pullpolicy.Guard{Policy: policy.Current(), Project: c.Project, Refused: c.Refused}, Signed: signed,
			Git: func() git.Fetcher {
				return git.Fetcher{Binary: git.FindBinary(), UserEnv: os.Environ(), PlainHTTP: f.Plain, CA: ca}
			},
			Modules: func() *modules.Registry {
				return command.ModuleRegistry(&command.SourceFlags{Locked: c.Mode != lock.Prefer}, shared)
			},
		}
		return o.Connect(host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}), nil
	}, nil
}

// registries connects to registries with TLS, localhost included, unless --plain-http names them:
// on a server, localhost is a part of the cluster.
func (f *ArgoCDFlags) registries() (*remote.Registries, error) {
	r, err := f.Registries()
	if err == nil {
		r.PlainHTTP = f.Plain
	}
	return r, err
}

// RegistriesOf connects to registries with the credentials of a source for the one
// that it comes from, and as usual to others.
func (f *ArgoCDFlags) RegistriesOf(own *argocd.Source) (*remote.Registries, error) {
	r, err := f.registries()
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(own.Repository)
	if err != nil || at.Scheme != "oci" {
		return r, nil //nolint:nilerr // it is the URL of a Git repository
	}
	usual := r.Credentials
	r.Credentials = func(ctx context.Context, host string) (auth.Credential, error) {
		if !strings.EqualFold(host, at.Host) {
			return usual(ctx, host)
		}
		user, password, err := own.Credentials(ctx)
		if err != nil {
			return auth.EmptyCredential, err
		}
		return auth.Credential{Username: user, Password: password}, nil
	}
	return r, nil
}
