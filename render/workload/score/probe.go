// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// actions returns the names of the actions of a probe.
func actions() []string { return []string{"httpGet", "exec", "tcpSocket", "grpc"} }

// probe decodes a probe. The argument base has the form of Score, and more has what Score lacks.
// The result has the shape of the Kubernetes API, and every part the position where it was
// written.
func (e entry) probe(name string, base, more part) object.Value {
	at := base
	if !base.given() {
		at = more
	}
	if !at.given() {
		return object.Value{}
	}
	out := object.Value{Kind: object.KindMap, Pos: at.Pos, Members: slices.Concat(base.Members, more.Members)}

	// A probe has one action, wherever it is written.
	var acts []part
	for _, p := range []part{base, more} {
		for _, action := range actions() {
			if a := p.get(action); a.given() {
				acts = append(acts, a)
				a.warnLiterals(useValue)
				e.checkProbePort(a.get("port"))
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

	// Kubernetes refuses some fields of some probes.
	if most := more.get("successThreshold"); most.given() && most.Text != "1" && name != "readinessProbe" {
		most.fail("write 1", "must be 1 for this probe")
	}
	if grace := more.get("terminationGracePeriodSeconds"); grace.given() && name == "readinessProbe" {
		grace.fail("remove it", "a readiness probe does not stop containers")
	}
	return out
}

// checkProbePort reports a name that no port of the service has.
func (e entry) checkProbePort(p part) {
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
