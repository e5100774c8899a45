// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/internal/timezone"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

// Replicas configures the number of pods. Without a trigger (Queue, Cron, HTTP), Max of 0 or equal
// to Min means a fixed number, and any other an autoscaler of Kubernetes; with a trigger, KEDA scales.
type Replicas struct {
	Pos      object.Pos
	Min, Max int
	// CPU and Memory are the targets of the autoscaler in percent of the request; 0
	// means not given (80 % of the CPU if neither is given and there is no trigger).
	CPU, Memory int
	// PollingInterval is the time between two looks at the triggers, and Cooldown the time
	// before the last pod is stopped: seconds, or KindNone if not given.
	PollingInterval, Cooldown object.Value
	Queue                     *Queue
	// Cron is a list of windows {timezone, start, end, replicas}, the first with a default
	// of UTC; HTTP is {concurrency, rate, hosts, paths, port, namespace}. They are valid,
	// or KindNone if not given.
	Cron, HTTP object.Value
}

// Triggered reports whether KEDA scales the workload.
func (r *Replicas) Triggered() bool {
	return r != nil && (r.Queue != nil || r.Cron.Kind != object.KindNone || r.HTTP.Kind != object.KindNone)
}

// wakeHint is the hint for a workload that is scaled to zero and that nothing starts again.
const wakeHint = "write min: 1 or more, or a queue, cron or http, which start a pod where there is none"

// replicas decodes a number, or {min, max, cpu, memory} and the triggers of KEDA.
func (d *decoder) replicas(p part) *Replicas {
	if !p.given() {
		return nil
	}
	if d.isKnative() {
		d.decodeKnativeReplicas(p)
		return nil
	}

	// A number is fixed.
	out := &Replicas{Pos: p.Pos, Min: 1}
	if p.Kind == object.KindNumber {
		out.Min, _ = p.number()
		out.Max = out.Min
		return out
	}

	// A map has bounds and perhaps triggers.
	lowest, highest := p.field("min"), p.field("max")
	if n, ok := lowest.number(); ok {
		out.Min = n
	}
	maxPods, bounded := highest.number()
	out.Max = maxPods
	if q := p.field("queue"); q.given() {
		out.Queue = q.queue()
	}
	out.Cron = p.field("cron").windows(maxPods)
	out.HTTP = p.field("http").requests()

	// The bounds have to fit the triggers.
	switch {
	case bounded && maxPods < out.Min:
		highest.failBeside(lowest.Pos, "min", "max is %d, less than min, which is %d", maxPods, out.Min)
	case bounded && out.Min == 0 && !out.Triggered():
		p.reject(wakeHint, "an autoscaler keeps one pod at least")
	case !highest.given() && out.Triggered() && !d.doc.Defaults:
		p.reject("write max too", "max is missing: triggers need an autoscaler")
	}

	// Targets need an autoscaler.
	for _, target := range []struct {
		name  string
		field *int
	}{{"cpu", &out.CPU}, {"memory", &out.Memory}} {
		a := p.field(target.name)
		*target.field, _ = a.number()
		fixed := !highest.given() && !out.Triggered()
		if a.given() && fixed && !p.Known(p.loc.Path()) {
			a.reject("write max too", "a target in percent of the request needs an autoscaler")
		}
	}
	out.decodePace(p.field("pollingInterval"), p.field("cooldown"))
	return out
}

// decodePace decodes the times that only KEDA has, and warns if they have no effect.
func (r *Replicas) decodePace(polling, cooldown part) {
	r.PollingInterval, r.Cooldown = polling.Value, cooldown.Value
	const hint = "remove it, or write a queue, cron or http"
	switch {
	case !r.Triggered():
		if polling.given() {
			polling.advise(hint, "has no effect: only triggers are polled")
		}
		if cooldown.given() {
			cooldown.advise(hint, "has no effect: only triggers stop the last pod")
		}
	case cooldown.given() && r.Min > 0:
		cooldown.advise("remove it, or write min: 0", "has no effect: it is the time before the last pod is stopped, and min is %d", r.Min)
	}
}

// count returns the number of parts that are given.
func count(parts ...part) (n int) {
	for _, p := range parts {
		if p.given() {
			n++
		}
	}
	return n
}

// windows decodes the times in which more pods run. The argument maxPods is the highest number of
// pods, or 0 if it is not known.
func (p part) windows(maxPods int) object.Value {
	if len(p.Items) == 0 {
		return object.Value{}
	}
	out := object.Value{Kind: object.KindList, Pos: p.Pos}
	for _, item := range p.parts() {
		out.Items = append(out.Items, item.window(maxPods))
	}
	return out
}

// window decodes one of these times. It makes the checks that KEDA makes when it reads the
// trigger, and checks that each time comes: a window whose end never comes lasts for ever.
func (p part) window(maxPods int) object.Value {
	if zone := p.field("timezone"); zone.given() && !timezone.Known(zone.Text) {
		zone.reject(zoneHint(zone.Text), "%s is not a time zone of the IANA database", shown(zone.Text))
	}
	start, end := p.field("start"), p.field("end")
	starts, ends := start.schedule(), end.schedule()
	if starts != "" && starts == ends {
		end.reject("", "is the same as start: the window has no length")
	}
	replicas := p.field("replicas")
	if n, ok := replicas.number(); ok && maxPods > 0 && n > maxPods {
		replicas.reject("raise max", "%d is more than max, which is %d", n, maxPods)
	}
	return p.Value
}

func zoneHint(name string) string {
	zone, ok := object.Nearest(name, timezone.Names())
	if !ok {
		zone = timezone.InCity(name)
	}
	if zone != "" {
		return "did you mean " + strconv.Quote(zone) + "?"
	}
	return "write one such as Europe/Berlin or UTC"
}

// longestSchedule limits the length of a cron expression in characters.
const longestSchedule = 256

// schedule checks a cron expression of five fields and returns it with single spaces between
// them, or "" if it is not valid. KEDA uses the same library.
func (p part) schedule() string {
	const hint = kinds.CronHint
	if !p.given() {
		return ""
	}
	text := printable.OneLine(p.Text)
	if strings.Contains(text, "TZ=") {
		p.reject("write timezone: Europe/Berlin, or the one that it is", "cannot hold a time zone")
		return ""
	}
	if len(text) > longestSchedule {
		p.reject(hint, "%s is longer than %d characters", shown(text), longestSchedule)
		return ""
	}
	times, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
	if err != nil {
		p.reject(hint, "%s is not a cron expression: %w", shown(p.Text), err)
		return ""
	}

	// A leap year, so that 29 February comes.
	if times.Next(time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		p.reject("", "%s never comes: no month that it names has such a day", shown(p.Text))
		return ""
	}
	return text
}

// requests decodes scaling by HTTP requests, which pass through the interceptor of KEDA's
// HTTP add-on.
func (p part) requests() object.Value {
	if !p.given() {
		return object.Value{}
	}
	if count(p.field("concurrency"), p.field("rate")) == 0 {
		p.reject("write concurrency: 100, or rate: 50 for requests per second, of one pod", "expected concurrency, rate or both")
	}
	p.field("hosts").warnLiterals(useValue)
	p.field("paths").warnLiterals(useValue)
	if hosts := p.loc.To("hosts"); !p.field("hosts").given() && !p.Known(hosts.Path()) {
		p.failAt(p.Pos, hosts, "write the hosts that requests are for: hosts: [api.example.com]", "is missing")
	}
	return p.Value
}
