// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/internal/crash"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/renders"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/request"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/rollout"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/storage"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/windows"
	"github.com/ropewalk/ropewalk/plugin/host/service"
	"github.com/ropewalk/ropewalk/plugin/host/tracing"
	"github.com/ropewalk/ropewalk/plugin/host/transform"
)

// Reconciler reconciles Transforms with their specs. SetupWithManager sets up its zero value.
type Reconciler struct {
	// Client reads Transforms from the cache of the manager and writes them.
	client.Client

	opts Options
	// cache has the metadata and the status of objects that Transforms name.
	cache client.Reader
	// direct is the client of the controller itself, without a cache.
	direct   client.Client
	accounts *accounts
	loader   *request.Loader
	oci      publish.OCI
	storage  *storage.Storage
	plans    plans
	// claims has the objects that Transforms want and hold.
	claims   *delivery.Claims
	attempts *renders.Attempts
	slots    *renders.Slots
	// service renders.
	service  *service.Service
	counters *counters
	now      func() time.Time
}

// Reconcile brings one Transform nearer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	// The Transform is read from the cache. A Transform that is gone has no claims.
	changes := r.claims.Begin(req.NamespacedName)
	t := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
	if err := r.Get(ctx, req.NamespacedName, t); err != nil {
		if apierrors.IsNotFound(err) {
			r.claims.Forget(t)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	ctx, span := tracing.Tracer(r.opts.Tracer).Start(ctx, "reconcile", trace.WithAttributes(
		attribute.String("k8s.namespace.name", req.Namespace), attribute.String("ropewalk.transform", req.Name)))
	defer func() { tracing.End(span, err) }()

	// Whatever happens, the claims of the Transform are recorded and its status is written.
	s := begin(r.Client, t, r.now())
	p := r.newPipeline()
	out := p.run(ctx, s)
	p.claim(ctx, t, changes, out)
	return p.reporter.finish(ctx, s, out)
}

// Repository returns the repository that a Transform publishes to, logged in as for its pushes.
// The Transform need not exist: its namespace, output and account count. It must not be called
// before SetupWithManager.
func (r *Reconciler) Repository(ctx context.Context, t *v1alpha1.Transform) (artifact.Store, error) {
	as, err := r.accounts.client(t)
	if err != nil {
		return nil, err
	}
	return r.oci.Repository(ctx, t, as)
}

// pipeline has the stages of a reconciliation, in their order, and the tools that they share.
type pipeline struct {
	claims *delivery.Claims
	opener opener
	plans  plans

	withdrawer withdrawer
	resolver   resolver
	pinner     pinner
	renderer   renderer
	publisher  publisher
	admitter   admitter
	deliverer  deliverer
	keeper     keeper
	previewer  previewer
	reporter   reporter
}

// newPipeline makes the stages, each with its tools.
func (r *Reconciler) newPipeline() pipeline {
	// Several stages raise events, or open the access of a Transform.
	raises := events{recorder: r.opts.Events, cache: r.cache}
	opens := opener{accounts: r.accounts, oci: r.oci, storage: r.storage}
	deliverers := engines{
		claims:  r.claims,
		now:     r.now,
		cache:   r.cache,
		direct:  r.direct,
		allow:   r.opts.ArgoCD,
		account: r.opts.DefaultServiceAccount,
	}

	// A preview goes through the same stages as a publication.
	p := pipeline{
		claims: r.claims, opener: opens, plans: r.plans,
		withdrawer: withdrawer{engines: deliverers, opener: opens, events: raises},
		resolver:   resolver{opener: opens, reader: r.Client, cache: r.cache, direct: r.direct, claims: r.claims, loader: r.loader},
		pinner:     pinner{opener: opens, plans: r.plans},
		renderer: renderer{
			service:  r.service,
			loader:   r.loader,
			accounts: r.accounts,
			plans:    r.plans,
			attempts: r.attempts,
			slots:    r.slots,
			counters: r.counters,
			now:      r.now,
			parallel: r.opts.Parallel,
			version:  r.opts.Version,
			timeout:  cmp.Or(r.opts.FetchTimeout, DefaultFetchTimeout),
		},
		publisher: publisher{plans: r.plans, counters: r.counters, now: r.now},
		admitter:  admitter{plans: r.plans, events: raises, now: r.now},
		deliverer: deliverer{engines: deliverers, events: raises},
		reporter: reporter{
			metrics:    r.opts.Metrics,
			events:     raises,
			claims:     r.claims,
			attempts:   r.attempts,
			now:        r.now,
			dependency: r.opts.DependencyRequeue,
		},
	}
	p.keeper = keeper{plans: r.plans, deliverer: p.deliverer, events: raises, now: r.now}
	p.previewer = previewer{resolver: p.resolver, renderer: p.renderer, publisher: p.publisher, events: raises}
	return p
}

// run goes through the stages that a Transform needs. A panic is the error of the outcome.
func (p pipeline) run(ctx context.Context, s *subject) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			panicked := crash.Of(p)
			log.FromContext(ctx).Error(panicked, "reconciliation panicked", "stack", panicked.Stack)
			out.err = panicked
		}
	}()

	// A deletion and a suspension end the work early.
	if !s.transform.DeletionTimestamp.IsZero() {
		var ended withdrawal
		ended, out.err = p.withdrawer.withdraw(ctx, s)
		out.gone = ended.gone
		if !ended.gone && out.err == nil {
			out.progress = &delivery.Progress{Reason: v1alpha1.DeletingReason, Message: ended.waiting}
		}
		return out
	}
	out.err = s.addFinalizer(ctx)
	if out.err != nil {
		return out
	}
	if s.transform.Spec.Suspend {
		out.suspended = true
		return out
	}
	p.advance(ctx, s, &out)
	return out
}

