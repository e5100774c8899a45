// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package readings exports where each PivotCluster is, as metrics of Prometheus. They are read from
// the statuses when Prometheus asks, so that no metric outlives its PivotCluster. Failures of pivots
// are counted, since a pivot begins again before a user has seen the status.
package readings

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// Failure is why a pivot ended without success.
type Failure string

// The failures.
const (
	// Refused: the findings before the pivot forbid it, and a user has to change something.
	Refused Failure = "refused"
	// Aborted: it was undone before the commit, and begins again.
	Aborted Failure = "aborted"
	// Stopped: it goes on from the step that it has finished.
	Stopped Failure = "stopped"
)

// Readings shows where each PivotCluster is, as its status says.
type Readings struct {
	clusters                                         client.Reader
	phase, condition, step, stepAge, nodes, lastSeen *prometheus.Desc
	failures                                         *prometheus.CounterVec
	now                                              func() time.Time
}

// New returns the readings of the PivotClusters that a reader lists.
func New(clusters client.Reader, now func() time.Time) Readings {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("ropewalk_pivotcluster_"+name, help, append([]string{"name"}, labels...), nil)
	}
	r := Readings{
		clusters: clusters, now: now,
		phase:     desc("phase", "1 for the phase that a PivotCluster is in.", "phase"),
		condition: desc("condition", "1 for each condition of a PivotCluster, with its status and its reason.", "type", "status", "reason"),
		step:      desc("step", "1 for the step of its pivot that was finished last; absent before the first.", "step"),
		stepAge:   desc("step_age_seconds", "Time since a step of its pivot was finished; absent before the first, and when the pivot has ended."),
		nodes:     desc("nodes", "Nodes of the cluster: those that are ready, and those that are wanted.", "state"),
		lastSeen:  desc("heartbeat_age_seconds", "Time since the last heartbeat of its agent, to about a minute; absent before the first."),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ropewalk_pivotcluster_pivot_failures_total",
			Help: "Pivots that ended without success: refused, aborted or stopped. The events of the PivotClusters say which.",
		}, []string{"reason"}),
	}
	for _, of := range []Failure{Refused, Aborted, Stopped} {
		r.failures.WithLabelValues(string(of)) // A counter that begins with 1 has no increase.
	}
	return r
}

// CountFailure counts a pivot that ended without success.
func (r Readings) CountFailure(of Failure) { r.failures.WithLabelValues(string(of)).Inc() }

// Describe implements prometheus.Collector.
func (r Readings) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{r.phase, r.condition, r.step, r.stepAge, r.nodes, r.lastSeen} {
		to <- d
	}
	r.failures.Describe(to)
}

// Collect implements prometheus.Collector.
func (r Readings) Collect(to chan<- prometheus.Metric) {
	r.failures.Collect(to)
	var all v1alpha1.PivotClusterList
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // It is the cache of the manager.
	defer cancel()
	if err := r.clusters.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return // It has not begun, or ends.
	}
	for _, c := range all.Items {
		r.collect(c, func(desc *prometheus.Desc, value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{c.Name}, labels...)...)
		})
	}
}

// collect shows where one PivotCluster is.
func (r Readings) collect(c v1alpha1.PivotCluster, gauge func(desc *prometheus.Desc, value float64, labels ...string)) {
	if c.Status.Phase != "" {
		gauge(r.phase, 1, string(c.Status.Phase))
	}
	for _, is := range c.Status.Conditions {
		gauge(r.condition, 1, is.Type, string(is.Status), is.Reason)
	}
	if p := c.Status.Pivot; p != nil && p.Step != "" {
		gauge(r.step, 1, p.Step)
		if p.StepTime != nil && !state.Step(p.Step).Ended() {
			gauge(r.stepAge, r.now().Sub(p.StepTime.Time).Seconds())
		}
	}
	if n := c.Status.Nodes; n != nil {
		gauge(r.nodes, float64(n.Ready), "ready")
		gauge(r.nodes, float64(n.Wanted), "wanted")
	}
	if a := c.Status.Agent; a != nil && a.LastSeen != nil {
		gauge(r.lastSeen, r.now().Sub(a.LastSeen.Time).Seconds())
	}
}
