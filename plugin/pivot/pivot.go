// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/install"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/preflight"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// Types of callers.
type (
	// Ref names an object in any version.
	Ref = plane.Ref
	// Receipt is the state of a pivot that a plane keeps.
	Receipt = state.Receipt
	// Step is a step of a pivot.
	Step = state.Step
	// Event is progress.
	Event = state.Event
	// Finding is a problem that stands in the way of a pivot, with advice.
	Finding = inventory.Finding
	// Findings are all problems at once, as an error.
	Findings = inventory.Findings
	// Plan has the objects that a pivot would move.
	Plan = preflight.Plan
	// GitOps freezes the engine that delivers the objects on the source.
	GitOps = state.GitOps
	// InstallOptions describe the cluster that a bootstrap cluster makes.
	InstallOptions = install.Options
	// Manifest has the objects that are installed on the new cluster.
	Manifest = install.Manifest
	// Installed is the progress of an installation.
	Installed = install.Result
	// Mark is a status of an installation.
	Mark = install.Mark
)

// ParseManifest reads the YAML of a Manifest.
func ParseManifest(data []byte) (*Manifest, error) { return install.Parse(data) }

// Install makes a cluster from the bootstrap cluster at k. It returns when the new cluster is in
// charge of itself; see [install.Run].
func Install(ctx context.Context, k Kubeconfig, o InstallOptions) (*Installed, error) {
	p, err := k.reach(ctx, "bootstrap", nil)
	if err != nil {
		return &Installed{Cluster: o.Cluster.GetName(), Timeline: []Mark{}}, err
	}
	return install.Run(ctx, p, o)
}

// Errors that callers tell apart.
var (
	ErrUnfinished = state.ErrUnfinished
	ErrAborted    = state.ErrAborted
	ErrFenced     = state.ErrFenced
	ErrStep       = state.ErrStep
	// ErrNoPivot means that there is no receipt.
	ErrNoPivot = errors.New("no pivot")
)

// IsDecision reports whether the user has to decide about an error. Errors of a server or of a
// kubeconfig are no decisions.
func IsDecision(err error) bool {
	var found Findings
	if errors.As(err, &found) {
		return true
	}
	decisions := []error{ErrUnfinished, ErrAborted, ErrFenced, ErrStep, ErrNoPivot}
	return slices.ContainsFunc(decisions, func(decision error) bool { return errors.Is(err, decision) })
}

// Kubeconfig names a file, and a context in it; "" stands for its current context.
type Kubeconfig struct{ Path, Context string }

// Options name a cluster and the planes between which it moves. Only Cluster and the kubeconfigs are
// required.
type Options struct {
	// From is the source, and To the target.
	From, To Kubeconfig
	// Cluster is the Cluster that moves.
	Cluster types.NamespacedName
	// Copy are objects that other clusters use too: they are copied, and stay on the source.
	Copy []Ref
	// Resume goes on with a pivot that was begun.
	Resume bool
	// DiscardChanges deletes objects of the source that were changed after the commit, and so
	// loses the change.
	DiscardChanges bool
	// Hold is the time that the target has to be active before the source is deleted.
	Hold time.Duration
	// Report receives progress; it may be nil.
	Report func(Event)
	// GitOps may be nil.
	GitOps GitOps
}

// openEnds opens both planes. It returns an error at once if a plane cannot be reached, because
// later requests wait for a server that is away.
func (o Options) openEnds(ctx context.Context) (*state.Source, error) {
	var source, target *plane.Plane
	var sourceErr, targetErr error
	var group sync.WaitGroup
	o.Report = o.oneByOne()
	group.Go(func() { source, sourceErr = o.From.reach(ctx, "source", o.waits()) })
	group.Go(func() { target, targetErr = o.To.reach(ctx, "target", o.waits()) })
	group.Wait()
	if err := errors.Join(sourceErr, targetErr); err != nil {
		return nil, o.explainDenied(ctx, err)
	}
	return &state.Source{
		Plane:          source,
		Link:           &state.Target{Plane: target},
		Cluster:        o.Cluster,
		Copy:           o.Copy,
		GitOps:         o.GitOps,
		Resume:         o.Resume,
		DiscardChanges: o.DiscardChanges,
		Hold:           o.Hold,
		Report:         o.Report,
	}, nil
}

