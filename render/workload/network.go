// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// agree finds the calls that both sides want: outbound in the one, inbound in
// the other. What only one side wants is a warning, and not allowed. The other
// side of a call out of the project is not to be seen, so that this side
// suffices; and a workload that calls itself is both sides.
func (p *Project) agree() object.Errors {
	let := make(map[*member]map[*member]bool, len(p.members))
	for _, m := range p.members {
		for _, c := range m.calls {
			if c.inbound() && c.target.member != nil {
				if let[m] == nil {
					let[m] = map[*member]bool{}
				}
				let[m][c.target.member] = true
			}
		}
	}
	var errs object.Errors
	for _, m := range p.members {
		called := map[*member]bool{}
		for _, c := range m.calls {
			other := c.target.member
			switch {
			case other == nil && c.inbound():
				m.network.inbound = append(m.network.inbound, peer{name: c.target.name, namespace: c.target.namespace})
			case other == nil || c.inbound() && other != m:
				continue
			case other != m && !let[other][m]:
				errs = append(errs, oneSided(m, c,
					fmt.Sprintf("the workload %q does not let %q in", other.name(), m.name()),
					fmt.Sprintf("give %q a resource of type service with direction: inbound and params.workload: %s", other.name(), m.name())))
			case !called[other]:
				called[other] = true
				m.network.outbound = append(m.network.outbound, other.peer(other.source.Spec.Ports))
				other.network.inbound = append(other.network.inbound, m.peer(nil))
			}
		}
	}
	return append(errs, p.uncalled()...)
}

// uncalled sorts the peers, and reports those that a workload lets in and that
// do not come.
func (p *Project) uncalled() object.Errors {
	var errs object.Errors
	for _, m := range p.members {
		m.network.inbound = sortPeers(m.network.inbound)
		m.network.outbound = sortPeers(m.network.outbound)
	}
	for _, m := range p.members {
		for _, c := range m.calls {
			other := c.target.member
			if !c.inbound() || other == nil || other == m {
				continue
			}
			if _, ok := slices.BinarySearchFunc(m.network.inbound, other.peer(nil), peer.compare); !ok {
				errs = append(errs, oneSided(m, c,
					fmt.Sprintf("the workload %q does not call %q", other.name(), m.name()),
					fmt.Sprintf("give %q a resource of type service with direction: outbound and params.workload: %s", other.name(), m.name())))
			}
		}
	}
	return errs
}

func (p peer) compare(o peer) int {
	return cmp.Or(strings.Compare(p.name, o.name), strings.Compare(p.namespace, o.namespace))
}

// sortPeers sorts peers and makes those one that are the same workload: with
// the ports of all, and with every port where one of them has none.
func sortPeers(all []peer) []peer {
	slices.SortStableFunc(all, peer.compare)
	out := all[:0]
	for _, p := range all {
		last := len(out) - 1
		switch {
		case last < 0 || out[last].compare(p) != 0:
			out = append(out, p)
		case len(p.ports) == 0 || len(out[last].ports) == 0:
			out[last].ports = nil
		default:
			out[last].ports = sortPorts(append(slices.Clip(out[last].ports), p.ports...))
		}
	}
	return out
}

// sortPorts sorts ports by what a policy sees of them, and writes each once.
func sortPorts(ports []score.Port) []score.Port {
	compare := func(a, b score.Port) int {
		return cmp.Or(cmp.Compare(cmp.Or(a.Target, a.Port), cmp.Or(b.Target, b.Port)), strings.Compare(a.Protocol, b.Protocol))
	}
	slices.SortStableFunc(ports, compare)
	return slices.CompactFunc(ports, func(a, b score.Port) bool { return compare(a, b) == 0 })
}

func oneSided(m *member, c call, what, hint string) *object.Error {
	return &object.Error{
		Stage: object.StageSpec, Severity: object.SeverityWarning,
		Pos: c.target.pos, Path: m.resourcePath(c.resource),
		Err: fmt.Errorf("%s, so the network policies do not allow the call", what), Hint: hint,
	}
}

// peer is m as others see it.
func (m *member) peer(ports []score.Port) peer {
	account := m.source.Spec.ServiceAccount.Name.Value
	if account == "" {
		account = m.name()
	}
	return peer{name: m.name(), namespace: m.source.Context.Namespace, serviceAccount: account, ports: ports}
}
