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

// Workload is the view that a Gateway has of a workload.
type Workload struct {
	Name, Namespace string
	Ports           []score.Port
	// Canary is set if Flagger shifts the requests for it.
	Canary bool
	// Serverless is set if Knative leads requests to it, by hosts of its own.
	Serverless bool
	// Resources are the resources of the workload: a resource of type route leads requests to it too.
	Resources []score.Resource
}

// Project holds the results for the Gateways of a project.
type Project struct {
	// Inputs are the inputs of the module, by the name of the Gateway; a Gateway with mistakes has no input.
	Inputs map[string]object.Value
	// Ports are the ports that routes lead to, by the name of the workload.
	Ports map[string][]score.Port
}

// Join relates the Gateways of a project to each other and to its workloads. The argument broken
// has the names of workloads with mistakes that are reported already: routes to them are not
// reported. The errors include warnings.
func Join(gateways []*Gateway, workloads []Workload, broken ...string) (Project, object.Errors) {
	j := joining{
		workloads: map[string]Workload{}, broken: broken,
		routes: map[string]*route{}, backends: map[string]*route{}, resources: map[string]*route{},
		project: Project{Inputs: map[string]object.Value{}, Ports: map[string][]score.Port{}},
	}
	for _, w := range workloads {
		j.workloads[w.Name] = w
		j.addOwnRoutes(w)
	}

	// Gateways are visited by name, and of two routes that exclude each other the first counts.
	gateways = byName(gateways)
	j.addLogins(gateways)
	for _, g := range gateways {
		before := len(j.errs.Failures())
		for _, r := range g.routes {
			j.findBackend(g, r)
			j.reportShadowed(g, r)
			j.reportDifferent(g, r)
		}
		if !g.Partial && len(j.errs.Failures()) == before {
			j.project.Inputs[g.Name] = g.input()
		}
	}
	return j.project, j.errs.Sorted()
}

// joining is the state of a Join.
type joining struct {
	workloads map[string]Workload
	broken    []string
	// routes are the routes by host, path and entry; backends the routes by target and port of
	// a workload; resources the routes that workloads ask for, by host and path.
	routes, backends, resources map[string]*route
	project                     Project
	errs                        object.Errors
}

// fail reports a mistake, with a note of the other route that takes part in it, unless other is
// nil.
func (j *joining) fail(pos object.Pos, path object.Path, other *route, hint, format string, args ...any) {
	e := document.Mistake(pos, path, hint, format, args...)
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
		usual := r.Class.Value == "" || r.Class.Value == "default"
		if r.Type.Value == "route" && usual && host.Kind == object.KindString {
			j.resources[host.Text+"/"+strings.Trim(path, "/")] = &route{Value: host}
		}
	}
}

