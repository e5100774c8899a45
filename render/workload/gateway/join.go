// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Workload is a workload as a Gateway sees it.
type Workload struct {
	Name, Namespace string
	Ports           []score.Port
	// Canary is set if Flagger shifts the requests for it.
	Canary bool
	// Serverless is set if Knative leads requests to it, by hosts of its own.
	Serverless bool
	// Resources are those of the workload: one of type route leads requests to it too.
	Resources []score.Resource
}

// Project is what the Gateways of a project lead to.
type Project struct {
	// Inputs are those of the module, by the name of the Gateway; one with mistakes has none.
	Inputs map[string]object.Value
	// Ports are those that routes lead to, by the name of the workload.
	Ports map[string][]score.Port
}

// Join relates the Gateways of a project to each other and to its workloads. The argument broken
// has the names of workloads that have mistakes of their own, which are reported already: routes
// to them are no mistakes. The errors hold warnings too.
func Join(gateways []*Gateway, workloads []Workload, broken ...string) (Project, object.Errors) {
	j := joining{
		workloads: map[string]Workload{}, broken: broken, routes: map[string]*route{}, backends: map[string]*route{}, resources: map[string]*route{},
		out: Project{Inputs: map[string]object.Value{}, Ports: map[string][]score.Port{}},
	}
	for _, w := range workloads {
		j.workloads[w.Name] = w
		j.addOwnRoutes(w)
	}

	// The first of two routes that exclude each other is that of the first name.
	gateways = sorted(gateways)
	j.addLogins(gateways)
	for _, g := range gateways {
		before := len(j.errs.Failures())
		for _, r := range g.routes {
			j.findBackend(g, r)
			j.reportShadowed(g, r)
			j.reportDifferent(g, r)
		}
		if !g.Partial && len(j.errs.Failures()) == before {
			j.out.Inputs[g.Name] = g.input()
		}
	}
	return j.out, j.errs.Sorted()
}

// joining is the state of a Join.
type joining struct {
	workloads map[string]Workload
	broken    []string
	// routes are those of one host, path and entry; backends those to one port of a
	// workload by one target; resources those that workloads ask for, by host and path.
	routes, backends, resources map[string]*route
	out                         Project
	errs                        object.Errors
}

// fail reports a mistake, with a note of the other route that takes part in it, unless other is
// nil.
func (j *joining) fail(pos object.Pos, at object.Path, other *route, hint, format string, args ...any) {
	e := document.Mistake(pos, at, hint, format, args...)
	if other != nil {
		e.Notes = []object.Note{{Pos: other.Pos, Text: "the other route"}}
	}
	j.errs = append(j.errs, e)
}

// addOwnRoutes records the routes that a workload asks for. A route with a class may be for
// another entry.
func (j *joining) addOwnRoutes(w Workload) {
	for _, r := range w.Resources {
		host, path := field(r.Params, "host"), field(r.Params, "path").Text
		if r.Type.Value == "route" && (r.Class.Value == "" || r.Class.Value == "default") && host.Kind == object.KindString {
			j.resources[host.Text+"/"+strings.Trim(path, "/")] = &route{Value: host}
		}
	}
}

