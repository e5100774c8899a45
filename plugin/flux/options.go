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

// Name is the name of the controller: the owner of the fields that it sets, and the source of its
// events.
const Name = "ropewalk-controller"

// GateWorkloadIdentity is the feature gate of Flux for Options.WorkloadIdentity.
const GateWorkloadIdentity = auth.FeatureGateObjectLevelWorkloadIdentity

// Options configure a [Reconciler]. Renderer and Events are required; all other fields have a
// default.
type Options struct {
	// Renderer renders modules of tenants: its evaluator must stop evaluations that exceed
	// Limits.
	Renderer render.Renderer
	// Workers limits the evaluations that Renderer runs at once; 1 where zero. A namespace uses
	// half of them where others render too.
	Workers int
	// Evaluations, if set, cache the results of the evaluator of Renderer.
	Evaluations *resultcache.Results
	// Stores keep finished renders, in this order: memory before disk. They may be left out.
	Stores []rendercache.Store
	// Version identifies the program; with "" no render is cached.
	Version string
	// Limits bound the evaluation of each spec.
	Limits evaluate.Limits
	// Parallel limits the specs of a project that are evaluated at once; 1 where zero.
	Parallel int
	// FetchTimeout bounds all that is fetched for one render: source, modules, charts; 5 min
	// where zero.
	FetchTimeout time.Duration
	// Working limits the bytes that the documents, inputs, modules and objects of one Transform
	// take in this process while they are rendered, roughly; no limit where zero. Transforms
	// that take an eighth of it are rendered one after the other.
	Working int64
	// Modules configures the sources of modules.
	Modules Modules
	// KubeVersion is the version that is rendered for, such as v1.36.3, where neither a
	// Transform nor its project names a version; "" is the version of the API server.
	KubeVersion string

	// Events records events: events.NewRecorder of fluxcd/pkg/runtime. Required.
	Events kuberecorder.EventRecorder
	// Metrics are the metrics of Flux: controller.NewMetrics(mgr, metrics.MustMakeRecorder(),
	// v1alpha1.Finalizer). The zero value records nothing.
	Metrics controller.Metrics

	// Tracer makes spans of reconciliations; nil turns tracing off.
	Tracer trace.TracerProvider

	// DefaultServiceAccount is impersonated for Transforms that name no account; they have the
	// rights of the controller itself where it is "".
	DefaultServiceAccount string
	// WorkloadIdentity allows Transforms to log in at registries of clouds as the account that
	// they act as, by its tokens. Without it only the controller itself logs in, for Transforms
	// that act as no account.
	WorkloadIdentity bool
	// NoCrossNamespaceRefs refuses sources of other namespaces.
	NoCrossNamespaceRefs bool
	// ArgoCD lists the places where Applications may be made; the zero value allows no place.
	ArgoCD ArgoCD
	// Storage serves ExternalArtifacts; nil refuses Transforms with such an output.
	Storage *Storage

	// Concurrent limits the Transforms that are fetched and rendered at once; 8 where zero. A
	// namespace uses half of them where others render too. Four times the number of workers
	// keeps these busy while modules are fetched.
	Concurrent int
	// RateLimiter delays retries after failures; nil is the rate limiter of Flux. It is not for
	// servers that are not available: see schedule.
	RateLimiter workqueue.TypedRateLimiter[reconcile.Request]
	// DependencyRequeue is the delay before another look at changes without an event; 30 s
	// where zero.
	DependencyRequeue time.Duration
	// PlanCacheBytes limits the plans of deliveries in memory, in bytes; 32 MiB where zero.
	PlanCacheBytes int64
}

// Modules configures the sources of modules.
type Modules = request.Modules

// ArgoCD lists the places where Applications may be made.
type ArgoCD = application.Allow

// Storage configures the folder and the server of artifacts.
type Storage = storage.Options