// oneByOne returns Report for several goroutines: requests report waits beside the steps.
func (o Options) oneByOne() func(Event) {
	if o.Report == nil {
		return nil
	}
	var mu sync.Mutex
	return func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		o.Report(e)
	}
}

// waits returns the function that reports the reason of a long wait.
func (o Options) waits() func(string) {
	return func(what string) {
		if o.Report != nil {
			o.Report(Event{Message: what})
		}
	}
}

// cluster returns the Cluster as an object.
func (o Options) cluster() Ref {
	return Ref{Group: inventory.ClusterGroup, Kind: "Cluster", Namespace: o.Cluster.Namespace, Name: o.Cluster.Name}
}

// explainDenied returns err. If a plane forbids the first reads, it returns all rights that are
// missing on both planes instead.
func (o Options) explainDenied(ctx context.Context, err error) error {
	if err == nil || !apierrors.IsForbidden(err) || errors.Is(err, ErrAborted) {
		return err
	}
	var findings Findings
	for name, k := range map[string]Kubeconfig{"source": o.From, "target": o.To} {
		if p, err := k.open(name, nil); err == nil && k.Path != "" {
			findings = append(findings, preflight.Basic(ctx, p, o.cluster())...)
		}
	}
	if len(findings) == 0 {
		return err
	}
	return findings.Sorted()
}

// reach opens a plane, and makes a first request. The plane has 2 s to answer it.
func (k Kubeconfig) reach(ctx context.Context, name string, waits func(string)) (*plane.Plane, error) {
	const patience = 2 * time.Second
	p, err := k.open(name, waits)
	if err != nil {
		return nil, err
	}
	if _, err := p.Within(patience).UID(ctx); err != nil {
		return nil, fmt.Errorf("%w (server %s of kubeconfig %q)", err, p.Server(), k.Path)
	}
	return p, nil
}

// open opens a plane. It makes no request.
func (k Kubeconfig) open(name string, waits func(string)) (*plane.Plane, error) {
	return plane.Open(k.Path, k.Context, plane.Options{Name: name, Waits: waits})
}

// Look returns the objects that a pivot would move, and its findings. Nothing is changed.
func Look(ctx context.Context, o Options) (Plan, error) {
	s, err := o.openEnds(ctx)
	if err != nil {
		return Plan{}, err
	}
	found, err := s.Preflight(ctx)
	plan := preflight.PlanOf(o.cluster(), found.Set, found.Findings)
	plan.Notes = slices.Concat(found.Notes, found.Later)
	return plan, o.explainDenied(ctx, err)
}

