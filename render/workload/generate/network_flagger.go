// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// canaryRoutes returns the fields of the HTTPRoute that Flagger makes, in place of the routes that
// lead to the port of the canary. With the provider gatewayapi:v1 Flagger splits the traffic in a
// route that it rewrites all the time (pkg/router/gateway_api.go of Flagger). Beside a route of the
// workload there would be two routes for one host, of which the gateway keeps the older.
func canaryRoutes(errs *mistakes, w *score.Workload, port score.Port, routes []network.Route) members {
	if len(routes) == 0 {
		errs.fail(w.Deploy.Pos, errs.extra("deploy", "strategy"),
			"give it a resource of type route, or leave spec.workloads.canary.provider of the project out",
			"a canary by gatewayapi:v1 needs an HTTPRoute that leads to the port %q: Flagger splits the traffic in it", port.Name)
		return nil
	}
	t := takeover{errs: errs, workload: w.Name.Value, first: routes[0]}
	for _, route := range routes {
		t.add(route)
	}
	pos := t.first.Resource.Pos
	value := func(v any) object.Value {
		data, _ := json.Marshal(v) // The value was read from JSON, so that it can be written again.
		out, _ := object.ReadJSON(data, pos)
		return out
	}
	out := members{member("gatewayRefs", value(t.gateways)), member("hosts", value(t.hosts)), member("match", value(t.matches))}
	if len(t.annotations) > 0 {
		out = append(out, member("annotations", value(t.annotations)))
	}
	return out
}

// takeover combines several HTTPRoutes into one.
type takeover struct {
	errs        *mistakes
	workload    string
	first       network.Route
	gateways    []any
	hosts       []string
	matches     []any
	annotations map[string]string
}

// add merges a route into the takeover, or reports that Flagger cannot express it.
func (t *takeover) add(route network.Route) {
	o := route.Node.Object
	reject := func(format string, args ...any) {
		t.errs.fail(route.Resource.Pos, t.errs.path("resources", route.Resource.Name),
			"write strategy: rolling, or choose another spec.workloads.canary.provider in the project",
			"Flagger makes the HTTPRoute of a canary itself, and cannot adopt this one: %s", fmt.Sprintf(format, args...))
	}

	// Flagger knows these fields, and paths in them.
	for _, name := range object.SortedKeys(o.Map("spec")) {
		if !slices.Contains([]string{"parentRefs", "hostnames", "rules"}, name) {
			reject("it has %s", name)
			return
		}
	}
	var matches []any
	for _, rule := range o.List("spec", "rules") {
		found, why := flaggerMatches(rule, t.workload)
		if why != "" {
			reject("%s", why)
			return
		}
		matches = append(matches, found...)
	}

	// Hosts are compared as text.
	var hosts []string
	for _, h := range o.List("spec", "hostnames") {
		hosts = append(hosts, fmt.Sprint(h))
	}

	// The first route begins the takeover. Another route may add either hosts or paths, as Flagger
	// would combine each host with each path.
	if route.Node == t.first.Node {
		t.gateways = o.List("spec", "parentRefs")
		t.hosts = hosts
		t.matches = matches
		t.annotations = o.Annotations()
		return
	}
	sameHosts, samePaths := slices.Equal(t.hosts, hosts), sameJSON(t.matches, matches)
	switch {
	case !sameJSON(t.gateways, o.List("spec", "parentRefs")):
		reject("its gateway is not that of %q, and Flagger makes one route of both", t.first.Resource.Name)
	case sameHosts:
		t.matches = append(t.matches, matches...)
	case samePaths:
		t.hosts = append(t.hosts, hosts...)
	default:
		reject("neither its host nor its path is that of %q, and Flagger makes one route of both", t.first.Resource.Name)
	}
}

// same reports whether two parts of objects have the same JSON.
func sameJSON(a, b []any) bool {
	first, _ := json.Marshal(a)
	second, _ := json.Marshal(b)
	return string(first) == string(second)
}

// flaggerMatches returns the paths of a rule as Flagger expects them, or the reason why Flagger
// cannot express the rule.
func flaggerMatches(v any, workload string) (matches []any, why string) {
	rule, _ := v.(map[string]any)
	for _, name := range object.SortedKeys(rule) {
		if name != "matches" && name != "backendRefs" {
			return nil, "a rule of it has " + name
		}
	}

	// All requests of the rule go to the workload, as they are.
	backends := network.BackendsOf(v, nil)
	if len(backends) != 1 || backends[0].Name != workload {
		return nil, "a rule of it leads to other Services too"
	}
	for _, b := range object.Object(rule).List("backendRefs") {
		if fields, _ := b.(map[string]any); fields["filters"] != nil {
			return nil, "a backend of it has filters"
		}
	}

	// The rule selects requests by their path.
	wanted := object.Object(rule).List("matches")
	if len(wanted) == 0 {
		return []any{map[string]any{"uri": map[string]any{"prefix": "/"}}}, ""
	}
	for _, m := range wanted {
		fields, _ := m.(map[string]any)
		match := object.Object(fields)
		word := map[string]string{"PathPrefix": "prefix", "": "prefix", "Exact": "exact"}[match.Text("path", "type")]
		if len(match) != 1 || word == "" {
			return nil, "it matches more than the path of a request"
		}
		path := match.Text("path", "value")
		matches = append(matches, map[string]any{"uri": map[string]any{word: cmp.Or(path, "/")}})
	}
	return matches, ""
}
