// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
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
				m.network.Inbound = append(m.network.Inbound, generate.Peer{Name: c.target.name, Namespace: c.target.namespace})
			case other == nil || c.inbound() && other != m:
				continue
			case other != m && !let[other][m]:
				errs = append(errs, oneSided(m, c,
					fmt.Sprintf("the workload %q does not let %q in", other.name(), m.name()),
					fmt.Sprintf("give %q a resource of type service with direction: inbound and params.workload: %s", other.name(), m.name())))
			case !called[other]:
				called[other] = true
				m.network.Outbound = append(m.network.Outbound, other.peer(other.source.Spec.Ports))
				other.network.Inbound = append(other.network.Inbound, m.peer(nil))
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
		m.network.Inbound = sortPeers(m.network.Inbound)
		m.network.Outbound = sortPeers(m.network.Outbound)
	}
	for _, m := range p.members {
		for _, c := range m.calls {
			other := c.target.member
			if !c.inbound() || other == nil || other == m {
				continue
			}
			if _, ok := slices.BinarySearchFunc(m.network.Inbound, other.peer(nil), comparePeers); !ok {
				errs = append(errs, oneSided(m, c,
					fmt.Sprintf("the workload %q does not call %q", other.name(), m.name()),
					fmt.Sprintf("give %q a resource of type service with direction: outbound and params.workload: %s", other.name(), m.name())))
			}
		}
	}
	return errs
}

func comparePeers(p, o generate.Peer) int {
	return cmp.Or(strings.Compare(p.Name, o.Name), strings.Compare(p.Namespace, o.Namespace))
}

// sortPeers sorts peers and makes those one that are the same workload: with
// the ports of all, and with every port where one of them has none.
func sortPeers(all []generate.Peer) []generate.Peer {
	slices.SortStableFunc(all, comparePeers)
	out := all[:0]
	for _, p := range all {
		last := len(out) - 1
		switch {
		case last < 0 || comparePeers(out[last], p) != 0:
			out = append(out, p)
		case len(p.Ports) == 0 || len(out[last].Ports) == 0:
			out[last].Ports = nil
		default:
			out[last].Ports = generate.SortPorts(append(slices.Clip(out[last].Ports), p.Ports...))
		}
	}
	return out
}

func oneSided(m *member, c call, what, hint string) *object.Error {
	return &object.Error{
		Stage: object.StageSpec, Severity: object.SeverityWarning,
		Pos: c.target.pos, Path: m.resourcePath(c.resource),
		Err: fmt.Errorf("%s, so the network policies do not allow the call", what), Hint: hint,
	}
}

// peer is m as others see it.
func (m *member) peer(ports []score.Port) generate.Peer {
	account := m.source.Spec.ServiceAccount.Name.Value
	if account == "" {
		account = m.name()
	}
	return generate.Peer{Name: m.name(), Namespace: m.source.Context.Namespace, ServiceAccount: account, Ports: ports}
}
