// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package readings exports where each PivotCluster is, as metrics of Prometheus. They are read from
// the statuses when Prometheus asks, so that no metric outlives its PivotCluster.
package readings

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// Readings shows where each PivotCluster is, as its status says.
type Readings struct {
	clusters         client.Reader
	phase, step, age *prometheus.Desc
	now              func() time.Time
}

// New returns the readings of the PivotClusters that a reader lists.
func New(clusters client.Reader, now func() time.Time) Readings {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("ropewalk_pivotcluster_"+name, help, append([]string{"name"}, labels...), nil)
	}
	return Readings{
		clusters: clusters, now: now,
		phase: desc("phase", "1 for the phase that a PivotCluster is in.", "phase"),
		step:  desc("step", "1 for the step of its pivot that was finished last; absent before the first.", "step"),
		age:   desc("heartbeat_age_seconds", "Time since the last heartbeat of its agent, to about a minute; absent before the first."),
	}
}

// Describe implements prometheus.Collector.
func (r Readings) Describe(to chan<- *prometheus.Desc) {
	to <- r.phase
	to <- r.step
	to <- r.age
}

// Collect implements prometheus.Collector.
func (r Readings) Collect(to chan<- prometheus.Metric) {
	var all v1alpha1.PivotClusterList
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // It is the cache of the manager.
	defer cancel()
	if err := r.clusters.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return // It has not begun, or ends.
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, c := range all.Items {
		if c.Status.Phase != "" {
			gauge(r.phase, 1, c.Name, string(c.Status.Phase))
		}
		if p := c.Status.Pivot; p != nil && p.Step != "" {
			gauge(r.step, 1, c.Name, p.Step)
		}
		if a := c.Status.Agent; a != nil && a.LastSeen != nil {
			gauge(r.age, r.now().Sub(a.LastSeen.Time).Seconds(), c.Name)
		}
	}
}