// advance renders if something changed, publishes a render that is new, and delivers it. A mistake
// in a render does not end the delivery of the render before. It fills the outcome step by step, so
// that a panic leaves the steps before it.
func (p pipeline) advance(ctx context.Context, s *subject, out *outcome) {
	// The render of the spec is delivered, or else the artifact that was published last.
	var mistake error
	windows.Begin(s.transform)
	out.found, out.published, mistake = p.prepare(ctx, s)
	want := out.published.want
	if mistake != nil {
		out.refused, out.err = true, mistake
		var ok bool
		want, ok = p.plans.findUnfinished(ctx, s.transform, out.found.store)
		if !ok {
			return
		}
	}

	// Outside of its windows, the delivery that was admitted before goes on.
	waits, known, err := p.admitter.admit(ctx, s, out.found.store, &want)
	out.err = cmp.Or(mistake, err)
	if err != nil {
		return
	}
	if !known {
		out.progress = &delivery.Progress{Reason: v1alpha1.OutsideWindowReason, Message: waits}
		showProgress(s.transform, *out.progress)
		return
	}

	// The first error counts.
	delivering, end := tracing.Start(ctx, "deliver")
	out.progress, err = p.deliverer.deliver(delivering, s.transform, out.found.access, want)
	if err == nil && waits == "" { // An artifact that waits for its window has not failed.
		out.progress, err = p.keeper.keep(delivering, s, out.found.access, out.progress)
	}
	end(err)
	out.err = cmp.Or(mistake, err)
	if out.err != nil {
		return
	}

	if waits != "" && out.progress.Ready {
		out.progress.Ready = false
		out.progress.Reason = v1alpha1.OutsideWindowReason
		out.progress.Message = waits
	}

	// The rest waits for the delivery.
	p.deliverer.prune(ctx, s.transform, out.found.access, out.progress)
	out.preview, out.err = p.previewer.preview(ctx, s, out.found.access, *out.progress)
}

