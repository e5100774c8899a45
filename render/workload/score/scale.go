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

// Replicas is how many pods run. Without a trigger (Queue, Cron, HTTP), Max of 0 or equal
// to Min is a fixed number, and any other an autoscaler of Kubernetes; with one, KEDA scales.
type Replicas struct {
	Pos      object.Pos
	Min, Max int
	// CPU and Memory are the aims of the autoscaler in percent of the request; 0
	// means not given (80 % of the CPU where neither is and there is no trigger).
	CPU, Memory int
	// PollingInterval is how often KEDA looks at the triggers, and Cooldown how long it
	// waits before it stops the last pod: seconds, KindNone where they were not given.
	PollingInterval, Cooldown object.Value
	Queue                     *Queue
	// Cron is a list of windows {timezone, start, end, replicas}, the first with a default
	// of UTC; HTTP is {concurrency, rate, hosts, paths, port, namespace}. They are valid,
	// and KindNone where they were not given.
	Cron, HTTP object.Value
}

// Triggered reports whether KEDA scales the workload.
func (r *Replicas) Triggered() bool {
	return r != nil && (r.Queue != nil || r.Cron.Kind != object.KindNone || r.HTTP.Kind != object.KindNone)
}

// wakeHint is what to do where no pod may be left and nothing starts one.
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

	// Anything else has bounds and perhaps triggers.
	lowest, highest := p.get("min"), p.get("max")
	if n, ok := lowest.number(); ok {
		out.Min = n
	}
	most, bounded := highest.number()
	out.Max = most
	if q := p.get("queue"); q.given() {
		out.Queue = q.queue()
	}
	out.Cron = p.get("cron").windows(most)
	out.HTTP = p.get("http").requests()

	// The bounds have to fit the triggers.
	switch {
	case bounded && most < out.Min:
		highest.failBeside(lowest.Pos, "min", "max is %d, less than min, which is %d", most, out.Min)
	case bounded && out.Min == 0 && !out.Triggered():
		p.fail(wakeHint, "an autoscaler keeps one pod at least")
	case !highest.given() && out.Triggered() && !d.doc.Defaults:
		p.fail("write max too", "max is missing: triggers need an autoscaler")
	}

	// Targets need an autoscaler.
	for _, target := range []struct {
		name string
		to   *int
	}{{"cpu", &out.CPU}, {"memory", &out.Memory}} {
		a := p.get(target.name)
		*target.to, _ = a.number()
		if a.given() && !highest.given() && !out.Triggered() && !p.Known(p.at.Path()) {
			a.fail("write max too", "a target in percent of the request needs an autoscaler")
		}
	}
	out.decodePace(p.get("pollingInterval"), p.get("cooldown"))
	return out
}

// decodePace decodes the fields that only KEDA has, and warns of those without effect.
func (r *Replicas) decodePace(polling, cooldown part) {
	r.PollingInterval, r.Cooldown = polling.Value, cooldown.Value
	const hint = "remove it, or write a queue, cron or http"
	switch {
	case !r.Triggered():
		if polling.given() {
			polling.warn(hint, "has no effect: only triggers are polled")
		}
		if cooldown.given() {
			cooldown.warn(hint, "has no effect: only triggers stop the last pod")
		}
	case cooldown.given() && r.Min > 0:
		cooldown.warn("remove it, or write min: 0", "has no effect: it is the time before the last pod is stopped, and min is %d", r.Min)
	}
}

// count returns how many of parts are given.
func count(parts ...part) (n int) {
	for _, p := range parts {
		if p.given() {
			n++
		}
	}
	return n
}

// windows decodes the times in which more pods run. The argument most is the highest number of
// pods, or 0 if it is not known.
func (p part) windows(most int) object.Value {
	if len(p.Items) == 0 {
		return object.Value{}
	}
	out := object.Value{Kind: object.KindList, Pos: p.Pos}
	for _, item := range p.items() {
		out.Items = append(out.Items, item.window(most))
	}
	return out
}

// window decodes one of these times. It checks what KEDA checks when it reads the trigger, and
// that each time comes: a window whose end never comes lasts for ever.
func (p part) window(most int) object.Value {
	if zone := p.get("timezone"); zone.given() && !timezone.Known(zone.Text) {
		zone.fail(zoneHint(zone.Text), "%s is not a time zone of the IANA database", shown(zone.Text))
	}
	start, end := p.get("start"), p.get("end")
	from, to := start.schedule(), end.schedule()
	if from != "" && from == to {
		end.fail("", "is the same as start: the window has no length")
	}
	replicas := p.get("replicas")
	if n, ok := replicas.number(); ok && most > 0 && n > most {
		replicas.fail("raise max", "%d is more than max, which is %d", n, most)
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

// longestSchedule bounds what is parsed as a cron expression.
const longestSchedule = 256

// schedule checks a cron expression of five fields and returns it with single spaces between
// them, or "" if it is not valid. The library is the one of KEDA.
func (p part) schedule() string {
	const hint = kinds.CronHint
	if !p.given() {
		return ""
	}
	text := printable.OneLine(p.Text)
	if strings.Contains(text, "TZ=") {
		p.fail("write timezone: Europe/Berlin, or the one that it is", "cannot hold a time zone")
		return ""
	}
	if len(text) > longestSchedule {
		p.fail(hint, "%s is longer than %d characters", shown(text), longestSchedule)
		return ""
	}
	times, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
	if err != nil {
		p.fail(hint, "%s is not a cron expression: %w", shown(p.Text), err)
		return ""
	}
	// A leap year, so that 29 February comes.
	if times.Next(time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		p.fail("", "%s never comes: no month that it names has such a day", shown(p.Text))
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
	if count(p.get("concurrency"), p.get("rate")) == 0 {
		p.fail("write concurrency: 100, or rate: 50 for requests per second, of one pod", "expected concurrency, rate or both")
	}
	p.get("hosts").warnLiterals(useValue)
	p.get("paths").warnLiterals(useValue)
	if hosts := p.at.To("hosts"); !p.get("hosts").given() && !p.Known(hosts.Path()) {
		p.decoder.fail(p.Pos, hosts, "write the hosts that requests are for: hosts: [api.example.com]", "is missing")
	}
	return p.Value
}
