// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Entry is the ServiceEntry of a host that the project declares. The workloads of a namespace
// share it: two with one host would contradict each other.
type Entry struct {
	Name string
	// Ports have the protocols of Istio. There are none if another workload makes the entry.
	Ports []score.Port
}

// Entries returns the ServiceEntry of each host that a project declares. Services with the same
// host share an entry, with the name of the first of them.
func Entries(services map[string]spec.ExternalService) map[string]Entry {
	out := map[string]Entry{}
	for _, name := range object.SortedKeys(services) {
		s := services[name]
		e, exists := out[s.Host]
		if !exists {
			e.Name = name
		}
		protocol := protocolOfIstio(s)
		for _, port := range s.Ports {
			listed := slices.ContainsFunc(e.Ports, func(p score.Port) bool { return p.Port == port })
			if protocol != "" && !listed {
				e.Ports = append(e.Ports, score.Port{Port: port, Protocol: protocol})
			}
		}
		out[s.Host] = e
	}
	return out
}

// protocolOfIstio returns the protocol of a service in a ServiceEntry, or "" if there is none, as for
// UDP. An address has protocol TCP, because a client sends no name for TLS and any name for HTTP.
func protocolOfIstio(s spec.ExternalService) string {
	switch p := s.Protocol; {
	case p == "udp":
		return ""
	case s.CIDR() != "":
		return "TCP"
	case p == "http" || p == "ws":
		return "HTTP"
	case p == "grpc":
		return "GRPC"
	case slices.Contains([]string{"https", "wss", "tls", "rediss", "amqps"}, p):
		return "TLS"
	}
	return "TCP"
}

// addService allows calls to a service that the project declares.
func (n *reach) addService(s *spec.ExternalService, entries map[string]Entry) {
	entry, protocol := entries[s.Host], ProtocolTCP
	if s.Protocol == "udp" {
		protocol = "UDP"
	}
	e := External{
		Name: entry.Name, Host: s.Host, CIDR: s.CIDR(), Entry: &entry,
		Pos: s.Pos, Path: object.Fields("spec", "workloads", "externalServices", s.Name).String(),
	}
	for _, port := range s.Ports {
		n.addExternal(e, port, protocol)
	}
}

// paramPodLabels is the param that names the pods of an existing resource.
const paramPodLabels = "podLabels"

// podLabels returns the labels of the pods of an existing resource. A resource with objects has
// labels that its author did not choose.
func podLabels(r resource.Made) (object.Value, *object.Error) {
	labels, ok := r.Params.Get(paramPodLabels)
	if !ok || len(r.Nodes) > 0 {
		return object.Value{}, nil
	}
	noText := func(m object.Member) bool { return m.Value.Kind != object.KindString }
	if labels.Kind != object.KindMap || slices.ContainsFunc(labels.Members, noText) {
		return object.Value{}, wrongLabels(r, labels, object.SeverityError,
			"write {app: postgres}, or those that the pods have", "must be a map of texts")
	}
	labels.Members = slices.Clone(labels.Members)
	slices.SortFunc(labels.Members, func(a, b object.Member) int { return strings.Compare(a.Name, b.Name) })
	return labels, nil
}

func wrongLabels(r resource.Made, labels object.Value, severity object.Severity, hint, problem string) *object.Error {
	return &object.Error{
		Stage: object.StageSpec, Severity: severity, Pos: labels.Pos, Path: r.Path + ".params." + paramPodLabels,
		Err: fmt.Errorf("podLabels %s", problem), Hint: hint,
	}
}
