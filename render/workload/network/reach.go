// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"bytes"
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Cluster holds the facts by which hosts of a cluster are recognized.
type Cluster struct {
	// Domain is the domain of the cluster.
	Domain string
	// Namespaces are the namespaces of the project.
	Namespaces map[string]bool
}

// reach collects the network of a workload.
type reach struct {
	Network
	cluster Cluster
}

// Reach returns the allowed traffic of the workload: its peers, and the destinations of its
// resources. The errors concern labels of pods that do not fit their resource.
func (m *Workload) Reach(resources []resource.Made, cluster Cluster) (Network, object.Errors) {
	var errs object.Errors
	out := reach{m.Network, cluster}
	// Others compile workloads of the same project at the same time.
	out.Outbound = slices.Clone(out.Outbound)

	// Add the destinations of the resources.
	for _, r := range resources {
		call := IsCall(r.Resource.Type.Value)
		if call && !out.addStranger(m, r) {
			continue
		}
		if s := r.External; s != nil && withoutBrackets(r.Outputs["host"]) == s.Host {
			out.addService(s, m.Entries)
			continue
		}
		labels, err := podLabels(r)
		if err != nil {
			errs = append(errs, err)
		}
		before := len(out.Backends)
		for _, d := range destinations(r, cluster) {
			// A provisioner may give a call a host outside of the cluster.
			if !call || !cluster.holds(d.host, false) {
				out.add(r, d, labels)
			}
		}
		if len(labels.Members) > 0 && before == len(out.Backends) {
			errs = append(errs, wrongLabels(r, labels, object.SeverityWarning, "remove them, or write params.host",
				"are those of pods in the cluster, and the resource leads to none"))
		}
	}

	// Add the hosts of rules, and sort.
	out.addHosts(m.Rules)
	for _, s := range m.Allowed {
		out.addService(s, m.Entries)
	}
	out.Outbound = sortPeers(out.Outbound)
	slices.SortStableFunc(out.Backends, func(a, b Endpoint) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port), bytes.Compare(a.Labels.JSON(), b.Labels.JSON()))
	})
	out.Backends = slices.CompactFunc(out.Backends, func(a, b Endpoint) bool {
		return a.Host == b.Host && a.Port == b.Port && bytes.Equal(a.Labels.JSON(), b.Labels.JSON())
	})
	for i := range out.External {
		out.External[i].Ports = sortPorts(out.External[i].Ports)
	}
	return out.Network, errs
}

// addHosts adds the hosts that the rules of the author name.
func (n *reach) addHosts(rules *score.Rules) {
	if rules == nil {
		return
	}
	for _, r := range rules.To {
		name := object.Shorten(strings.ReplaceAll(strings.ReplaceAll(r.Host.Value, "*", "any"), ".", "-"), 63)
		for _, p := range r.Ports {
			if r.Host.Value != "" {
				n.addExternal(External{Name: name, Host: r.Host.Value}, p.Port, p.Protocol)
			}
		}
	}
}

