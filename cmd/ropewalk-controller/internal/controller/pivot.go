// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	kuberecorder "k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/cmd/internal/process"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux"
	"github.com/ropewalk/ropewalk/plugin/pivot/agent"
	pivot "github.com/ropewalk/ropewalk/plugin/pivot/controller"
)

// The parts of the controller.
const (
	partTransforms = "transforms"
	partPivot      = "pivot"
	partAgent      = "agent"
)

// pivotFlags are the flags of the parts pivot and agent.
type pivotFlags struct {
	parts         []string
	host          string
	port, link    int32
	registration  string
	linkAddress   string
	childManifest string
	hold          time.Duration
	requireFIPS   bool
}

func (f *flags) addPivot(set *pflag.FlagSet) {
	p := &f.pivot
	set.StringSliceVar(&p.parts, "parts", []string{partTransforms}, "what to do, of transforms, pivot (PivotClusters, which needs transforms) and agent\n(of a cluster that a parent has made)")
	set.StringVar(&p.host, "cell-host", "", "`NAME` or address by which child clusters reach this controller; that in the cell of the\ncluster's own PivotCluster where empty")
	set.Int32Var(&p.port, "cell-port", 8443, "port of the registration endpoint at that name")
	set.Int32Var(&p.link, "cell-link-port", 8444, "port of the link at that name")
	set.StringVar(&p.registration, "registration-addr", ":8443", "`ADDRESS` of the registration endpoint of child clusters")
	set.StringVar(&p.linkAddress, "link-addr", ":8444", "`ADDRESS` of the link of child clusters")
	set.StringVar(&p.childManifest, "child-manifest", "", "`FILE` of the manifests (YAML) that install the agent, and the GitOps engine, on a child;\nwhat the agent of this cluster was installed with where there is none")
	set.DurationVar(&p.hold, "pivot-hold", time.Minute, "how long a child has to be in charge of itself before the objects here are deleted")
	set.BoolVar(&p.requireFIPS, "require-fips", false, "end where the FIPS 140-3 module is not in use")
}

func (p *pivotFlags) has(part string) bool { return slices.Contains(p.parts, part) }

func (f *flags) checkPivot() error {
	p := &f.pivot
	parts := []string{partTransforms, partPivot, partAgent}
	for _, part := range p.parts {
		if !slices.Contains(parts, part) {
			return fmt.Errorf("--parts %q: expected some of: %s", part, strings.Join(parts, " "))
		}
	}
	switch {
	case len(p.parts) == 0:
		return fmt.Errorf("--parts: expected some of: %s", strings.Join(parts, " "))
	case p.has(partPivot) && !p.has(partTransforms):
		return errors.New("--parts: pivot needs transforms, by which clusters are delivered")
	case (p.has(partPivot) || p.has(partAgent)) && f.namespace == "":
		return errors.New("--parts: RUNTIME_NAMESPACE says in which namespace the Secrets of pivot and agent are")
	case p.has(partPivot) && p.host != "" && p.childManifest == "":
		return errors.New("--cell-host: --child-manifest is missing, the file that installs the agent of a child; " +
			"without --cell-host the cell of the cluster's own PivotCluster counts")
	case p.has(partPivot) && !f.selectsClusters():
		const format = "--parts: pivot makes Transforms that --watch-label-selector %q does not select: " +
			"leave pivot to the controller of Transforms without a shard, with '!sharding.fluxcd.io/key'"
		return fmt.Errorf(format, f.watch.LabelSelector)
	case p.hold < 0:
		return fmt.Errorf("--pivot-hold %s: expected 0 or more", p.hold)
	}
	return nil
}

// selectsClusters reports whether this controller reconciles the Transforms that its part pivot
// makes, which have no label of a shard.
func (f *flags) selectsClusters() bool {
	selector, err := labels.Parse(f.watch.LabelSelector)
	return err != nil || selector.Matches(labels.Set{pivot.ClusterLabel: "any"}) // checkPlaces reports the error
}

// account returns the ServiceAccount of the controller.
func (f *flags) account() types.NamespacedName {
	return types.NamespacedName{Namespace: f.namespace, Name: flux.Name}
}

// pivotReconciler returns the reconciler of the part pivot, as the flags have it.
func (f *flags) pivotReconciler(open func(context.Context, *v1alpha1.Transform) (artifact.Store, error), recorder kuberecorder.EventRecorder) *pivot.Reconciler {
	p := &f.pivot
	endpoints := &pivot.Endpoints{Registration: p.registration, Link: p.linkAddress, Namespace: f.namespace}
	if p.host != "" {
		endpoints.Given = &v1alpha1.Cell{Host: p.host, Port: p.port, LinkPort: p.link}
	}
	return &pivot.Reconciler{
		Events: recorder, Endpoints: endpoints, Account: f.account(), Hold: p.hold,
		ChildManifest: func() ([]byte, error) { return os.ReadFile(p.childManifest) },
		Delivery:      pivot.Delivery{Open: open, Applications: f.argocdNamespaces},
	}
}

// setupPivot adds the parts pivot and agent to a manager.
func (f *flags) setupPivot(ctx context.Context, mgr ctrl.Manager, transforms *flux.Reconciler, recorder kuberecorder.EventRecorder) error {
	p := &f.pivot
	if p.has(partPivot) {
		if err := f.pivotReconciler(transforms.Repository, recorder).SetupWithManager(ctx, mgr); err != nil {
			return err
		}
	}
	if p.has(partAgent) {
		a := &agent.Agent{Namespace: f.namespace, Account: f.account(), Version: process.CurrentRelease().Version}
		if err := a.SetupWithManager(mgr); err != nil {
			return err
		}
		return mgr.AddHealthzCheck("agent", func(*http.Request) error { return a.Healthy() })
	}
	return nil
}
