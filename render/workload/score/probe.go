// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// The actions of a probe, those of Score first.
func actions(wide bool) []string {
	if wide {
		return []string{"httpGet", "exec", "tcpSocket", "grpc"}
	}
	return []string{"httpGet", "exec"}
}

// clock is a field of a probe that controls when it runs, with its least value.
type clock struct {
	name  string
	least int
}

func clocks() []clock {
	return []clock{
		{"initialDelaySeconds", 0}, {"periodSeconds", 1}, {"timeoutSeconds", 1}, {"successThreshold", 1},
		{"failureThreshold", 1}, {"terminationGracePeriodSeconds", 1},
	}
}

// probe decodes a probe: base has the form of Score, more has what Score lacks
// beside it. What comes out has the shape of the Kubernetes API, and every part
// the position where it was written.
func (e entry) probe(name string, base, more part) object.Value {
	if !base.given() && !more.given() {
		return object.Value{}
	}
	out := object.Value{Kind: object.KindMap, Pos: base.Pos}
	if !base.given() {
		out.Pos = more.Pos
	}
	var acts []part
	complete, both := true, false
	for i, p := range []part{base, more} {
		if !p.given() {
			continue
		}
		f := p.fields()
		for _, action := range actions(i > 0) {
			if a := f.get(action); a.given() {
				acts = append(acts, a)
				out.Members = append(out.Members, object.Member{Name: action, Pos: a.Pos, Value: e.action(action, a, i > 0)})
			}
		}
		both = both || i == 0 && len(acts) == 2
		complete = complete && f.given() && !f.misspelt(actions(i > 0)...)
		if i > 0 {
			e.timing(name, f, &out)
		}
		f.done(func(field string) string {
			if i == 0 && slices.ContainsFunc(clocks(), func(c clock) bool { return c.name == field }) {
				return "in a Score file it goes under metadata.containers." + e.name + "." + name
			}
			return ""
		})
	}
	at := base
	if !at.given() {
		at = more
	}
	switch {
	case len(acts) == 0 && complete:
		at.fail("", "a probe has one of %s", strings.Join(actions(more.given()), ", "))
	case both && len(acts) == 2 && base.doc.Score:
		acts[0].warn("remove one of them", "Score prefers exec where a probe has both: httpGet is left out")
		out.Members = out.Members[1:]
	case len(acts) > 1:
		acts[1].fail("remove one of them", "a probe has one action, got a second")
	}
	return out
}

// timing decodes when a probe runs.
func (e entry) timing(probe string, f *fields, out *object.Value) {
	for _, t := range clocks() {
		p := f.get(t.name)
		if !p.given() {
			continue
		}
		n, ok := p.number(t.least, maxInt32)
		switch {
		case ok && t.name == "successThreshold" && n > 1 && probe != "readinessProbe":
			p.fail("write 1", "must be 1 for this probe")
		case ok && t.name == "terminationGracePeriodSeconds" && probe == "readinessProbe":
			p.fail("remove it", "a readiness probe does not stop containers")
		}
		out.Members = append(out.Members, object.Member{Name: t.name, Pos: p.Pos, Value: p.Value})
	}
}

// action decodes what a probe does.
func (e entry) action(name string, p part, wide bool) object.Value {
	p.literals(useValue)
	f := p.fields()
	switch name {
	case "exec":
		if c := f.need("command", `write a list, such as ["/bin/check"]`); c.given() {
			if texts := c.texts(); len(texts) == 0 && c.Kind == object.KindList {
				c.fail("", "must not be empty")
			}
		}
	case "httpGet":
		e.probePort(f.need("port", "write port: 8080, or the one that it is"), wide)
		if wide {
			f.get("path").text()
		} else {
			f.need("path", "write path: /, or the one that it is").text()
		}
		f.get("host").filled()
		if s := f.get("scheme"); s.given() {
			s.enum("HTTP", "HTTPS")
		}
		if h := f.get("httpHeaders"); h.given() {
			for _, item := range h.items() {
				item.header()
			}
		}
	case "tcpSocket":
		e.probePort(f.need("port", "write port: 8080, or the one that it is"), wide)
		f.get("host").filled()
	case "grpc":
		f.need("port", "write port: 8080, or the one that it is").number(1, maxPort)
		f.get("service").text()
	}
	f.done(nil)
	return withoutNull(p.Value)
}

// probePort decodes a port of a probe: a number, or in what is ours the name of
// a port of the service.
func (e entry) probePort(p part, wide bool) {
	if !wide || p.Kind != object.KindString {
		p.number(1, maxPort)
		return
	}
	names := make([]string, 0, len(e.out.Ports))
	for _, port := range e.out.Ports {
		names = append(names, port.Name)
	}
	if !slices.Contains(names, p.Text) && !e.doc.Defaults {
		p.fail(e.suggest(p.Text, names), "the service has no port %s", shown(p.Text))
	}
}

// header decodes a header of a probe.
func (p part) header() {
	f := p.fields()
	name := f.need("name", "")
	if t := name.filled(); t.Value != "" && strings.Trim(t.Value, letter+digit+"_-") != "" {
		name.fail("", "%s is not a header name: expected letters, digits, _ and -", shown(t.Value))
	}
	value := f.need("value", "")
	if value.doc.Score {
		value.filled()
	} else {
		value.text()
	}
	f.done(nil)
}
