// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// counters are the metrics of renders and publications, beside those of Flux.
type counters struct {
	renders      *prometheus.CounterVec
	publications *prometheus.CounterVec
	seconds      prometheus.Histogram
}

// newCounters makes the metrics, or finds those that were registered before.
func newCounters(registry prometheus.Registerer) (*counters, error) {
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
	}
	for _, m := range []prometheus.Collector{c.renders, c.publications, c.seconds} {
		var twice prometheus.AlreadyRegisteredError
		if err := registry.Register(m); err != nil && !errors.As(err, &twice) {
			return nil, err
		}
	}
	return c, nil
}

func (c *counters) rendered(remembered bool, err error, took time.Duration) {
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

func (c *counters) published(changed bool, err error) {
	switch {
	case err != nil:
		c.publications.WithLabelValues("failed").Inc()
	case changed:
		c.publications.WithLabelValues("written").Inc()
	default:
		c.publications.WithLabelValues("unchanged").Inc()
	}
}
