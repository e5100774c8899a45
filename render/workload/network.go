// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// agree finds the calls that both sides want: outbound in the one, inbound in
// the other. What only one side wants is a warning, and not allowed.
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
			if c.inbound() || other == nil || other == m {
				continue
			}
			if !let[other][m] {
				errs = append(errs, oneSided(m, c,
					fmt.Sprintf("the workload %q does not let %q in", other.name(), m.name()),
					fmt.Sprintf("give %q a resource of type service with direction: inbound and params.workload: %s", other.name(), m.name())))
				continue
			}
			if !called[other] {
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
	byName := func(a, b peer) int { return strings.Compare(a.name, b.name) }
	for _, m := range p.members {
		slices.SortFunc(m.network.inbound, byName)
		slices.SortFunc(m.network.outbound, byName)
		for _, c := range m.calls {
			other := c.target.member
			if !c.inbound() || other == nil || other == m {
				continue
			}
			if _, ok := slices.BinarySearchFunc(m.network.inbound, other.peer(nil), byName); !ok {
				errs = append(errs, oneSided(m, c,
					fmt.Sprintf("the workload %q does not call %q", other.name(), m.name()),
					fmt.Sprintf("give %q a resource of type service with direction: outbound and params.workload: %s", other.name(), m.name())))
			}
		}
	}
	return errs
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

// reach adds what the resource called name lets the workload reach beside other
// workloads. A host in the cluster is told from one outside by its suffix, the
// only thing that all provisioners have in common.
func (n *network) reach(name string, i *instance, params object.Value, r *result, clusterDomain string) {
	switch i.resource.Type.Value {
	case typeService, typeServicePort, typeRoute:
		return
	case typeExternalService:
		host, port := first(r.outputs["host"], params, "host"), first(r.outputs["port"], params, "port")
		n.external = append(n.external, outside(name, host, port, first(r.outputs["protocol"], params, "protocol"))...)
		return
	}
	host, port := r.outputs["host"], r.outputs["port"]
	if number := portNumber(port); number == 0 || host == "" {
		return
	} else if inCluster(host, clusterDomain) {
		n.backends = append(n.backends, backend{host: host, port: number})
		return
	}
	n.external = append(n.external, outside(name, host, port, "")...)
}

// first is the output where there is one, else the param.
func first(output string, params object.Value, param string) string {
	if output != "" {
		return output
	}
	v, _ := params.Get(param)
	return v.Text
}

// outside is a host outside of the cluster, or nothing where host or port are
// not known.
func outside(name, host, port, protocol string) []external {
	number := portNumber(port)
	if host == "" || number == 0 {
		return nil
	}
	if protocol = strings.ToUpper(protocol); protocol != "UDP" {
		protocol = "TCP"
	}
	return []external{{name: name, host: host, ports: []score.Port{{Port: number, Target: number, Protocol: protocol}}}}
}

func inCluster(host, clusterDomain string) bool {
	host = strings.TrimSuffix(host, ".")
	return strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".svc."+clusterDomain) || !strings.Contains(host, ".")
}

// portNumber is the port that text names, 0 where it names none.
func portNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		return 0
	}
	return n
}
