// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fluxcd/pkg/runtime/acl"
	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/jitter"
	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/internal/telemetry"
	"github.com/ropewalk/ropewalk/plugin/flux"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// Defaults of this program, beside the defaults of libraries.
const (
	// retention is the time for which a replaced file is still served: a client may
	// have read the object before it was patched.
	retention = 10 * time.Minute
)

// flags are the flags of the command.
type flags struct {
	// What the libraries of Flux bring.
	log      logger.Options
	leader   leaderelection.Options
	acl      acl.Options
	watch    runtimectrl.WatchOptions
	retry    runtimectrl.RateLimiterOptions
	interval jitter.IntervalOptions

	storagePath, storageAddress, storageAdvertised string
	retention                                      time.Duration

	concurrent        int
	requeueDependency time.Duration
	gates             gates
	qps               float32
	burst             int
	defaultAccount    string
	events            string
	metrics, health   string
	otlp              string
	drain             time.Duration

	workers    int
	total      process.Size
	timeout    time.Duration
	fetching   time.Duration
	pullPolicy string
	cacheDir   string
	plainHTTP  []string
	ca         []string

	argocdNamespaces, argocdProjects []string

	pivot pivotFlags

	// namespace is the namespace of the controller.
	namespace string
	// dockerConfig and cueRegistry configure registries, and sourceHost is the host of
	// source-controller; all come from the environment.
	dockerConfig, cueRegistry, sourceHost string
	version                               bool
}

// newFlags returns the flags with their defaults, some of which come from the environment.
func newFlags(env func(string) string) (*flags, *pflag.FlagSet) {
	f := &flags{
		namespace: env("RUNTIME_NAMESPACE"), cueRegistry: env("CUE_REGISTRY"), sourceHost: env("SOURCE_CONTROLLER_LOCALHOST"),
		total: defaultTotal, gates: defaultGates(),
	}
	if dir := env("DOCKER_CONFIG"); dir != "" {
		f.dockerConfig = filepath.Join(dir, "config.json")
	}
	set := pflag.NewFlagSet("ropewalk-controller", pflag.ContinueOnError)
	set.SortFlags = false
	set.Usage = func() {} // Run prints it.
	f.addReconciling(set)
	f.addRendering(set, env)
	f.addStorage(set, env)
	f.addServing(set)
	f.addPivot(set)
	set.BoolVar(&f.version, "version", false, "print the version, and end")
	return f, set
}

// addReconciling adds the flags for which Transforms are reconciled, and how.
func (f *flags) addReconciling(set *pflag.FlagSet) {
	set.IntVar(&f.concurrent, "concurrent", 10, "fetch and render `N` Transforms at once; one namespace uses half of that where others\nrender too")
	set.DurationVar(&f.requeueDependency, "requeue-dependency", 30*time.Second, "how long to wait for what is not Ready and cannot be watched")
	f.retry.BindFlags(set)
	f.interval.BindFlags(set)
	set.BoolVar(&f.watch.AllNamespaces, "watch-all-namespaces", true, "work in all namespaces; in $RUNTIME_NAMESPACE alone where false")
	set.StringVar(&f.watch.LabelSelector, "watch-label-selector", "", "work on Transforms with these `LABELS` only, such as sharding.fluxcd.io/key=shard1")
	f.acl.BindFlags(set)
	set.StringVar(&f.defaultAccount, "default-service-account", "", "`NAME` of the ServiceAccount, in the namespace of each Transform, by which to act\nwhere spec.serviceAccountName is empty; the controller's own where this is empty too")
	set.StringSliceVar(&f.argocdNamespaces, "argocd-namespaces", nil, "`NAMESPACES` that Applications of Argo CD may be put into; none where empty")
	set.StringSliceVar(&f.argocdProjects, "argocd-projects", nil, "`PROJECTS` that such Applications may name; none where empty")
	set.Var(&f.gates, "feature-gates", "`NAME=true` or NAME=false, with commas: "+f.gates.help())
}

// addRendering adds the flags for how modules are fetched and evaluated.
func (f *flags) addRendering(set *pflag.FlagSet, env func(string) string) {
	set.IntVar(&f.workers, "workers", 2, "evaluate in `N` processes")
	set.Var(&f.total, "memory-total", "memory of the controller and all of its workers together")
	set.DurationVar(&f.timeout, "timeout", evaluate.DefaultTimeout, "limit of the evaluation of one spec")
	set.DurationVar(&f.fetching, "fetch-timeout", flux.DefaultFetchTimeout, "limit of all that is fetched for one render: the source, modules and charts")
	set.StringVar(&f.pullPolicy, "pull-policy", "", "`FILE` of a PullPolicy: where modules may come from, and which must be signed;\na change counts for the next render")
	set.StringVar(&f.cacheDir, "cache-dir", env("ROPEWALK_CACHE"), "`DIR` of the cache of modules and renders; none where empty")
	set.StringSliceVar(&f.plainHTTP, "plain-http", nil, "`HOST[:PORT]` of registries and Git servers to speak to without TLS")
	set.StringSliceVar(&f.ca, "ca", nil, "`FILES` of certificate authorities (PEM) to trust for registries and Git servers,\nbeside those of the system")
}

