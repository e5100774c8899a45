// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/tracing"
)

// counters are the metrics of renders and publications, beside the metrics of Flux.
type counters struct {
	renders      *prometheus.CounterVec
	publications *prometheus.CounterVec
	seconds      prometheus.Histogram
	evaluations  prometheus.Histogram
}

// objects collects the number of objects that each Transform renders, from its status.
type objects struct {
	transforms client.Reader
	desc       *prometheus.Desc
}

// newObjects returns the collector of the number of objects of each Transform.
func newObjects(transforms client.Reader) objects {
	return objects{transforms, prometheus.NewDesc("ropewalk_transform_objects", "Objects that a Transform renders.", []string{"namespace", "name"}, nil)}
}

// Describe implements prometheus.Collector.
func (o objects) Describe(out chan<- *prometheus.Desc) { out <- o.desc }

// Collect implements prometheus.Collector.
func (o objects) Collect(out chan<- prometheus.Metric) {
	var transforms v1alpha1.TransformList
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // It is the cache of the manager.
	defer cancel()
	if err := o.transforms.List(ctx, &transforms, client.UnsafeDisableDeepCopy); err != nil {
		return // It has not begun, or ends.
	}
	for _, t := range transforms.Items {
		out <- prometheus.MustNewConstMetric(o.desc, prometheus.GaugeValue, float64(t.Status.NodeCount), t.Namespace, t.Name)
	}
}

// newCounters makes the metrics, or finds those that were registered before.
func newCounters(registry prometheus.Registerer, transforms client.Reader) (*counters, error) {
	c := &counters{
		renders: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ropewalk_transform_renders_total", Help: "Renders of Transforms, by whether they were new, remembered or failed.",
		}, []string{"result"}),
		publications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ropewalk_transform_publications_total", Help: "Publications of Transforms, by whether anything was written, was there already, or failed.",
		}, []string{"result"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ropewalk_transform_render_seconds", Help: "From the beginning of a reconciliation to the end of its render.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}),
		evaluations: tracing.NewHistogram(),
	}
	for _, m := range []prometheus.Collector{c.renders, c.publications, c.seconds, c.evaluations, newObjects(transforms)} {
		var twice prometheus.AlreadyRegisteredError
		if err := registry.Register(m); err != nil && !errors.As(err, &twice) {
			return nil, err
		}
	}
	return c, nil
}

// countRender counts a render, and records its time.
func (c *counters) countRender(remembered bool, err error, took time.Duration) {
	switch {
	case err != nil:
		c.renders.WithLabelValues("failed").Inc()
	case remembered:
		c.renders.WithLabelValues("remembered").Inc()
	default:
		c.renders.WithLabelValues("new").Inc()
	}
	c.seconds.Observe(took.Seconds())
}

// countPublication counts a publication.
func (c *counters) countPublication(changed bool, err error) {
	switch {
	case err != nil:
		c.publications.WithLabelValues("failed").Inc()
	case changed:
		c.publications.WithLabelValues("written").Inc()
	default:
		c.publications.WithLabelValues("unchanged").Inc()
	}
}
