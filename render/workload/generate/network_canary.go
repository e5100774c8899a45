// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Providers of Flagger, which shift its traffic.
const (
	providerGateway    = "gatewayapi:v1"
	providerIstio      = "istio"
	providerKubernetes = "kubernetes"
	providerNGINX      = "nginx"
)

// lowerCanary returns the settings of Flagger for new versions, or an absent value without a canary.
func lowerCanary(errs *mistakes, r *Resolved) object.Value {
	d := r.Workload.Deploy
	if d.Strategy != score.StrategyCanary {
		return object.Value{}
	}

	// Flagger rolls out Deployments, and shifts the traffic of one TCP port.
	path := errs.extra("deploy", "strategy")
	if r.Workload.Kind.Value != score.KindDeployment {
		errs.fail(d.Pos, path, "write strategy: rolling, or kind: Deployment",
			"a %s has no canary: Flagger rolls out Deployments", r.Workload.Kind.Value)
		return object.Value{}
	}
	i := canaryPort(r.Workload.Ports)
	if i < 0 {
		errs.fail(d.Pos, path, "write service.ports with a TCP port, or strategy: rolling",
			"a canary needs a TCP port of the service: Flagger shifts the traffic that it gets")
		return object.Value{}
	}

	// Set the speed of the shift.
	c := d.Canary
	p := r.Workload.Ports[i]
	provider := r.canaryProvider()
	m := members{StringMember("interval", cmp.Or(c.Interval, "1m"), d.Pos), IntMember("threshold", cmp.Or(c.Threshold, 5), d.Pos)}
	maxWeight, step := cmp.Or(c.MaxWeight, 50), cmp.Or(c.StepWeight, 10)
	if provider == providerKubernetes {
		// Without weights it takes as many intervals as the weights would.
		m = append(m, IntMember("iterations", (maxWeight+step-1)/step, d.Pos))
	} else {
		m = append(m, IntMember("maxWeight", maxWeight, d.Pos), IntMember("stepWeight", step, d.Pos))
	}

	// Set the objects that shift it.
	m = append(m, StringMember("provider", provider, object.Pos{}), IntMember("port", p.Port, p.Pos), IntMember("targetPort", p.Target, p.Pos))
	switch provider {
	case providerGateway:
		m = append(m, canaryRoutes(errs, &r.Workload, p, r.routesTo(p, network.KindHTTPRoute))...)
	case providerNGINX:
		m = append(m, canaryIngress(errs, d, p, r.routesTo(p, network.KindIngress))...)
	}
	warnBypasses(errs, provider, r.routesTo(p, ""))
	return m.value(d.Pos)
}

// canaryPort returns the index of the port that gets the traffic of a canary: http, or the first
// by name that is not UDP. It returns -1 without such a port.
func canaryPort(ports []score.Port) int {
	tcp := func(p score.Port) bool { return p.Protocol == network.ProtocolTCP }
	i := slices.IndexFunc(ports, func(p score.Port) bool { return tcp(p) && p.Name == "http" })
	if i < 0 {
		i = slices.IndexFunc(ports, tcp)
	}
	return i
}

// canaryProvider returns the provider of the project, or the provider of the routes that lead to the
// workload: a mesh would never see their requests.
func (r Resolved) canaryProvider() string {
	if r.Config.CanaryProvider != "" {
		return r.Config.CanaryProvider
	}
	i := canaryPort(r.Workload.Ports)
	if i < 0 {
		return providerIstio
	}
	port := r.Workload.Ports[i]
	if len(r.routesTo(port, network.KindHTTPRoute)) > 0 {
		return providerGateway
	}
	for _, route := range r.routesTo(port, network.KindIngress) {
		if route.Node.Object.Text("spec", "ingressClassName") == providerNGINX {
			return providerNGINX
		}
	}
	return providerIstio
}

// routesTo returns the routes of a kind that lead to a port. The kind "" means every kind.
func (r Resolved) routesTo(port score.Port, kind string) []network.Route {
	var out []network.Route
	leadsTo := func(p score.Port) bool { return p.Port == port.Port }
	for _, route := range r.Routes {
		matches := route.Node != nil && (kind == "" || route.Kind() == kind)
		if matches && slices.ContainsFunc(route.Ports, leadsTo) {
			out = append(out, route)
		}
	}
	return out
}

// canaryIngress returns the name of the Ingress beside which Flagger creates one for the canary.
func canaryIngress(errs *mistakes, d score.Deploy, port score.Port, routes []network.Route) members {
	if len(routes) != 1 {
		what := "there is none: give it a resource of type route, and the project config.routing: ingress"
		if len(routes) > 1 {
			what = "it has " + quoteRoutes(routes)
		}
		errs.fail(d.Pos, errs.extra("deploy", "strategy"), "write strategy: rolling, or leave spec.workloads.canary.provider of the project out",
			"a canary by nginx needs one Ingress that leads to the port %q: %s", port.Name, what)
		return nil
	}
	o := routes[0].Node.Object
	pos := routes[0].Resource.Pos
	return members{member("ingressRef", MapOf(pos, StringMember("apiVersion", o.APIVersion(), pos),
		StringMember("kind", o.Kind(), pos), StringMember("name", o.Name(), pos)))}
}

// quoteRoutes returns the names of the resources that made the routes, quoted.
func quoteRoutes(routes []network.Route) string {
	names := make([]string, len(routes))
	for i, route := range routes {
		names[i] = fmt.Sprintf("%q", route.Resource.Name)
	}
	return strings.Join(names, ", ")
}

