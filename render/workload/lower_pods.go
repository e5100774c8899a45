// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// replicas writes a fixed number, 1 where nobody said, or the bounds of the
// autoscaler, which then owns the number.
func (l *lowering) replicas(m *members) {
	r := l.spec.Replicas
	switch {
	case !l.runs():
	case r == nil:
		m.put("replicas", lowerInt(1, object.Pos{}))
	case r.Max <= r.Min:
		m.put("replicas", lowerInt(r.Min, r.Pos))
	default:
		var cpu, memory object.Value
		if r.CPU > 0 {
			cpu = lowerInt(r.CPU, r.Pos)
		}
		if r.Memory > 0 {
			memory = lowerInt(r.Memory, r.Pos)
		}
		m.put("autoscaling", mapOf(r.Pos, intMember("min", r.Min, r.Pos),
			intMember("max", r.Max, r.Pos), with("cpu", cpu), with("memory", memory)))
	}
}

// settle decides what depends on the input as a whole, after provisioners laid
// their part over it: who owns the number of pods, the budget of disruption and
// the hash. Two pods or more get a budget where the author gives none, so that the
// drain of a node takes one at a time; one pod gets none, because any budget for
// it would keep its node from ever being drained or mean nothing.
func (l *lowering) settle(input object.Value) object.Value {
	if _, ok := input.Get("autoscaling"); ok {
		_, fixed := l.r.patch.Get("replicas")
		_, scaled := l.r.patch.Get("autoscaling")
		if fixed && !scaled {
			input = input.Without(object.Fields("autoscaling"))
		} else {
			input = input.Without(object.Fields("replicas"))
			l.checkRequests(input)
		}
	}
	input = fixedCanary(input)
	if _, ok := input.Get("disruption"); !ok && l.runs() && leastPods(input) > 1 {
		input = addMember(input, "disruption", mapOf(object.Pos{}, intMember("maxUnavailable", 1, object.Pos{})))
	}
	if h := hash(input); h != "" {
		input = addMember(input, "hash", lowerText(h, object.Pos{}))
	}
	return input
}

// fixedCanary is input with an autoscaler that holds a canary at its fixed
// number of pods: Flagger scales what it was told to release down to none when
// nothing is being released, and an engine would scale it up again to the number
// that the object states.
func fixedCanary(input object.Value) object.Value {
	_, canary := input.Get("canary")
	_, scaled := input.Get("autoscaling")
	n, ok := input.Get("replicas")
	if !canary || scaled || !ok || n.Text == "0" {
		return input
	}
	input = input.Without(object.Fields("replicas"))
	return addMember(input, "autoscaling", mapOf(n.Pos,
		object.Member{Name: "min", Pos: n.Pos, Value: n}, object.Member{Name: "max", Pos: n.Pos, Value: n}))
}

// addMember is v, a map, with one more member; v is not changed.
func addMember(v object.Value, name string, value object.Value) object.Value {
	v.Members = append(slices.Clip(v.Members), object.Member{Name: name, Value: value})
	return v
}

// leastPods is how many pods there are at least.
func leastPods(input object.Value) int {
	at, found := input.Lookup(object.Fields("autoscaling", "min"))
	if found < 2 {
		at, _ = input.Get("replicas")
	}
	n, _ := strconv.Atoi(at.Text)
	return n
}

// checkRequests warns of containers without the requests that the autoscaler
// measures by: it then does nothing at all. A limit is a request where there is
// no other.
func (l *lowering) checkRequests(input object.Value) {
	scaling, _ := input.Get("autoscaling")
	_, memory := scaling.Get("memory")
	_, cpu := scaling.Get("cpu")
	for i := range l.r.containers {
		c := &l.r.containers[i].spec
		if strongest(c) == score.ReadyComplete {
			continue
		}
		for _, want := range []struct {
			name string
			asks bool
		}{{"cpu", cpu || !memory}, {"memory", memory}} {
			if want.asks && !hasPair(c.Requests, want.name) && !hasPair(c.Limits, want.name) {
				l.warn(c.Pos, l.at("containers", c.Name, "resources", "requests"), "write resources.requests."+want.name,
					"no request of %s: the autoscaler measures by it and does nothing without", want.name)
			}
		}
	}
}

func hasPair(pairs []score.Pair, name string) bool {
	return slices.ContainsFunc(pairs, func(p score.Pair) bool { return p.Name == name })
}

