// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// actions are those of a probe.
func actions() []string { return []string{"httpGet", "exec", "tcpSocket", "grpc"} }

// probe decodes a probe: base has the form of Score, more has what Score lacks
// beside it. What comes out has the shape of the Kubernetes API, and every part
// the position where it was written.
func (e entry) probe(name string, base, more part) object.Value {
	at := base
	if !base.given() {
		at = more
	}
	if !at.given() {
		return object.Value{}
	}
	out := object.Value{Kind: object.KindMap, Pos: at.Pos, Members: slices.Concat(base.Members, more.Members)}
	var acts []part
	for _, p := range []part{base, more} {
		for _, action := range actions() {
			if a := p.get(action); a.given() {
				acts = append(acts, a)
				a.literals(useValue)
				e.probePort(a.get("port"))
			}
		}
	}
	_, exec := base.Get("exec")
	_, http := base.Get("httpGet")
	switch {
	case len(acts) == 0 && !more.Known(more.at.Path()):
		known := actions()
		if !more.given() {
			known = known[:2]
		}
		at.fail("", "a probe has one of %s", strings.Join(known, ", "))
	case exec && http && len(acts) == 2:
		acts[0].warn("remove one of them", "Score prefers exec where a probe has both: httpGet is left out")
		out = out.Without(object.Fields("httpGet"))
	case len(acts) > 1:
		acts[1].fail("remove one of them", "a probe has one action, got a second")
	}
	if most := more.get("successThreshold"); most.given() && most.Text != "1" && name != "readinessProbe" {
		most.fail("write 1", "must be 1 for this probe")
	}
	if grace := more.get("terminationGracePeriodSeconds"); grace.given() && name == "readinessProbe" {
		grace.fail("remove it", "a readiness probe does not stop containers")
	}
	return out
}

// probePort checks the name of a port of the service.
func (e entry) probePort(p part) {
	if p.Kind != object.KindString || e.doc.Defaults {
		return
	}
	names := make([]string, 0, len(e.out.Ports))
	for _, port := range e.out.Ports {
		names = append(names, port.Name)
	}
	if !slices.Contains(names, p.Text) {
		p.fail(suggest(p.Text, names), "the service has no port %s", shown(p.Text))
	}
}
