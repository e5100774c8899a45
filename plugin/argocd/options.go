// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/ropewalk/ropewalk/plugin/argocd/internal/unpack"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
	"github.com/ropewalk/ropewalk/source/lock"
)

// Defaults of [Options].
const (
	DefaultName     = "ropewalk"
	DefaultTimeout  = 5 * time.Minute
	DefaultRead     = 20 * time.Second
	DefaultDrain    = 30 * time.Second
	DefaultQueue    = 1000
	DefaultResponse = 100 << 20
)

// Connection holds the input for a host.
type Connection struct {
	// Lock belongs to the project, and Mode says how it is used.
	Lock lock.File
	Mode lock.Mode
	// Scope is the credential scope of the tenant.
	Scope string
	// Project is the Argo CD project, "" where the request does not name it: a request
	// for the parameters of an application never does.
	Project string
	// Refused counts the refusals of a policy, by the name of the rule.
	Refused func(rule string)
	// Source is the origin of the files, if its credentials are offered; nil otherwise.
	Source *Source
}

// Source is a repository with its credentials.
type Source struct {
	// Repository is its URL: https, ssh or oci.
	Repository string
	// Credentials returns the user and the password of this repository. It works for
	// the duration of the request.
	Credentials func(ctx context.Context) (user, password string, err error)
}

// Limits bound the archive of a request; see the fields of Options too. A limit that
// is zero has a default that suits large repositories.
type Limits = unpack.Limits

// Options configure a server. Evaluator and Connect must be set.
type Options struct {
	// Name is the name of the plugin; the socket is NAME.sock. DefaultName if "".
	Name string
	// Dir is the directory of the socket.
	Dir string
	// Temporary is the directory for the files of a request that do not stay in memory; the
	// directory of the system if "".
	Temporary string
	// Evaluator evaluates modules; at most Workers evaluations run at once, GOMAXPROCS
	// if zero.
	Evaluator evaluate.Evaluator
	Workers   int
	// Evaluations, if set, cache what Evaluator returns.
	Evaluations *resultcache.Results
	// Stores cache finished renders, of this Version only.
	Stores  []rendercache.Store
	Version string
	// Connect returns what fetches modules.
	Connect func(Connection) (host.Host, error)
	// Epoch, if set, identifies the input of renders beside the request, such as the digest of a
	// policy: a request never gets a render from another epoch.
	Epoch func() string
	// Tracer makes spans of requests; nil makes no spans.
	Tracer trace.TracerProvider
	// Collectors are metrics of the parts of the server.
	Collectors []prometheus.Collector
	// AllowUnlocked accepts references that are neither pinned nor in ropewalk.lock.
	AllowUnlocked bool
	// HealthConfigured says that Argo CD has the health checks that readyWhen needs.
	HealthConfigured bool
	// AskPass is the socket that returns the credentials of a source; "" means that there is no
	// socket.
	AskPass AskPass
	// Requests limits the requests that are unpacked and rendered at once; four times Workers if
	// zero.
	Requests int
	// Parallel limits the specs of one request that are evaluated at once; 1 if zero.
	Parallel int
	// Queue limits the requests that wait; DefaultQueue if zero. A request whose parameters are
	// larger than Window takes several places.
	Queue int
	// Archive bounds the archive of a request, Limits the evaluation of each spec.
	Archive Limits
	Limits  evaluate.Limits
	// Working limits the bytes that the documents, modules and objects of one request take in the
	// server's own memory, roughly; no limit if zero. A request that takes much of it waits for
	// others that do.
	Working int64
	// Variables limits the bytes that the variables of all requests take while they are received,
	// in messages larger than Window; no limit if zero. Others wait.
	Variables int64
	// Response limits the bytes of all manifests of a response, which the repo-server limits too;
	// DefaultResponse if zero.
	Response int
	// Timeout bounds a request whose client sets no deadline, or a later deadline; DefaultTimeout
	// if zero.
	Timeout time.Duration
	// Read bounds the time in which the archive of a request arrives once there is a slot for it;
	// DefaultRead if zero.
	Read time.Duration
	// Drain bounds the time for which requests go on after the server is stopped; DefaultDrain if
	// zero.
	Drain time.Duration
	// Report receives the errors of requests, cut to a line, and those that failed no
	// request; nil discards them.
	Report func(error)
}

// withDefaults returns the options with defaults for zero values.
func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, DefaultName)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.Requests = cmp.Or(o.Requests, 4*o.Workers)
	o.Queue = cmp.Or(o.Queue, DefaultQueue)
	o.Response = cmp.Or(o.Response, DefaultResponse)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Read = cmp.Or(o.Read, DefaultRead)
	o.Drain = cmp.Or(o.Drain, DefaultDrain)
	if o.Report == nil {
		o.Report = func(error) {}
	}
	return o
}