// findBackend finds the port that a route leads to, and reports a route without one.
func (j *joining) findBackend(g *Gateway, r *route) {
	to := field(r.Value, "to", "workload")
	path := r.location.Append(object.Fields("to", "workload")...)
	w, ok := j.workloads[to.Text]
	switch {
	case to.Kind == object.KindNone:
		return
	case !ok:
		g.Partial = true
		if !slices.Contains(j.broken, to.Text) {
			j.fail(to.Pos, path, nil, object.Suggest(to.Text, object.SortedKeys(j.workloads)), "there is no workload %q", to.Text)
		}
		return
	case w.Namespace != g.Context.Namespace && g.target != "" && !Has(gateways, g.target):
		j.fail(to.Pos, path, nil, "write a Gateway in the namespace "+w.Namespace+instead(gateways, g.can),
			"the workload %q is in the namespace %q, and routes of the target %s lead to their own namespace only, which is %q",
			w.Name, w.Namespace, g.target, g.Context.Namespace)
		return
	}

	// Knative has routes of its own.
	if w.Serverless {
		j.fail(to.Pos, path, nil, "write a DomainMapping of Knative for the host, or target: keda or kind: Deployment",
			"Knative leads requests to the workload %q itself, and only for hosts that it knows", w.Name)
		return
	}

	// Without a port the route leads to the port called http, or to the only port.
	port := field(r.Value, "to", "port")
	var names []string
	for _, p := range w.Ports {
		names = append(names, p.Name)
	}
	leads := func(p score.Port) bool {
		byDefault := port.Kind == object.KindNone && (p.Name == "http" || len(w.Ports) == 1)
		return p.Name == port.Text || strconv.Itoa(p.Port) == port.Text || byDefault
	}
	// One number may be a port of TCP and a port of UDP, as HTTP/3 has it.
	found := slices.IndexFunc(w.Ports, func(p score.Port) bool { return p.Protocol != "UDP" && leads(p) })
	if found < 0 {
		found = slices.IndexFunc(w.Ports, leads)
	}

	// Report a missing port, or take the port that was found.
	path = r.location.Append(object.Fields("to", "port")...)
	switch {
	case found < 0 && r.entrance: // The oauth2-proxy has the name of another spec, which is reported.
		g.Partial = true
	case len(w.Ports) == 0:
		j.fail(to.Pos, path, nil, "give it one under service.ports", "the workload %q has no port", w.Name)
	case found < 0 && port.Kind == object.KindNone:
		j.fail(to.Pos, path, nil, "write port: one of "+strings.Join(names, ", "),
			"the workload %q has several ports, and none of them is called http", w.Name)
	case found < 0:
		hint := object.Suggest(port.Text, names)
		for _, p := range w.Ports {
			if strconv.Itoa(p.Target) == port.Text {
				hint = fmt.Sprintf("%d is the port of its container: write port: %d, that of its service, or its name %s", p.Target, p.Port, p.Name)
			}
		}
		j.fail(port.Pos, path, nil, hint, "the workload %q has no port %q", w.Name, port.Text)
	case w.Ports[found].Protocol == "UDP":
		j.fail(port.Pos, path, nil, "", "the port %q of the workload %q is UDP, and requests need TCP", w.Ports[found].Name, w.Name)
	default:
		r.namespace, r.port = w.Namespace, w.Ports[found]
		j.project.Ports[w.Name] = append(j.project.Ports[w.Name], r.port)
		if w.Canary {
			j.fail(to.Pos, r.location.Append(object.Fields("to", "workload")...), nil,
				"lead the requests that a canary shall share through a resource of type route of the workload",
				"the workload %q is released as a canary, and all requests of this route go to its stable version", w.Name)
			j.errs[len(j.errs)-1].Severity = object.SeverityWarning
		}
	}
}

// reportShadowed reports a route that receives no requests, because another route has the same
// host, path and type of path. Targets, classes and Gateways have their own requests.
func (j *joining) reportShadowed(g *Gateway, r *route) {
	if r.path == "" { // The mistake is reported.
		return
	}

	// Compare with the routes that workloads ask for, and with routes of Gateways with the same
	// entry.
	for _, host := range r.hostsOrAny() {
		if first := j.resources[host+"/"+strings.Trim(r.path, "/")]; first != nil && !r.exact {
			j.fail(r.Pos, r.location, first, "remove one of them, or change its host or its path",
				"a resource of type route has host %s, path %s too: only one of them receives requests", host, r.path)
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
		j.fail(r.Pos, r.location, first, "change the host or the path of one of them",
			"a second route for host %s, path %s: only one of them receives requests", host, r.path)
		return
	}
}

// entry returns a key that distinguishes the requests of a Gateway from the requests of others:
// target, class and Gateway object.
func (g *Gateway) entry() string {
	existing := field(g.spec, "gateway")
	return strings.Join([]string{g.target, g.class(), field(existing, "name").Text, field(existing, "namespace").Text}, "\x00")
}

// hostsOrAny returns the hosts of a route, or "*" for all hosts.
func (r *route) hostsOrAny() []string {
	if len(r.hosts) == 0 {
		return []string{"*"}
	}
	return r.hosts
}

// reportDifferent reports settings that Jcmoraisjr has once for a Service, if they differ between
// its routes.
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
		setting, other := r.setting(name), first.setting(name)
		if string(setting.JSON()) == string(other.JSON()) {
			continue
		}
		pos := r.Pos
		if setting.Pos.IsValid() {
			pos = setting.Pos
		}
		j.fail(pos, r.location.Append(object.Field(name)), first, "write the same in both"+instead(all&^jc, g.can),
			"the target %s has one %s for all routes to a port of a workload, and another route has a different one", g.target, name)
	}
}

// setting returns a setting in effect, or a value of KindNone.
func (r *route) setting(name string) object.Value {
	for _, m := range r.settings {
		if m.Name == name {
			return m.Value
		}
	}
	return object.Value{}
}