// findBackend finds the port that a route leads to, and reports a route without one.
func (j *joining) findBackend(g *Gateway, r *route) {
	to := field(r.Value, "to", "workload")
	at := r.at.Append(object.Fields("to", "workload")...)
	w, ok := j.workloads[to.Text]
	switch {
	case to.Kind == object.KindNone:
		return
	case !ok:
		g.Partial = true
		if !slices.Contains(j.broken, to.Text) {
			j.fail(to.Pos, at, nil, object.Suggest(to.Text, object.SortedKeys(j.workloads)), "there is no workload %q", to.Text)
		}
		return
	case w.Namespace != g.Context.Namespace && g.target != "" && !Has(gateways, g.target):
		j.fail(to.Pos, at, nil, "write a Gateway in the namespace "+w.Namespace+instead(gateways, g.can),
			"the workload %q is in the namespace %q, and routes of the target %s lead to their own namespace only, which is %q",
			w.Name, w.Namespace, g.target, g.Context.Namespace)
		return
	}

	// Knative has routes of its own.
	if w.Serverless {
		j.fail(to.Pos, at, nil, "write a DomainMapping of Knative for the host, or target: keda or kind: Deployment",
			"Knative leads requests to the workload %q itself, and only for hosts that it knows", w.Name)
		return
	}

	// Without a port the route leads to the one called http, or to the only one.
	port := field(r.Value, "to", "port")
	var names []string
	for _, p := range w.Ports {
		names = append(names, p.Name)
	}
	leads := func(p score.Port) bool {
		return p.Name == port.Text || strconv.Itoa(p.Port) == port.Text || port.Kind == object.KindNone && (p.Name == "http" || len(w.Ports) == 1)
	}
	// A number may be that of a port of TCP and of one of UDP, as HTTP/3 has it.
	found := slices.IndexFunc(w.Ports, func(p score.Port) bool { return p.Protocol != "UDP" && leads(p) })
	if found < 0 {
		found = slices.IndexFunc(w.Ports, leads)
	}

	// Report a missing port, or take the one that was found.
	at = r.at.Append(object.Fields("to", "port")...)
	switch {
	case found < 0 && r.entrance: // Another spec has the name of the oauth2-proxy, which is reported.
		g.Partial = true
	case len(w.Ports) == 0:
		j.fail(to.Pos, at, nil, "give it one under service.ports", "the workload %q has no port", w.Name)
	case found < 0 && port.Kind == object.KindNone:
		j.fail(to.Pos, at, nil, "write port: one of "+strings.Join(names, ", "), "the workload %q has several ports, and none of them is called http", w.Name)
	case found < 0:
		hint := object.Suggest(port.Text, names)
		for _, p := range w.Ports {
			if strconv.Itoa(p.Target) == port.Text {
				hint = fmt.Sprintf("%d is the port of its container: write port: %d, that of its service, or its name %s", p.Target, p.Port, p.Name)
			}
		}
		j.fail(port.Pos, at, nil, hint, "the workload %q has no port %q", w.Name, port.Text)
	case w.Ports[found].Protocol == "UDP":
		j.fail(port.Pos, at, nil, "", "the port %q of the workload %q is UDP, and requests need TCP", w.Ports[found].Name, w.Name)
	default:
		r.namespace, r.port = w.Namespace, w.Ports[found]
		j.out.Ports[w.Name] = append(j.out.Ports[w.Name], r.port)
		if w.Canary {
			j.fail(to.Pos, r.at.Append(object.Fields("to", "workload")...), nil, "lead the requests that a canary shall share through a resource of type route of the workload",
				"the workload %q is released as a canary, and all requests of this route go to its stable version", w.Name)
			j.errs[len(j.errs)-1].Severity = object.SeverityWarning
		}
	}
}

// reportShadowed reports a route that receives no requests, because another one has the same
// host, path and type of path. Targets, classes and Gateways have their own requests.
func (j *joining) reportShadowed(g *Gateway, r *route) {
	if r.path == "" { // It is wrong, which is reported.
		return
	}

	// Compare with the routes that workloads ask for, and with those of Gateways with the same
	// entry.
	for _, host := range r.ofHosts() {
		if first := j.resources[host+"/"+strings.Trim(r.path, "/")]; first != nil && !r.exact {
			j.fail(r.Pos, r.at, first, "remove one of them, or change its host or its path", "a resource of type route has host %s, path %s too: only one of them receives requests", host, r.path)
			return
		}
		if r.entrance { // reportTaken compares it with the others.
			continue
		}
		key := strings.Join([]string{g.entry(), strconv.FormatBool(r.exact), host, r.path}, "\x00")
		first := j.routes[key]
		if first == nil {
			j.routes[key] = r
			continue
		}
		j.fail(r.Pos, r.at, first, "change the host or the path of one of them", "a second route for host %s, path %s: only one of them receives requests", host, r.path)
		return
	}
}

// entry returns what tells the requests of a Gateway from those of others: target, class and
// Gateway object.
func (g *Gateway) entry() string {
	existing := field(g.spec, "gateway")
	return strings.Join([]string{g.target, g.class(), field(existing, "name").Text, field(existing, "namespace").Text}, "\x00")
}

// ofHosts returns the hosts of a route, or "*" for all of them.
func (r *route) ofHosts() []string {
	if len(r.hosts) == 0 {
		return []string{"*"}
	}
	return r.hosts
}

// reportDifferent reports settings that Jcmoraisjr has once for a Service, and that differ
// between its routes.
func (j *joining) reportDifferent(g *Gateway, r *route) {
	if g.target != Jcmoraisjr || r.port.Port == 0 {
		return
	}
	key := strings.Join([]string{r.namespace, field(r.Value, "to", "workload").Text, strconv.Itoa(r.port.Port)}, "\x00")
	first := j.backends[key]
	if first == nil {
		j.backends[key] = r
		return
	}

	for _, name := range []string{"rateLimit", "headers", "timeouts"} {
		own, other := r.setting(name), first.setting(name)
		if string(own.JSON()) == string(other.JSON()) {
			continue
		}
		pos := r.Pos
		if own.Pos.IsValid() {
			pos = own.Pos
		}
		j.fail(pos, r.at.Append(object.Field(name)), first, "write the same in both"+instead(all&^jc, g.can),
			"the target %s has one %s for all routes to a port of a workload, and another route has a different one", g.target, name)
	}
}

// setting returns one of the settings in effect, or a value of KindNone if it has none.
func (r *route) setting(name string) object.Value {
	for _, m := range r.settings {
		if m.Name == name {
			return m.Value
		}
	}
	return object.Value{}
}