// addStorage adds the flags for artifacts that this controller serves itself.
func (f *flags) addStorage(set *pflag.FlagSet, env func(string) string) {
	set.StringVar(&f.storagePath, "storage-path", "", "`DIR` of the artifacts that are served; ExternalArtifacts are refused where empty")
	set.StringVar(&f.storageAddress, "storage-addr", ":9790", "`ADDRESS` to serve them at")
	set.StringVar(&f.storageAdvertised, "storage-adv-addr", env("HOSTNAME"), "`HOST[:PORT]` at which Flux finds that address")
	set.DurationVar(&f.retention, "artifact-retention-ttl", retention, "how long a file that was replaced is still served")
}

// addServing adds the flags for the servers of this process, and for its connections.
func (f *flags) addServing(set *pflag.FlagSet) {
	set.StringVar(&f.events, "events-addr", "", "`URL` of the notification-controller; events go to the API server alone where empty")
	set.StringVar(&f.metrics, "metrics-addr", ":8080", "`ADDRESS` of /metrics and /debug/pprof; none where 0")
	set.StringVar(&f.health, "health-addr", ":9440", "`ADDRESS` of /healthz and /readyz; none where 0")
	set.StringVar(&f.otlp, "otlp-endpoint", "", telemetry.Usage)
	set.StringVar(&f.log.LogLevel, "log-level", "info", "trace, debug, info or error")
	set.StringVar(&f.log.LogEncoding, "log-encoding", "json", "json or console")
	f.leader.BindFlags(set)
	set.Float32Var(&f.qps, "kube-api-qps", 0, "requests to the API server a second at most; as many as it takes where 0")
	set.IntVar(&f.burst, "kube-api-burst", 0, "requests at once beyond that")
	set.DurationVar(&f.drain, "graceful-shutdown-timeout", 30*time.Second, "how long what is begun may go on after SIGTERM")
}

// parse reads args, and refuses flags with which no controller can be made.
func (f *flags) parse(set *pflag.FlagSet, args []string) error {
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%q: expected flags only", set.Arg(0))
	}
	for _, choice := range []struct{ flag, value, words string }{
		{"log-level", f.log.LogLevel, "trace debug info error"}, {"log-encoding", f.log.LogEncoding, "json console"},
	} {
		if !word(choice.value, choice.words) {
			return fmt.Errorf("--%s %q: expected one of: %s", choice.flag, choice.value, choice.words)
		}
	}
	return errors.Join(f.checkNumbers(), f.checkPlaces(), f.checkPivot())
}

func (f *flags) checkNumbers() error {
	switch {
	case f.concurrent < 1:
		return fmt.Errorf("--concurrent %d: expected 1 or more", f.concurrent)
	case f.workers < 1:
		return fmt.Errorf("--workers %d: expected 1 or more", f.workers)
	case f.interval.Percentage > 99:
		return fmt.Errorf("--interval-jitter-percentage %d: expected 0 to 99", f.interval.Percentage)
	case min(f.timeout, f.fetching, f.requeueDependency, f.drain, f.retention) <= 0:
		return errors.New("--timeout, --fetch-timeout, --requeue-dependency, --graceful-shutdown-timeout and --artifact-retention-ttl: expected more than 0")
	case f.retry.MinRetryDelay <= 0 || f.retry.MaxRetryDelay < f.retry.MinRetryDelay:
		return fmt.Errorf("--min-retry-delay %s, --max-retry-delay %s: expected more than 0, and the second not less than the first",
			f.retry.MinRetryDelay, f.retry.MaxRetryDelay)
	case f.qps < 0 || f.burst < 0:
		return errors.New("--kube-api-qps and --kube-api-burst: expected 0 or more")
	}
	_, err := divide(int64(f.total), f.workers)
	return err
}

func (f *flags) checkPlaces() error {
	if _, err := labels.Parse(f.watch.LabelSelector); err != nil {
		return fmt.Errorf("--watch-label-selector %q: %w", f.watch.LabelSelector, err)
	}
	switch {
	case f.namespace == "" && !f.watch.AllNamespaces:
		return errors.New("--watch-all-namespaces=false: RUNTIME_NAMESPACE says in which namespace to work")
	case f.namespace == "" && f.leader.Enable:
		return errors.New("--enable-leader-election: RUNTIME_NAMESPACE says in which namespace the lease is")
	case telemetry.Check(f.otlp) != nil:
		return fmt.Errorf("--otlp-endpoint: %w", telemetry.Check(f.otlp))
	case f.storagePath != "" && f.storageAdvertised == "":
		return errors.New("--storage-path: --storage-adv-addr says where others find what is served")
	}
	return nil
}