// addStranger allows calls to a workload outside of the project, and reports whether r is such a
// call. Only the port that the resource names is known.
func (n *reach) addStranger(m *Workload, r resource.Made) bool {
	for _, c := range m.Calls {
		if c.Resource != r.Resource || c.Target.Workload != nil || c.inbound() {
			continue
		}
		p := c.Target.peer()
		if port := PortNumber(outputOrParam(r, "port")); port > 0 {
			p.Ports = []score.Port{{Port: port, Target: port, Protocol: ProtocolTCP}}
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

// destinations returns the destinations of the outputs of a resource: its host and port, or the hosts
// of its URLs by default. A route, and its name in the DNS, lead to the workload and not away from
// it.
func destinations(r resource.Made, cluster Cluster) []destination {
	var host, port, protocol string
	kind := r.Resource.Type.Value
	switch kind {
	case TypeRoute, typeDNS:
		return nil
	case typeExternalService:
		host, port = outputOrParam(r, "host"), outputOrParam(r, "port")
		protocol = outputOrParam(r, "protocol")
	default:
		host, port = r.Outputs["host"], r.Outputs["port"]
	}
	if number := PortNumber(port); number > 0 && host != "" {
		return []destination{{withoutBrackets(host), number, protocol}}
	}
	var out []destination
	for _, name := range []string{"endpoint", "url"} {
		d, ok := fromURL(r.Outputs[name])
		if !ok {
			continue
		}
		out = append(out, d)
		// Clients of S3 put the bucket before the host unless configured otherwise; a Service of
		// the cluster has no such name.
		bucket := r.Outputs["bucket"]
		outside := !cluster.holds(d.host, false) && strings.Contains(d.host, ".") && !isAddress(d.host)
		if kind == typeS3 && bucket != "" && outside {
			out = append(out, destination{bucket + "." + d.host, d.port, d.protocol})
		}
	}
	return out
}

// fromURL returns the host of a URL, and its port or the port of its scheme. It returns false for a
// text without a host, or with a host that policies cannot name.
func fromURL(text string) (destination, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return destination{}, false
	}
	port := PortNumber(u.Port())
	if u.Port() == "" {
		port = spec.PortOfScheme(u.Scheme)
	}
	d := destination{host: strings.ToLower(u.Hostname()), port: port}
	hasOther := strings.ContainsFunc(d.host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-._:", r)
	})
	return d, port > 0 && !hasOther
}

// add allows calls to one port of a host. A host in the cluster is recognized by its name, the only
// thing that all provisioners have in common.
func (n *reach) add(r resource.Made, d destination, labels object.Value) {
	protocol := ProtocolTCP
	if strings.EqualFold(d.protocol, "UDP") {
		protocol = "UDP"
	}
	external := r.Resource.Type.Value == typeExternalService
	e := External{Name: r.Resource.Name, Host: d.host}
	if external {
		e.Pos, e.Path = r.Resource.Pos, r.Path
	}
	address, err := netip.ParseAddr(d.host)
	switch {
	case d.host == "localhost" || (err == nil && (address.IsLoopback() || address.IsUnspecified())):
		return
	case err == nil:
		address = address.Unmap().WithZone("")
		e.Host, e.CIDR = address.String(), netip.PrefixFrom(address, address.BitLen()).String()
		n.addExternal(e, d.port, protocol)
	case n.cluster.holds(d.host, external):
		n.Backends = append(n.Backends, Endpoint{Host: d.host, Port: d.port, Labels: labels})
	default:
		n.addExternal(e, d.port, protocol)
	}
}

// addExternal adds a port of a host outside of the cluster. A host is written once, under the name of
// the first resource that leads there. A host that the project declares is separate, because its
// ServiceEntry belongs to several workloads.
func (n *reach) addExternal(e External, port int, protocol string) {
	ports := []score.Port{{Port: port, Target: port, Protocol: protocol}}
	taken := false
	for i := range n.External {
		if n.External[i].Host == e.Host && (n.External[i].Entry == nil) == (e.Entry == nil) {
			n.External[i].Ports = append(n.External[i].Ports, ports...)
			return
		}
		taken = taken || n.External[i].Name == e.Name
	}
	if taken {
		e.Name = object.Shorten(e.Name+"-"+object.ShortHash(e.Host), 63)
	}
	e.Ports = ports
	n.External = append(n.External, e)
}

// holds reports whether host is a Service: svc, svc.namespace, svc.namespace.svc or the same with
// the domain of the cluster. svc.namespace looks like a short name of the internet. It is a Service
// if the project has the namespace, or if no name of the internet has that end. If in doubt, a host
// that the author calls external (external) is outside.
func (c Cluster) holds(host string, external bool) bool {
	host = strings.TrimSuffix(host, ".")
	words := strings.Split(host, ".")
	switch {
	case len(words) == 1 || strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".svc."+c.Domain):
		return true
	case len(words) != 2 || strings.Contains(host, "*"):
		return false
	}
	end := words[1]
	domains := []string{
		"app", "biz", "cloud", "com", "dev", "edu", "gov", "info", "int", "mil", "net", "online", "org", "xyz",
	}
	looksLocal := !external && len(end) > 2 && !slices.Contains(domains, end)
	return c.Namespaces[end] || looksLocal
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// withoutBrackets returns a host without the brackets that an IPv6 address may have.
func withoutBrackets(host string) string {
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// outputOrParam returns the output of a name, or the param if there is no output.
func outputOrParam(r resource.Made, name string) string {
	v, _ := r.Params.Get(name)
	return cmp.Or(r.Outputs[name], v.Text)
}