// warnBypasses warns of routes to the canary whose requests Flagger does not shift.
func warnBypasses(errs *mistakes, provider string, routes []network.Route) {
	shifted := map[string]string{providerGateway: network.KindHTTPRoute, providerNGINX: network.KindIngress}[provider]
	if provider == providerKubernetes {
		return // The Service itself is turned to the new version.
	}
	for _, route := range routes {
		if route.Kind() != shifted {
			errs.warn(route.Resource.Pos, errs.path("resources", route.Resource.Name),
				"choose spec.workloads.canary.provider of the project: "+
					"gatewayapi:v1 for an HTTPRoute, nginx for an Ingress of it, kubernetes for others",
				"Flagger shifts traffic by %s, and requests of this %s bypass it: they all go to the old version until the new one is promoted",
				provider, route.Node.Object.Kind())
		}
	}
}

// checkCanaryPorts reports the ports that Flagger would lose. Besides the port of the canary it uses
// the ports that the containers declare, as TCP and each under the number that the container listens
// at (getPorts in pkg/canary/util.go of Flagger).
func checkCanaryPorts(errs *mistakes, ports []score.Port, input object.Value) {
	if _, ok := input.Get("canary"); !ok {
		return
	}
	first := ports[canaryPort(ports)]
	containers, _ := input.Get("containers")

	// The first mistake of each port is reported.
	for _, p := range ports {
		if p.Name == first.Name {
			continue
		}
		why := ""
		hint := "give port and targetPort one number, or write strategy: rolling"
		switch {
		case p.Protocol != network.ProtocolTCP:
			why = "is " + p.Protocol + ", and Flagger makes Services with TCP ports only"
			hint = "write strategy: rolling"
		case p.Target == first.Target:
			why = fmt.Sprintf("leads to %d as %q does, and Flagger makes one port of both", p.Target, first.Name)
			hint = "remove it, let the container listen on another port for it, or write strategy: rolling"
		case p.Port != p.Target:
			why = fmt.Sprintf("leads from %d to %d, and Flagger makes it %d", p.Port, p.Target, p.Target)
		case !declares(containers, p.Target):
			why = "is in no container's ports, where Flagger reads it"
			hint = "give the container that listens on it a probe of that port, or write strategy: rolling"
		default:
			continue
		}
		path := errs.path("service", "ports", p.Name)
		errs.fail(p.Pos, path, hint, "a workload with a canary cannot have this port: it %s", why)
	}
}

// declares reports whether a container has a port of this number.
func declares(containers object.Value, number int) bool {
	for _, c := range containers.Items {
		ports, _ := c.Get("ports")
		for _, p := range ports.Items {
			if n, _ := p.Get("containerPort"); network.PortNumber(n.Text) == number {
				return true
			}
		}
	}
	return false
}

// fixedCanary returns input with an autoscaler that holds a canary at its fixed number of pods.
// Flagger scales the Deployment down to zero between releases, and an engine would scale it up again
// to the number in the object.
func fixedCanary(input object.Value) object.Value {
	_, canary := input.Get("canary")
	_, scaled := input.Get("autoscaling")
	n, ok := input.Get("replicas")
	if !canary || scaled || !ok || n.Text == "0" {
		return input
	}
	input = input.Without(object.Fields("replicas"))
	return addMember(input, "autoscaling", MapOf(n.Pos,
		object.Member{Name: "min", Pos: n.Pos, Value: n}, object.Member{Name: "max", Pos: n.Pos, Value: n}))
}

// checkProbes warns of a canary whose pods have no readiness probe.
func checkProbes(errs *mistakes, r *Resolved, input object.Value) {
	probed := func(c Container) bool { return c.Spec.ReadinessProbe.Kind != object.KindNone }
	if _, ok := input.Get("canary"); ok && !slices.ContainsFunc(r.Containers, probed) {
		errs.warn(r.Workload.Deploy.Pos, errs.extra("deploy"), "write a readinessProbe",
			"no container has a readiness probe: Flagger sends traffic to pods that do not serve yet")
	}
}

// WithoutReplaced returns the nodes without the HTTPRoutes that Flagger makes itself. Nodes that
// depend on such a route come after the canary.
func (r Resolved) WithoutReplaced(nodes []*object.Node) []*object.Node {
	i := canaryPort(r.Workload.Ports)
	if r.Workload.Deploy.Strategy != score.StrategyCanary || i < 0 || r.canaryProvider() != providerGateway {
		return nodes
	}
	replaced := map[object.ID]bool{}
	for _, route := range r.routesTo(r.Workload.Ports[i], network.KindHTTPRoute) {
		replaced[route.Node.ID] = true
	}

	// The other nodes depend on the canary in place of the routes.
	var out []*object.Node
	for _, n := range nodes {
		if replaced[n.ID] {
			continue
		}
		if slices.ContainsFunc(n.DependsOn, func(d object.Dependency) bool { return replaced[d.ID] }) {
			changed := *n
			changed.DependsOn = slices.Clone(n.DependsOn)
			for i, d := range changed.DependsOn {
				if replaced[d.ID] {
					changed.DependsOn[i].ID = object.MakeID(r.Workload.Name.Value, canaryNode)
				}
			}
			n = &changed
		}
		out = append(out, n)
	}
	return out
}

// canaryNode is the name of the node of the canary in the module that makes the objects.
const canaryNode = "canary"
