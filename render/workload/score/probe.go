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

// probe decodes a probe. The argument base holds the fields that Score has, and extra the others.
// The result has the shape of the Kubernetes API, and every part keeps its position.
func (e entry) probe(name string, base, extra part) object.Value {
	written := base
	if !base.given() {
		written = extra
	}
	if !written.given() {
		return object.Value{}
	}
	out := object.Value{Kind: object.KindMap, Pos: written.Pos, Members: slices.Concat(base.Members, extra.Members)}

	// A probe has one action, wherever it is written.
	var acts []part
	for _, p := range []part{base, extra} {
		for _, action := range actions() {
			if a := p.field(action); a.given() {
				acts = append(acts, a)
				a.warnLiterals(useValue)
				e.checkProbePort(a.field("port"))
			}
		}
	}
	_, exec := base.Get("exec")
	_, http := base.Get("httpGet")
	switch {
	case len(acts) == 0 && !extra.Known(extra.loc.Path()):
		expected := actions()
		if !extra.given() {
			expected = expected[:2]
		}
		written.reject("", "a probe has one of %s", strings.Join(expected, ", "))
	case exec && http && len(acts) == 2:
		acts[0].advise("remove one of them", "Score prefers exec where a probe has both: httpGet is left out")
		out = out.Without(object.Fields("httpGet"))
	case len(acts) > 1:
		acts[1].reject("remove one of them", "a probe has one action, got a second")
	}

	// Kubernetes refuses some fields of some probes.
	if threshold := extra.field("successThreshold"); threshold.given() && threshold.Text != "1" && name != "readinessProbe" {
		threshold.reject("write 1", "must be 1 for this probe")
	}
	if grace := extra.field("terminationGracePeriodSeconds"); grace.given() && name == "readinessProbe" {
		grace.reject("remove it", "a readiness probe does not stop containers")
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
		p.reject(suggest(p.Text, names), "the service has no port %s", shown(p.Text))
	}
}
