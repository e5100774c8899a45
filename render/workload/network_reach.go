// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// reachable is the network of a workload while it is composed.
type reachable struct{ generate.Network }

// reachable is what the workload talks to: peers, and what its resources lead to.
func (c *Compilation) reachable() generate.Network {
	m := c.member
	out := reachable{m.network}
	// Others compile workloads of the same project at the same time.
	out.Outbound = slices.Clone(out.Outbound)
	for n, i := range m.instances {
		r := c.result(i)
		if r == nil {
			continue
		}
		own, params := &m.source.Spec.Resources[n], c.state[i].params
		call := isCall(own.Type.Value)
		if call && !out.stranger(m, own, params, r) {
			continue
		}
		for _, d := range destinations(own.Type.Value, params, r) {
			// A provisioner may know better than the project that it is no workload.
			if !call || !c.project.inCluster(d.host, m.source.Context.ClusterDomain, false) {
				out.reach(c.project, m, own, d)
			}
		}
	}
	out.Outbound = sortPeers(out.Outbound)
	slices.SortStableFunc(out.Backends, func(a, b generate.Endpoint) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	out.Backends = slices.Compact(out.Backends)
	for i := range out.External {
		out.External[i].Ports = generate.SortPorts(out.External[i].Ports)
	}
	return out.Network
}

// stranger lets the workload call one that the project does not have. Its ports
// are not known but for the one that the resource names. It reports whether own
// is such a call.
func (n *reachable) stranger(m *member, own *score.Resource, params object.Value, r *result) bool {
	for _, c := range m.calls {
		if c.resource != own || c.target.member != nil || c.inbound() {
			continue
		}
		p := generate.Peer{Name: c.target.name, Namespace: c.target.namespace}
		if port := generate.PortNumber(first(r.outputs["port"], params, "port")); port > 0 {
			p.Ports = []score.Port{{Port: port, Target: port, Protocol: generate.ProtocolTCP}}
		}
		n.Outbound = append(n.Outbound, p)
		return true
	}
	return false
}

// destination is a port of a host.
type destination struct {
	host     string
	port     int
	protocol string
}

// destinations are where the outputs of a resource lead to: its host and port,
// else those of its URLs. A route, and the name that it has in the DNS, lead to
// the workload and not away from it.
func destinations(kind string, params object.Value, r *result) []destination {
	var host, port, protocol string
	switch kind {
	case generate.TypeRoute, typeDNS:
		return nil
	case typeExternalService:
		host, port = first(r.outputs["host"], params, "host"), first(r.outputs["port"], params, "port")
		protocol = first(r.outputs["protocol"], params, "protocol")
	default:
		host, port = r.outputs["host"], r.outputs["port"]
	}
	if number := generate.PortNumber(port); number > 0 && host != "" {
		return []destination{{bare(host), number, protocol}}
	}
	var out []destination
	for _, name := range []string{"endpoint", "url"} {
		d, ok := fromURL(r.outputs[name])
		if !ok {
			continue
		}
		out = append(out, d)
		// Clients of S3 put the bucket before the host unless configured otherwise.
		if bucket := r.outputs["bucket"]; kind == typeS3 && bucket != "" && strings.Contains(d.host, ".") && !isAddress(d.host) {
			out = append(out, destination{bucket + "." + d.host, d.port, d.protocol})
		}
	}
	return out
}

// fromURL is the host of a URL, and its port or that of its scheme.
func fromURL(text string) (destination, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return destination{}, false
	}
	port := generate.PortNumber(u.Port())
	if u.Port() == "" {
		port = portOfScheme(u.Scheme)
	}
	d := destination{host: strings.ToLower(u.Hostname()), port: port}
	odd := strings.ContainsFunc(d.host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-._:", r)
	})
	return d, port > 0 && !odd
}

// portOfScheme is the port that a URL without one means; 0 is not known.
func portOfScheme(scheme string) int {
	switch scheme {
	case "https", "wss":
		return 443
	case "http", "ws":
		return 80
	case "postgres", "postgresql":
		return 5432
	case "mysql":
		return 3306
	case "mongodb":
		return 27017
	case "redis", "rediss":
		return 6379
	case "amqp":
		return 5672
	case "amqps":
		return 5671
	}
	return 0
}

// reach lets the workload reach one port of a host. A host in the cluster is
// distinguished from one outside by its name, the only thing that all provisioners have
// in common.
func (n *reachable) reach(p *Project, m *member, own *score.Resource, d destination) {
	protocol := generate.ProtocolTCP
	if strings.EqualFold(d.protocol, "UDP") {
		protocol = "UDP"
	}
	address, err := netip.ParseAddr(d.host)
	switch {
	case d.host == "localhost" || err == nil && (address.IsLoopback() || address.IsUnspecified()):
		return
	case err == nil:
		address = address.Unmap().WithZone("")
		n.outside(own.Name, address.String(), netip.PrefixFrom(address, address.BitLen()).String(), d.port, protocol)
	case p.inCluster(d.host, m.source.Context.ClusterDomain, own.Type.Value == typeExternalService):
		n.Backends = append(n.Backends, generate.Endpoint{Host: d.host, Port: d.port})
	default:
		n.outside(own.Name, d.host, "", d.port, protocol)
	}
}

// outside adds a port of a host outside of the cluster. A host is written once,
// under the name of the first resource that leads there.
func (n *reachable) outside(name, host, cidr string, port int, protocol string) {
	ports := []score.Port{{Port: port, Target: port, Protocol: protocol}}
	taken := false
	for i := range n.External {
		if n.External[i].Host == host {
			n.External[i].Ports = append(n.External[i].Ports, ports...)
			return
		}
		taken = taken || n.External[i].Name == name
	}
	if taken {
		name = generate.Limit(name+"-"+generate.ShortHash(host), 63)
	}
	n.External = append(n.External, generate.External{Name: name, Host: host, CIDR: cidr, Ports: ports})
}

// inCluster reports whether host is a Service: svc, svc.namespace,
// svc.namespace.svc or that with the domain of the cluster. svc.namespace looks
// like any short name of the internet; it is a Service where the project has the
// namespace, or where the end is none that such names have. What an author calls
// external is so in doubt.
func (p *Project) inCluster(host, clusterDomain string, external bool) bool {
	host = strings.TrimSuffix(host, ".")
	words := strings.Split(host, ".")
	switch {
	case len(words) == 1 || strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".svc."+clusterDomain):
		return true
	case len(words) != 2 || strings.Contains(host, "*"):
		return false
	}
	end := words[1]
	if slices.ContainsFunc(p.members, func(m *member) bool { return m.source.Context.Namespace == end }) {
		return true
	}
	return !external && len(end) > 2 && !slices.Contains([]string{
		"app", "biz", "cloud", "com", "dev", "edu", "gov", "info", "int", "mil", "net", "online", "org", "xyz",
	}, end)
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// bare is a host without the brackets that an address of IPv6 may have.
func bare(host string) string { return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]") }

// first is the output where there is one, else the param.
func first(output string, params object.Value, param string) string {
	if output != "" {
		return output
	}
	v, _ := params.Get(param)
	return v.Text
}