// service has the ports by which others reach the pods.
func (l *lowering) service() object.Value {
	ports := l.spec.Ports
	items := make([]object.Value, len(ports))
	for i, p := range ports {
		items[i] = mapOf(p.Pos, stringMember("name", p.Name, p.Pos), intMember("port", p.Port, p.Pos),
			intMember("targetPort", p.Target, p.Pos), stringMember("protocol", p.Protocol, p.Pos))
	}
	if len(items) == 0 {
		return object.Value{}
	}
	return mapOf(items[0].Pos, with("ports", lowerList(items, items[0].Pos)))
}

// canary is what Flagger needs where it rolls out new versions.
func (l *lowering) canary() object.Value {
	d := l.spec.Deploy
	if d.Strategy != score.StrategyCanary {
		return object.Value{}
	}
	at := l.extra("deploy", "strategy")
	if l.kind != score.KindDeployment {
		l.fail(d.Pos, at, "write strategy: rolling, or kind: Deployment", "a %s has no canary: Flagger rolls out Deployments", l.kind)
		return object.Value{}
	}
	i := canaryPort(l.spec.Ports)
	if i < 0 {
		l.fail(d.Pos, at, "write service.ports with a TCP port, or strategy: rolling",
			"a canary needs a TCP port of the service: Flagger shifts the traffic that it gets")
		return object.Value{}
	}
	c, p := d.Canary, l.spec.Ports[i]
	if c.Interval == "" {
		c.Interval = "1m"
	}
	number := func(n, otherwise int) object.Value {
		if n == 0 {
			n = otherwise
		}
		return lowerInt(n, d.Pos)
	}
	return mapOf(d.Pos, stringMember("interval", c.Interval, d.Pos),
		with("threshold", number(c.Threshold, 5)), with("maxWeight", number(c.MaxWeight, 50)),
		with("stepWeight", number(c.StepWeight, 10)), stringMember("provider", l.r.config.CanaryProvider, object.Pos{}),
		intMember("port", p.Port, p.Pos), intMember("targetPort", p.Target, p.Pos))
}

// canaryPort is the place of the port that gets the traffic of a canary: http,
// else the first by name that is no UDP; -1 where there is none.
func canaryPort(ports []score.Port) int {
	tcp := func(p score.Port) bool { return p.Protocol == protocolTCP }
	i := slices.IndexFunc(ports, func(p score.Port) bool { return tcp(p) && p.Name == "http" })
	if i < 0 {
		i = slices.IndexFunc(ports, tcp)
	}
	return i
}

// protocolTCP is one of the protocols of a port.
const protocolTCP = "TCP"

// network is who talks to whom, where the project asks for policies.
func (l *lowering) network() object.Value {
	n, none := l.r.network, object.Pos{}
	if len(l.r.config.Policies) == 0 {
		return object.Value{}
	}
	policies := make([]object.Value, len(l.r.config.Policies))
	for i, p := range l.r.config.Policies {
		policies[i] = lowerText(p, none)
	}
	hosts := make([]object.Value, len(n.external))
	for i, e := range n.external {
		hosts[i] = mapOf(none, stringMember("name", e.name, none), stringMember("host", e.host, none),
			with("ports", always(networkPorts(e.ports))))
	}
	backends := make([]object.Value, len(n.backends))
	for i, b := range n.backends {
		backends[i] = mapOf(none, stringMember("host", b.host, none), intMember("port", b.port, none))
	}
	return mapOf(none, with("policies", always(policies)),
		with("inbound", always(peers(n.inbound))), with("outbound", always(peers(n.outbound))),
		with("external", always(hosts)), boolMember("open", l.r.routed, none),
		with("backends", lowerList(backends, none)))
}

// always is a list that is there where it is empty, too.
func always(items []object.Value) object.Value {
	return object.Value{Kind: object.KindList, Items: items}
}

func peers(all []peer) []object.Value {
	none := object.Pos{}
	items := make([]object.Value, len(all))
	for i, p := range all {
		items[i] = mapOf(none, stringMember("name", p.name, none), stringMember("namespace", p.namespace, none),
			stringMember("serviceAccount", p.serviceAccount, none),
			with("ports", lowerList(networkPorts(p.ports), none)))
	}
	return items
}

// networkPorts are target ports: policies see packets after the Service
// rewrote them.
func networkPorts(ports []score.Port) []object.Value {
	items := make([]object.Value, len(ports))
	for i, p := range ports {
		number := p.Target
		if number == 0 {
			number = p.Port
		}
		items[i] = mapOf(p.Pos, intMember("port", number, p.Pos), stringMember("protocol", p.Protocol, p.Pos))
	}
	return items
}