// Run moves the cluster, and returns the receipt of the source; see [state.Source.Run].
func Run(ctx context.Context, o Options) (*Receipt, error) {
	s, err := o.openEnds(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.Run(ctx)
	return r, o.explainDenied(ctx, err)
}

// Abort undoes a pivot that is not committed; see [state.Source.Abort]. With targetLost, To is not
// needed. That is refused while the target answers, because it may have been taken over.
func Abort(ctx context.Context, o Options, targetLost bool) (*Receipt, error) {
	if targetLost {
		return o.abortWithoutTarget(ctx)
	}
	s, err := o.openEnds(ctx)
	if err != nil {
		return nil, err
	}
	return s.Abort(ctx, false)
}

// abortWithoutTarget undoes a pivot on the source, if the target does not answer.
func (o Options) abortWithoutTarget(ctx context.Context) (*Receipt, error) {
	o.Report = o.oneByOne()
	from, err := o.From.reach(ctx, "source", o.waits())
	if err != nil {
		return nil, err
	}

	// The receipt has the address of the target.
	r, err := state.Read(ctx, from, o.Cluster)
	if err != nil {
		return nil, err
	}
	if r != nil && !r.Step.Ended() {
		if err := checkSilent(ctx, r.Target.Server); err != nil {
			return r, Findings{{
				Ref:     o.cluster(),
				Problem: fmt.Sprintf("the target of pivot %q is not lost: %v", r.ID, err),
				Advice:  "give its kubeconfig with --to, in place of --target-lost",
			}}
		}
	}
	source := &state.Source{Plane: from, Cluster: o.Cluster, GitOps: o.GitOps, Report: o.Report}
	return source.Abort(ctx, true)
}

// Takeover activates the target at To, whose source is lost for good; see [state.Target.Takeover].
// If From is given, the source is also looked for there. A source that answers counts as lost if
// it has lost the Cluster or deletes it.
func Takeover(ctx context.Context, o Options, reason string) (*Receipt, error) {
	o.Report = o.oneByOne()
	to, err := o.To.reach(ctx, "target", o.waits())
	if err != nil {
		return nil, err
	}
	return (&state.Target{Plane: to}).Takeover(ctx, o.Cluster, reason, func(ctx context.Context, server string) error {
		if o.From.Path != "" {
			from, err := plane.Open(o.From.Path, o.From.Context, plane.Options{Name: "source", Patience: time.Second})
			if err != nil {
				return err
			}
			if going, err := o.going(ctx, from, to); err != nil || going {
				return err
			}
			if err := errors.Join(checkUnreachable(ctx, from), checkSilent(ctx, from.Server())); err != nil {
				return err
			}
		}
		return checkSilent(ctx, server)
	})
}

// going reports whether the source of the pivot answers, and has lost the Cluster or deletes it.
func (o Options) going(ctx context.Context, from, to *plane.Plane) (bool, error) {
	r, err := state.Read(ctx, to, o.Cluster)
	if err != nil || r == nil {
		return false, err
	}
	if uid, err := from.UID(ctx); err != nil || uid != r.Source.UID {
		return false, nil //nolint:nilerr // It is another server, or does not answer: that is checked next.
	}
	kinds, err := from.Kinds(ctx)
	if err != nil {
		return false, err
	}
	going, err := state.Going(ctx, from, kinds, o.cluster())
	return going != "", err
}

// checkUnreachable returns an error if an API server answers by way of its kubeconfig, which may
// name a proxy.
func checkUnreachable(ctx context.Context, p *plane.Plane) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	_, err := p.UID(ctx)
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) {
		return fmt.Errorf("%s answers", p.Server())
	}
	return nil
}

// askWithin bounds the time for an answer; a source that is silent for longer counts as lost.
const askWithin = 15 * time.Second

// checkSilent returns an error if an API server answers. The content of the answer does not count:
// a server that refuses the request is there too.
func checkSilent(ctx context.Context, server string) error {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return fmt.Errorf("the receipt has no address of it (%q): give its kubeconfig", server)
	}

	// Any answer counts, also an error of TLS.
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("version").String(), nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	var unknown *url.Error
	switch {
	case err == nil:
		_ = response.Body.Close() // Nothing is read.
		return fmt.Errorf("%s answers %s", u.Redacted(), response.Status)
	case errors.As(err, &unknown) && isTLS(unknown.Err):
		return fmt.Errorf("%s answers: %w", u.Redacted(), unknown.Err)
	}
	return nil
}

// Status returns the receipt of a plane, or ErrNoPivot if there is none.
func Status(ctx context.Context, kubeconfig Kubeconfig, cluster types.NamespacedName) (*Receipt, error) {
	p, err := plane.Open(kubeconfig.Path, kubeconfig.Context, plane.Options{Name: "given", Patience: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	r, err := state.Read(ctx, p, cluster)
	if err == nil && r == nil {
		err = fmt.Errorf("%w of Cluster %s is, or was, under way at %s", ErrNoPivot, cluster, p.Server())
	}
	return r, err
}
