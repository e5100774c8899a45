// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Types of resources that have a meaning of their own here: the meaning of other types depends on
// their provisioners.
const (
	// TypeRoute is the type of resources that lead requests in from outside.
	TypeRoute = "route"

	typeService         = "service"
	typeServicePort     = "service-port"
	typeExternalService = "external-service"
	typeEndpoint        = "endpoint"
	typeDNS             = "dns"
	typeS3              = "s3"
)

// ProtocolTCP is the default protocol of a port.
const ProtocolTCP = "TCP"

// IsCall reports whether resources of a type name another workload.
func IsCall(kind string) bool {
	return kind == typeService || kind == typeServicePort || kind == typeEndpoint
}

// Workload is the view that the other workloads of a project have of a workload.
type Workload struct {
	Name, Namespace, ServiceAccount string
	Ports                           []score.Port
	// Serverless is set for a KnativeService, which is called through Knative's gateway.
	Serverless bool
	// Pos is the position of its document.
	Pos object.Pos
	// Calls are the resources that name another workload.
	Calls []Call
	// Rules are the traffic that the author allows beside the calls, or nil, and Allowed the
	// services of the project that they name.
	Rules   *score.Rules
	Allowed []*spec.ExternalService
	// Entries are the hosts that the project declares and the workload calls.
	Entries map[string]Entry
	// Network has the peers of the workload after [Agree].
	Network
}

// Call is a resource by which one workload calls another, or admits its calls.
type Call struct {
	Resource *score.Resource
	// Path leads to the resource in its document.
	Path   string
	Target Target
}

// inbound reports whether the resource admits calls of the other workload.
func (c Call) inbound() bool { return c.Resource.Direction.Value == score.DirectionInbound }

// Target is the other workload that a resource names. Account is the account that it names for a
// workload outside of the project, or "" for the account with the name of the workload.
type Target struct {
	Name, Namespace, Account string
	// Workload is nil if the project does not have it.
	Workload *Workload
	Pos      object.Pos
}

// String returns the target as an author may write it.
func (t Target) String() string {
	if t.Workload != nil || t.Namespace == "" {
		return t.Name
	}
	return t.Namespace + "/" + t.Name
}

// Target returns the workload that r names, or false if r is not a call.
func (m *Workload) Target(r *score.Resource) (Target, bool) {
	for _, c := range m.Calls {
		if c.Resource == r {
			return c.Target, true
		}
	}
	return Target{}, false
}

// Network is the traffic of a workload that both sides agreed on.
type Network struct {
	Inbound, Outbound []Peer
	External          []External
	Backends          []Endpoint
	// Knative is set if the workload calls a KnativeService.
	Knative bool
}

// KnativeGateway is the port of the pods of Knative's gateways (Kourier, Istio) for calls from
// inside of the cluster.
const KnativeGateway = 8081

// Peer is another workload. For a workload outside of the project, an empty list of ports means
// any port, and an empty account means the account with its name.
type Peer struct {
	Name, Namespace, ServiceAccount string
	// Unlabelled is set for a workload outside of the project that is named by its account.
	Unlabelled bool
	Ports      []score.Port
}

// peer returns the peer for a target that the project does not have.
func (t Target) peer() Peer {
	return Peer{Name: t.Name, Namespace: t.Namespace, ServiceAccount: t.Account, Unlabelled: t.Account != ""}
}

// External is a host outside of the cluster; CIDR is set if it is an address.
type External struct {
	Name, Host, CIDR string
	Ports            []score.Port
	// Entry is set for a host that the project declares.
	Entry *Entry
	// Pos and Path are the place where the author, or the project, calls the host external;
	// Pos is not valid if another resource leads there.
	Pos  object.Pos
	Path string
}

// Endpoint is a Service of the cluster, by its host name, and its port. Labels are the labels of its
// pods, if they are known.
type Endpoint struct {
	Host   string
	Port   int
	Labels object.Value
}

