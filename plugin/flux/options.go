// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"io/fs"
	"net/http"
	"time"

	kuberecorder "k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/runtime/controller"

	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// Name is what the controller is called: the owner of the fields that it sets, and
// the source of its events.
const Name = "ropewalk-controller"

// GateWorkloadIdentity is what Flux calls the feature gate of Options.WorkloadIdentity.
const GateWorkloadIdentity = auth.FeatureGateObjectLevelWorkloadIdentity

// Options are what a [Reconciler] works with. Renderer is required; all else has a
// default.
type Options struct {
	// Renderer renders modules of tenants: its evaluator must stop what exceeds Limits.
	Renderer render.Renderer
	// Workers is how many evaluations Renderer runs at once; 1 where zero. One namespace
	// uses half of them where others render too.
	Workers int
	// Evaluations, if set, cache what the evaluator of Renderer returns.
	Evaluations *resultcache.Results
	// Stores keep finished renders, in this order: memory before disk. None is fine.
	Stores []rendercache.Store
	// Version identifies the program; with "" no render is cached.
	Version string
	// Limits bound the evaluation of each spec.
	Limits evaluate.Limits
	// Parallel is how many specs of one project are evaluated at once; 1 where zero.
	Parallel int
	// Modules says where modules come from.
	Modules Modules
	// KubeVersion is rendered for where neither a Transform nor its project names one,
	// such as v1.36.3; that of the API server where it is "".
	KubeVersion string

	// Events records events: events.NewRecorder of fluxcd/pkg/runtime. Required.
	Events kuberecorder.EventRecorder
	// Metrics are those of Flux: controller.NewMetrics(mgr, metrics.MustMakeRecorder(),
	// v1alpha1.Finalizer). The zero value records nothing.
	Metrics controller.Metrics

	// DefaultServiceAccount is impersonated for Transforms that name none;
	// the controller's own rights where it is "".
	DefaultServiceAccount string
	// WorkloadIdentity allows Transforms to log in at registries of clouds as the account
	// that they act as, by tokens of it; without it only the controller itself does, for
	// those that act as none.
	WorkloadIdentity bool
	// NoCrossNamespaceRefs refuses sources of other namespaces.
	NoCrossNamespaceRefs bool
	// ArgoCD says where Applications may be made; the zero value allows none.
	ArgoCD ArgoCD
	// Storage serves ExternalArtifacts; nil refuses Transforms that want one.
	Storage *Storage

	// Concurrent is how many Transforms are fetched and rendered at once; 8 where zero.
	// One namespace uses half of them where others render too. Four times the number of
	// workers keeps these busy while modules are fetched.
	Concurrent int
	// RateLimiter says how long to wait after failures; that of Flux where nil. A
	// Transform whose server cannot be reached waits for an eighth of the time that it has
	// been away at most, or five seconds.
	RateLimiter workqueue.TypedRateLimiter[reconcile.Request]
	// DependencyRequeue is how long to wait for what no event tells of; 30 s
	// where zero.
	DependencyRequeue time.Duration
	// PlanCacheBytes is how many bytes of plans of deliveries are cached in memory; 32 MiB
	// where zero.
	PlanCacheBytes int64
}

// Modules says where modules come from. The zero value gets them over https, without
// credentials and cache.
type Modules struct {
	// Embedded finds the modules that are part of the program, and EmbeddedNames are
	// theirs; nil has none.
	Embedded      func(name string) (fs.FS, bool)
	EmbeddedNames []string
	// Registries connects to OCI registries; plain says that it is by http for all
	// hosts, as output.oci.insecure asks. It is called once for each. Nil is the zero
	// value of remote.Registries.
	Registries func(plain bool) (*remote.Registries, error)
	// Git is how Git repositories are reached; nil is the zero value.
	Git func() git.Fetcher
	// Dependencies gets the dependencies of CUE modules; nil adds none.
	Dependencies func() *modules.Registry
	// Store is the cache on disk; nil has none.
	Store func() (*cache.Store, error)
	// Trees keeps sources in memory; nil keeps none.
	Trees *lru.Cache[string, source.Tree]
	// Policy is the policy of pulls, asked for each render; nil allows all.
	Policy func() *pullpolicy.Policy
	// Signed remembers which modules are signed as the policy wants it; nil verifies
	// them each time.
	Signed *fetch.Signed
	// Client downloads the artifacts of sources; nil is one without a proxy.
	Client *http.Client
	// SourceHost is asked for the artifacts of sources instead of the host in their
	// URL, where it is set: SOURCE_CONTROLLER_LOCALHOST of Flux.
	SourceHost string
	// Limits bound sources and modules.
	Limits source.Limits
	// Report gets the errors of caches, which do not fail a render; nil drops them.
	Report func(error)
}

// ArgoCD says where Applications may be made.
type ArgoCD struct {
	// Namespaces and Projects that Transforms may name; "*" is any. Without both of
	// them there is no delivery by Argo CD.
	Namespaces, Projects []string
}

// Storage is a folder of artifacts and the server in front of it.
type Storage struct {
	// Path is the folder, which must be kept between restarts or else is made anew
	// from what is rendered.
	Path string
	// Address is where the server listens, such as :9790, and Advertised is the host
	// (and port) in the URLs of artifacts.
	Address, Advertised string
	// TTL is how long a file stays after it was replaced; 10 minutes where zero.
	TTL time.Duration
}
