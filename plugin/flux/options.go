// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"time"

	"go.opentelemetry.io/otel/trace"
	kuberecorder "k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/runtime/controller"

	"github.com/ropewalk/ropewalk/plugin/flux/internal/application"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/request"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/storage"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
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
	// FetchTimeout bounds all that is fetched for one render: source, modules, charts; 5 min
	// where zero.
	FetchTimeout time.Duration
	// Working is how many bytes the documents, inputs, modules and objects of one Transform
	// may take in this process while they are rendered, roughly; no limit where zero. Those
	// that take an eighth of it follow each other.
	Working int64
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

	// Tracer makes spans of reconciliations; nil makes none.
	Tracer trace.TracerProvider

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
	// RateLimiter says how long to wait after failures; that of Flux where nil. It
	// is not for servers that are not available: see schedule.
	RateLimiter workqueue.TypedRateLimiter[reconcile.Request]
	// DependencyRequeue is how long to wait for what no event tells of; 30 s
	// where zero.
	DependencyRequeue time.Duration
	// PlanCacheBytes is how many bytes of plans of deliveries are cached in memory; 32 MiB
	// where zero.
	PlanCacheBytes int64
}

// Modules says where modules come from.
type Modules = request.Modules

// ArgoCD says where Applications may be made.
type ArgoCD = application.Allow

// Storage says where artifacts are kept and served.
type Storage = storage.Options