// Agree finds the calls that both workloads declare: outbound in one, inbound in the other. A call
// that only one of them declares is a warning, and not allowed. A workload outside of the project
// is not known, so that one declaration is enough, and a workload that calls itself declares both.
// In a project without policies (open) one declaration is enough for every call, and policies exist
// only for the rules of the author.
func Agree(workloads []*Workload, open bool) object.Errors {
	// Find the calls that each workload admits.
	admitted := make(map[*Workload]map[*Workload]bool, len(workloads))
	for _, m := range workloads {
		for _, c := range m.Calls {
			if c.inbound() && c.Target.Workload != nil {
				if admitted[m] == nil {
					admitted[m] = map[*Workload]bool{}
				}
				admitted[m][c.Target.Workload] = true
			}
		}
	}

	// Add the peers, and report calls that the other workload does not admit.
	var errs object.Errors
	for _, m := range workloads {
		called := map[*Workload]bool{}
		for _, c := range m.Calls {
			other := c.Target.Workload
			switch {
			case other == nil && c.inbound():
				m.Inbound = append(m.Inbound, c.Target.peer())
			case other == nil || (c.inbound() && other != m):
				continue
			case other != m && !admitted[other][m] && !open:
				errs = append(errs, oneSided(c,
					fmt.Sprintf("the workload %q does not let %q in", other.Name, m.Name),
					fmt.Sprintf("give %q a resource of type service with direction: inbound and params.workload: %s", other.Name, m.Name)))
			case !called[other]:
				called[other] = true
				m.Knative = m.Knative || other.Serverless
				if !other.Serverless {
					m.Outbound = append(m.Outbound, other.peer(other.Ports))
				}
				other.Inbound = append(other.Inbound, m.peer(nil))
			}
		}
	}

	// Admitted calls that no workload makes are found when all peers are known.
	uncalled := reportUncalled(workloads)
	if open {
		return nil
	}
	return append(errs, uncalled...)
}

// reportUncalled sorts the peers of all workloads, and reports workloads whose calls are admitted
// and that do not call.
func reportUncalled(workloads []*Workload) object.Errors {
	var errs object.Errors
	for _, m := range workloads {
		m.Inbound = sortPeers(m.Inbound)
		m.Outbound = sortPeers(m.Outbound)
	}
	for _, m := range workloads {
		for _, c := range m.Calls {
			other := c.Target.Workload
			if !c.inbound() || other == nil || other == m {
				continue
			}
			if _, ok := slices.BinarySearchFunc(m.Inbound, other.peer(nil), comparePeers); !ok {
				errs = append(errs, oneSided(c,
					fmt.Sprintf("the workload %q does not call %q", other.Name, m.Name),
					fmt.Sprintf("give %q a resource of type service with direction: outbound and params.workload: %s", other.Name, m.Name)))
			}
		}
	}
	return errs
}

func comparePeers(p, o Peer) int {
	return cmp.Or(
		strings.Compare(p.Name, o.Name), strings.Compare(p.Namespace, o.Namespace), strings.Compare(p.ServiceAccount, o.ServiceAccount),
	)
}

// sortPeers sorts peers and joins equal workloads. The result has the ports of all of them, or every
// port if one of them names no port.
func sortPeers(peers []Peer) []Peer {
	slices.SortStableFunc(peers, comparePeers)
	out := peers[:0]
	for _, p := range peers {
		last := len(out) - 1
		switch {
		case last < 0 || comparePeers(out[last], p) != 0:
			out = append(out, p)
		case len(p.Ports) == 0 || len(out[last].Ports) == 0:
			out[last].Ports = nil
		default:
			out[last].Ports = sortPorts(append(slices.Clip(out[last].Ports), p.Ports...))
		}
	}
	return out
}

// oneSided returns a warning for a call that only one of the two workloads declares.
func oneSided(c Call, problem, hint string) *object.Error {
	return &object.Error{
		Stage: object.StageSpec, Severity: object.SeverityWarning,
		Pos: c.Target.Pos, Path: c.Path,
		Err: fmt.Errorf("%s, so the network policies do not allow the call", problem), Hint: hint,
	}
}

// peer returns m as a peer of other workloads.
func (m *Workload) peer(ports []score.Port) Peer {
	return Peer{Name: m.Name, Namespace: m.Namespace, ServiceAccount: m.ServiceAccount, Ports: ports}
}