// prepare returns the publication that is to be delivered: the artifact that a rollback names, or
// the render of the spec, which is made and published if it is not known yet.
func (p pipeline) prepare(ctx context.Context, s *subject) (resolved, publication, error) {
	// Mistakes in names and windows are found without any request.
	t := s.transform
	if err := checkName(t); err != nil {
		return resolved{}, publication{}, err
	}
	if err := transform.CheckNames(t); err != nil {
		showViolations(t, err)
		return resolved{}, publication{}, atRequest.at(err)
	}
	if d := t.Spec.Delivery; d != nil {
		if _, err := windows.Parse(d.Windows); err != nil {
			return resolved{}, publication{}, block(stalled, v1alpha1.InvalidReason, "%w", err)
		}
	}

	// A rollback needs nothing that the spec refers to.
	rollout.Begin(t)
	if t.Spec.Rollback != nil {
		with, pinned, err := p.pinner.pin(ctx, t)
		return resolved{access: with}, pinned, err
	}
	found, err := p.resolver.resolve(ctx, t, access{})
	if err != nil {
		return found, publication{}, err
	}

	// Nothing is rendered if nothing changed. An artifact that gave way to an earlier artifact stays
	// known.
	known := t.Status.Artifact
	if rollout.Failed(t) != "" {
		known = t.Status.Rendered
	} else {
		t.Status.Rendered = nil
	}
	isKnown := known != nil && known.Checksum == found.key
	if isKnown && !p.renderer.isDue(t) && !s.isRequested() {
		want, err := p.plans.find(ctx, t, found.store, t.Status.Artifact.Digest)
		if err == nil {
			return found, publication{want: want}, nil
		}
		if s.staysReady(err) {
			return found, publication{}, &outage{err}
		}
		// The artifact is gone, or cannot be read: it is published again.
	}

	// A render that was not Ready in time is not delivered again.
	out, err := p.renderer.render(ctx, s, found)
	if err != nil {
		return found, publication{}, err
	}
	if rollout.Failed(t) != "" && isSame(ctx, found.store, out, known) {
		known.Checksum = out.key
		want, err := p.plans.find(ctx, t, found.store, t.Status.Artifact.Digest)
		return found, publication{want: want}, atPublish.at(err)
	}

	// A new render is published, if the account may apply it.
	if s.isNew(out.key) || !isSame(ctx, found.store, out, t.Status.Artifact) {
		if err := p.opener.checkRights(ctx, t, found.access, out.Layers); err != nil {
			return found, publication{}, err
		}
	}
	p.deliverer.warnOfQuotas(ctx, t, found.access, out)
	rollout.End(t)
	t.Status.Rendered = nil
	done, err := p.publisher.publish(ctx, s, found, out)
	return found, done, err
}

// claim records the objects that the Transform wants if no delivery by Flux did: while it is
// suspended, or cannot be rendered. Its claim is settled, unless it was not rendered because of
// others. The argument changes is the count of changes at the beginning of the reconciliation.
func (p pipeline) claim(ctx context.Context, t *v1alpha1.Transform, changes uint64, out outcome) {
	if out.gone {
		p.claims.Forget(t)
		return
	}
	waitsForOthers := out.err != nil && diagnose(out.err).reason == v1alpha1.DependencyNotReadyReason
	if ctx.Err() != nil || renders.IsPostponed(out.err) || waitsForOthers {
		return
	}
	name := client.ObjectKeyFromObject(t)
	isDelivered := t.Status.Artifact != nil && engineOf(t) == v1alpha1.EngineFlux && t.DeletionTimestamp.IsZero()
	if isDelivered && !p.claims.Known(name) {
		p.assume(ctx, t, out.found.access)
	}
	p.claims.Settle(name, changes)
}

// assume records that the Transform wants the objects of its last artifact.
func (p pipeline) assume(ctx context.Context, t *v1alpha1.Transform, opened access) {
	with, err := p.opener.openOnce(ctx, t, opened)
	if err != nil || with.store == nil {
		return // The store could not be opened.
	}
	want, err := p.plans.find(ctx, t, with.store, t.Status.Artifact.Digest)
	if err == nil {
		p.claims.Assume(t, want)
	}
}
