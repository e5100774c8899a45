// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"net"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// scalingSecret ends the name of the ExternalSecret with the credentials of a queue.
const scalingSecret = "scaling"

// lowerAutoscaling returns what decides the number of pods: the bounds, the targets and the triggers.
func lowerAutoscaling(errs *mistakes, r *Resolved, n *score.Replicas) object.Value {
	var cpu, memory object.Value
	if n.CPU > 0 {
		cpu = object.NumberAt(n.CPU, n.Pos)
	}
	if n.Memory > 0 {
		memory = object.NumberAt(n.Memory, n.Pos)
	}
	m := MapOf(n.Pos, IntMember("min", n.Min, n.Pos), IntMember("max", n.Max, n.Pos), with("cpu", cpu), with("memory", memory))
	if !n.Triggered() {
		return m
	}

	// KEDA owns the number, and a release has two versions of it.
	m.Members = append(m.Members, MapOf(n.Pos, with("pollingInterval", n.PollingInterval), with("cooldown", n.Cooldown),
		with("queue", lowerQueue(errs, r, n.Queue)), with("cron", n.Cron), with("http", scaleByRequests(errs, r, n.HTTP))).Members...)
	if r.Workload.Deploy.Strategy == score.StrategyCanary && (n.Queue != nil || n.HTTP.Kind != object.KindNone) {
		errs.warn(n.Pos, errs.extra("replicas"), "",
			"a release scales both versions: Flagger copies the autoscaler, and the two see the same queue or the same requests")
	}
	if r.Workload.Deploy.Strategy == score.StrategyCanary && n.Min == 0 {
		errs.warn(n.Pos, errs.extra("replicas"), "write min: 1, or strategy: rolling",
			"the number of pods may be 0 in a release: Flagger sends requests to a version without pods, and takes their failure for the version's")
	}
	return m
}

// lowerQueue returns the queue with its address and the places of its credentials. It is absent if
// there is no queue, or none that could be resolved.
func lowerQueue(errs *mistakes, r *Resolved, q *score.Queue) object.Value {
	from := backend{&r.Config.Secrets}
	if q == nil || r.Queue == nil {
		return object.Value{}
	}
	at := errs.extra("replicas", "queue")
	pos := cmp.Or(q.Resource.Pos, q.Address.Pos, q.Settings.Pos)

	// The settings of the author come first.
	m := members(slices.Clone(q.Settings.Members))
	var auth []object.Value
	var secret externalSecret

	// Each part is plain text, a Secret of the cluster, or a key of an ExternalSecret.
	for _, part := range queueParts(q, r.Queue) {
		name, key := r.Workload.Name.Value+"-"+scalingSecret, part.parameter
		switch s := part.text.Single(); {
		case len(part.text.Pieces) == 0:
			continue
		case !part.text.Tainted() && part.field == "":
			errs.fail(pos, at, "the provisioner must give it as a sensitive output",
				"the resource %q gives its %s as plain text, which the ScaledObject would show", q.Resource.Value, part.output)
			continue
		case !part.text.Tainted():
			m.put(part.field, object.TextAt(part.text.Plain(), pos))
			continue
		case part.parameter == "":
			errs.fail(pos, at, "the provisioner must give it as a plain output",
				"the resource %q gives its %s as a secret, and KEDA reads it as plain text only", q.Resource.Value, part.output)
			continue
		case s != nil && from.clustered(part.text.Pieces[0]):
			if !checkReadable(errs, s, pos, at) {
				continue
			}
			name, key = s.Key, s.Property
		case !from.joined(part.text.Pieces):
			errs.fail(pos, at, kubernetesStoreHint, "the %s of the resource %q is made of Secrets of the cluster, which KEDA cannot join",
				part.output, q.Resource.Value)
			continue
		default:
			secret.addTemplate(part.parameter, pos, part.text.Pieces, pos)
		}
		auth = append(auth, MapOf(pos, StringMember("parameter", part.parameter, pos), StringMember("name", name, pos), StringMember("key", key, pos)))
	}

	// The credentials that KEDA reads, and the Secret that has them.
	m.put("auth", lowerList(auth, pos))
	if len(secret.templates) > 0 {
		m.put("secret", secret.value(from.config))
	}
	if r.Queue.VHost != "" {
		m.put("vhost", object.TextAt(r.Queue.VHost, pos))
	}
	if r.Queue.Account != "" {
		m.put("account", object.TextAt(r.Queue.Account, pos))
	}
	checkAddress(errs, r.Queue.Address, r.Context.ClusterDomain, at)
	return m.value(pos)
}

