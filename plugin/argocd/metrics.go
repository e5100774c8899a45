// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/ropewalk/ropewalk/plugin/argocd/internal/unpack"
)

// Methods, as metrics name them.
const (
	methodCheck    = "CheckPluginConfiguration"
	methodGenerate = "GenerateManifest"
	methodMatch    = "MatchRepository"
	methodAnnounce = "GetParametersAnnouncement"
)

// bounds are those of the histogram, in seconds.
func bounds() []float64 {
	return []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
}

// metrics count what a server does. No label ever holds what a user chose, so that
// their number is bounded and nothing secret gets into one.
type metrics struct {
	inFlight, joined, retries, hits, misses atomic.Int64
	compressed, plain, spooled              atomic.Int64

	mu sync.Mutex
	// requests are by method and outcome, seconds by method.
	requests map[[2]string]int64
	seconds  map[string]*histogram
	// refusals are by the rule of the policy.
	refusals map[string]int64
}

// maxRules is how many rules are told apart, of policies that came one after the
// other too.
const maxRules = 1000

// Reading is a number that the server shows among its metrics. Readings of one name
// follow each other.
type Reading struct {
	// Name is that of the metric; Kind is counter or gauge; Help says what it counts.
	Name, Kind, Help string
	// Labels are written as they are: name="value". They must not hold what a user
	// chose.
	Labels string
	Value  int64
}

// histogram counts durations.
type histogram struct {
	buckets []int64
	count   int64
	sum     float64
}

func newMetrics() *metrics {
	return &metrics{requests: map[[2]string]int64{}, seconds: map[string]*histogram{}, refusals: map[string]int64{}}
}

// refused counts what a rule refused. Rules are named by whoever runs the server.
func (m *metrics) refused(rule string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.refusals[rule]; !known && len(m.refusals) >= maxRules {
		rule = "other"
	}
	m.refusals[rule]++
}

// done counts a request that was answered.
func (m *metrics) done(method string, err error, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	outcome := connect.Code(0)
	if err != nil {
		outcome = connect.CodeOf(err)
	}
	m.requests[[2]string{method, codeName(outcome)}]++
	h := m.seconds[method]
	if h == nil {
		h = &histogram{buckets: make([]int64, len(bounds()))}
		m.seconds[method] = h
	}
	h.count++
	h.sum += took.Seconds()
	if at, _ := slices.BinarySearch(bounds(), took.Seconds()); at < len(h.buckets) {
		h.buckets[at]++
	}
}

func (m *metrics) rendered(remembered bool) {
	if remembered {
		m.hits.Add(1)
		return
	}
	m.misses.Add(1)
}

func (m *metrics) unpacked(s unpack.Stats) {
	m.compressed.Add(s.Compressed)
	m.plain.Add(s.Unpacked)
	m.spooled.Add(s.Spooled)
}

// page writes metrics in the text format of Prometheus; writing to it never fails.
type page struct {
	strings.Builder
}

func (p *page) family(name, kind, help string) {
	_, _ = fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (p *page) value(name, labels string, v int64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	_, _ = fmt.Fprintf(p, "%s%s %d\n", name, labels, v)
}

func (p *page) single(name, kind, help string, v int64) {
	p.family(name, kind, help)
	p.value(name, "", v)
}

// write writes all metrics of the server.
func (s *Server) write(w io.Writer) error {
	m := s.metrics
	var p page
	const requests, seconds = "ropewalk_argocd_requests_total", "ropewalk_argocd_request_seconds"
	m.mu.Lock()
	p.family(requests, "counter", "Requests that were answered, by method and gRPC code.")
	var keys [][2]string
	for key := range m.requests {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, k := range keys {
		p.value(requests, fmt.Sprintf("method=%q,code=%q", k[0], k[1]), m.requests[k])
	}
	p.family(seconds, "histogram", "How long requests took, with the time they waited.")
	for _, method := range []string{methodGenerate, methodAnnounce, methodMatch} {
		h := m.seconds[method]
		if h == nil {
			continue
		}
		var sum int64
		for i, n := range h.buckets {
			sum += n
			p.value(seconds+"_bucket", fmt.Sprintf("method=%q,le=%q", method, strconv.FormatFloat(bounds()[i], 'g', -1, 64)), sum)
		}
		p.value(seconds+"_bucket", fmt.Sprintf("method=%q,le=\"+Inf\"", method), h.count)
		_, _ = fmt.Fprintf(&p, "%s_sum{method=%q} %g\n", seconds, method, h.sum)
		p.value(seconds+"_count", fmt.Sprintf("method=%q", method), h.count)
	}
	m.mu.Unlock()
	p.single("ropewalk_argocd_in_flight", "gauge", "Requests that are being answered.", m.inFlight.Load())
	p.single("ropewalk_argocd_waiting", "gauge", "Requests that wait for their turn.", int64(s.waiting()))
	p.single("ropewalk_argocd_parked_bytes", "gauge", "Memory of requests that gave their place away, because a registry or a worker takes its time.", s.parked.Used())
	p.single("ropewalk_argocd_joined_total", "counter", "Requests that got the render of an equal one.", m.joined.Load())
	p.single("ropewalk_argocd_retries_total", "counter", "Renders that were tried again.", m.retries.Load())
	const cache = "ropewalk_argocd_render_cache_total"
	p.family(cache, "counter", "Renders by whether they were remembered.")
	p.value(cache, `result="hit"`, m.hits.Load())
	p.value(cache, `result="miss"`, m.misses.Load())
	const bytes = "ropewalk_argocd_archive_bytes_total"
	p.family(bytes, "counter", "Bytes of archives: as they came, unpacked, and of these what was not kept in memory.")
	p.value(bytes, `kind="compressed"`, m.compressed.Load())
	p.value(bytes, `kind="unpacked"`, m.plain.Load())
	p.value(bytes, `kind="spooled"`, m.spooled.Load())
	s.others(&p)
	_, err := io.WriteString(w, p.String())
	return err
}

// others writes refusals, and readings.
func (s *Server) others(p *page) {
	const refusals = "ropewalk_argocd_policy_refusals_total"
	p.family(refusals, "counter", "Modules that the pull policy refused, by rule.")
	s.metrics.mu.Lock()
	for _, rule := range slices.Sorted(maps.Keys(s.metrics.refusals)) {
		p.value(refusals, fmt.Sprintf("rule=%q", rule), s.metrics.refusals[rule])
	}
	s.metrics.mu.Unlock()
	if s.opts.Readings == nil {
		return
	}
	last := ""
	for _, r := range s.opts.Readings() {
		if r.Name != last {
			p.family(r.Name, r.Kind, r.Help)
			last = r.Name
		}
		p.value(r.Name, r.Labels, r.Value)
	}
}
