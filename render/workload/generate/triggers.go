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

// lowerAutoscaling returns the settings for the number of pods: the bounds, the targets and the triggers.
func lowerAutoscaling(errs *mistakes, r *Resolved, n *score.Replicas) object.Value {
	var cpu, memory object.Value
	if n.CPU > 0 {
		cpu = object.NumberAt(n.CPU, n.Pos)
	}
	if n.Memory > 0 {
		memory = object.NumberAt(n.Memory, n.Pos)
	}
	m := MapOf(n.Pos, IntMember("min", n.Min, n.Pos), IntMember("max", n.Max, n.Pos), member("cpu", cpu), member("memory", memory))
	if !n.Triggered() {
		return m
	}

	// KEDA owns the number, and a release has two versions with a number each.
	m.Members = append(m.Members, MapOf(n.Pos, member("pollingInterval", n.PollingInterval), member("cooldown", n.Cooldown),
		member("queue", lowerQueue(errs, r, n.Queue)), member("cron", n.Cron), member("http", scaleByRequests(errs, r, n.HTTP))).Members...)
	if r.Workload.Deploy.Strategy == score.StrategyCanary && (n.Queue != nil || n.HTTP.Kind != object.KindNone) {
		errs.warn(n.Pos, errs.extra("replicas"), "",
			"a release scales both versions: Flagger copies the autoscaler, and the two see the same queue or the same requests")
	}
	if r.Workload.Deploy.Strategy == score.StrategyCanary && n.Min == 0 {
		errs.warn(n.Pos, errs.extra("replicas"), "write min: 1, or strategy: rolling",
			"the number of pods may be 0 in a release: "+
				"Flagger sends requests to a version without pods, and takes their failure for the version's")
	}
	return m
}

// lowerQueue returns the queue with its address and the places of its credentials, or an absent value
// if no queue could be resolved.
func lowerQueue(errs *mistakes, r *Resolved, q *score.Queue) object.Value {
	secrets := backend{&r.Config.Secrets}
	if q == nil || r.Queue == nil {
		return object.Value{}
	}
	path := errs.extra("replicas", "queue")
	pos := cmp.Or(q.Resource.Pos, q.Address.Pos, q.Settings.Pos)

	// The settings of the author come first.
	m := members(slices.Clone(q.Settings.Members))
	var auth []object.Value
	var secret externalSecret

	// Each part is plain text, a Secret of the cluster, or a key of an ExternalSecret.
	for _, part := range queueValues(q, r.Queue) {
		name, key := r.Workload.Name.Value+"-"+scalingSecret, part.parameter
		switch s := part.text.Single(); {
		case len(part.text.Pieces) == 0:
			continue
		case !part.text.Tainted() && part.field == "":
			errs.fail(pos, path, "the provisioner must give it as a sensitive output",
				"the resource %q gives its %s as plain text, which the ScaledObject would show", q.Resource.Value, part.output)
			continue
		case !part.text.Tainted():
			m.put(part.field, object.TextAt(part.text.Plain(), pos))
			continue
		case part.parameter == "":
			errs.fail(pos, path, "the provisioner must give it as a plain output",
				"the resource %q gives its %s as a secret, and KEDA reads it as plain text only", q.Resource.Value, part.output)
			continue
		case s != nil && secrets.clustered(part.text.Pieces[0]):
			if !checkReadable(errs, s, pos, path) {
				continue
			}
			name, key = s.Key, s.Property
		case !secrets.joined(part.text.Pieces):
			errs.fail(pos, path, kubernetesStoreHint, "the %s of the resource %q is made of Secrets of the cluster, which KEDA cannot join",
				part.output, q.Resource.Value)
			continue
		default:
			secret.addTemplate(part.parameter, pos, part.text.Pieces, pos)
		}
		auth = append(auth, MapOf(pos,
			StringMember("parameter", part.parameter, pos), StringMember("name", name, pos), StringMember("key", key, pos)))
	}

	// Add the credentials that KEDA reads, and the Secret that holds them.
	m.put("auth", lowerList(auth, pos))
	if len(secret.templates) > 0 {
		m.put("secret", secret.value(secrets.config))
	}
	if r.Queue.VHost != "" {
		m.put("vhost", object.TextAt(r.Queue.VHost, pos))
	}
	if r.Queue.Account != "" {
		m.put("account", object.TextAt(r.Queue.Account, pos))
	}
	checkAddress(errs, r.Queue.Address, r.Context.ClusterDomain, path)
	return m.value(pos)
}

// queueValue is a value with which KEDA reaches a queue: the output of the resource that gives it,
// the field of the input that shows it, and the parameter of a Secret that holds it. The field or
// the parameter is "" if KEDA does not read it there.
type queueValue struct {
	output, field, parameter string
	text                     Text
}

// queueValues returns the values for a queue, in the order of the parameters of KEDA.
func queueValues(q *score.Queue, of *Queue) []queueValue {
	out := []queueValue{{"address", "address", of.AddressParameter, of.Address}}
	for i, text := range of.Credentials {
		c := q.Broker.Credentials[i]
		p := queueValue{c.Output, "", c.Parameter, text}
		if c.Shown {
			p.field = c.Output
		}
		out = append(out, p)
	}
	return out
}

// checkAddress warns of the name of a Service without its namespace: KEDA looks it up in its own
// namespace.
func checkAddress(errs *mistakes, address Text, domain string, path object.Path) {
	plain := address.Plain()
	if _, after, ok := strings.Cut(plain, "://"); ok {
		plain = after
	}
	host, _, err := net.SplitHostPort(plain)
	if !address.Tainted() && err == nil && !strings.ContainsAny(host, ".:") {
		errs.warn(address.Pos, path, "write "+host+".NAMESPACE.svc."+domain,
			"%q has no namespace: KEDA looks it up in its own", host)
	}
}

// scaleByRequests returns the scaling by requests with the port whose requests count.
func scaleByRequests(errs *mistakes, r *Resolved, http object.Value) object.Value {
	if http.Kind == object.KindNone {
		return http
	}
	path := errs.extra("replicas", "http")
	wantedPort, hasName := http.Get("port")
	ports := slices.DeleteFunc(slices.Clone(r.Workload.Ports), func(p score.Port) bool {
		return p.Protocol != network.ProtocolTCP || (hasName && p.Name != wantedPort.Text)
	})
	if len(ports) != 1 {
		errs.fail(cmp.Or(wantedPort.Pos, http.Pos), path, "write port: NAME of one of service.ports",
			"requests are for one TCP port of the service, and there are %d to choose from", len(ports))
		return object.Value{}
	}

	// Requests that come past the interceptor are not counted.
	for _, route := range r.entries() {
		if slices.ContainsFunc(route.Ports, func(p score.Port) bool { return p.Target == ports[0].Target }) {
			errs.warn(http.Pos, path, "let the gateway send requests to the interceptor of KEDA's HTTP add-on, or scale by cpu",
				"the route leads to the pods past the interceptor, so that its requests are not counted and start no pod")
			break
		}
	}
	http = withPart(http, "port", object.NumberAt(ports[0].Port, ports[0].Pos))
	return withPart(http, "targetPort", object.NumberAt(ports[0].Target, ports[0].Pos))
}

// interceptor returns the port that the interceptor sends requests to, or nothing if requests do
// not scale the workload.
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

// mergeTriggered returns the changes of a provisioner to a workload that KEDA scales: its targets
// become further triggers, and its bounds are ignored.
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