// queuePart is a part of what KEDA needs to reach a queue: the output of the resource that it is,
// the field of the input that shows it, and the parameter of a Secret that holds it. The field or
// the parameter is "" where KEDA reads no such one.
type queuePart struct {
	output, field, parameter string
	text                     Text
}

// queueParts returns the parts of a queue, in the order of the parameters of KEDA.
func queueParts(q *score.Queue, of *Queue) []queuePart {
	out := []queuePart{{"address", "address", of.AddressParameter, of.Address}}
	for i, text := range of.Credentials {
		c := q.Broker.Credentials[i]
		p := queuePart{c.Output, "", c.Parameter, text}
		if c.Shown {
			p.field = c.Output
		}
		out = append(out, p)
	}
	return out
}

// checkAddress warns of the name of a Service without its namespace: KEDA looks it up in
// the namespace in which it runs itself.
func checkAddress(errs *mistakes, address Text, domain string, at object.Path) {
	plain := address.Plain()
	if _, after, ok := strings.Cut(plain, "://"); ok {
		plain = after
	}
	host, _, err := net.SplitHostPort(plain)
	if !address.Tainted() && err == nil && !strings.ContainsAny(host, ".:") {
		errs.warn(address.Pos, at, "write "+host+".NAMESPACE.svc."+domain,
			"%q has no namespace: KEDA looks it up in its own", host)
	}
}

// scaleByRequests returns the scaling by requests with the port whose requests count.
func scaleByRequests(errs *mistakes, r *Resolved, http object.Value) object.Value {
	if http.Kind == object.KindNone {
		return http
	}
	at := errs.extra("replicas", "http")
	want, named := http.Get("port")
	ports := slices.DeleteFunc(slices.Clone(r.Workload.Ports), func(p score.Port) bool {
		return p.Protocol != network.ProtocolTCP || named && p.Name != want.Text
	})
	if len(ports) != 1 {
		errs.fail(cmp.Or(want.Pos, http.Pos), at, "write port: NAME of one of service.ports",
			"requests are for one TCP port of the service, and there are %d to choose from", len(ports))
		return object.Value{}
	}

	// Requests that come past the interceptor are not counted.
	for _, route := range r.entries() {
		if slices.ContainsFunc(route.Ports, func(p score.Port) bool { return p.Target == ports[0].Target }) {
			errs.warn(http.Pos, at, "let the gateway send requests to the interceptor of KEDA's HTTP add-on, or scale by cpu",
				"the route leads to the pods past the interceptor, so that its requests are not counted and start no pod")
			break
		}
	}
	return withPart(withPart(http, "port", object.NumberAt(ports[0].Port, ports[0].Pos)), "targetPort", object.NumberAt(ports[0].Target, ports[0].Pos))
}

// interceptor returns the port that the interceptor sends requests to, or nothing if requests do
// not decide how many pods run.
func interceptor(requests object.Value) []network.Opening {
	if requests.Kind == object.KindNone {
		return nil
	}
	namespace, _ := requests.Get("namespace")
	return []network.Opening{{
		Port:      score.Port{Target: bound(requests, "targetPort"), Protocol: network.ProtocolTCP},
		Namespace: cmp.Or(namespace.Text, "keda"),
		Pods:      true,
	}}
}

// mergeTriggered returns what a provisioner merges over a workload that KEDA scales: its targets
// are further triggers, and the bounds are those of the author.
func mergeTriggered(errs *mistakes, n *score.Replicas, patch, scaling object.Value, ok, fixed bool) object.Value {
	if fixed {
		errs.fail(n.Pos, errs.extra("replicas"), "remove the resource, or the triggers",
			"a resource sets the number of pods, which the triggers would change")
	}
	if !ok {
		return patch
	}
	errs.warn(n.Pos, errs.extra("replicas"), "remove one of them",
		"replicas and a resource both configure an autoscaler: its targets are used beside the triggers, and its bounds are not")
	return withPart(patch, resource.PartAutoscaling, scaling.Without(object.Fields("min")).Without(object.Fields("max")))
}
