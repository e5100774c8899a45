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

// autoscaling returns what decides the number of pods: the bounds, the targets and the triggers.
func (l *lowering) autoscaling(r *score.Replicas) object.Value {
	var cpu, memory object.Value
	if r.CPU > 0 {
		cpu = object.NumberAt(r.CPU, r.Pos)
	}
	if r.Memory > 0 {
		memory = object.NumberAt(r.Memory, r.Pos)
	}
	m := MapOf(r.Pos, IntMember("min", r.Min, r.Pos), IntMember("max", r.Max, r.Pos), with("cpu", cpu), with("memory", memory))
	if !r.Triggered() {
		return m
	}

	// KEDA owns the number, and a release has two versions of it.
	m.Members = append(m.Members, MapOf(r.Pos, with("pollingInterval", r.PollingInterval), with("cooldown", r.Cooldown),
		with("queue", l.queue(r.Queue)), with("cron", r.Cron), with("http", l.scaleByRequests(r.HTTP))).Members...)
	if l.spec.Deploy.Strategy == score.StrategyCanary && (r.Queue != nil || r.HTTP.Kind != object.KindNone) {
		l.warn(r.Pos, l.extra("replicas"), "",
			"a release scales both versions: Flagger copies the autoscaler, and the two see the same queue or the same requests")
	}
	if l.spec.Deploy.Strategy == score.StrategyCanary && r.Min == 0 {
		l.warn(r.Pos, l.extra("replicas"), "write min: 1, or strategy: rolling",
			"the number of pods may be 0 in a release: Flagger sends requests to a version without pods, and takes their failure for the version's")
	}
	return m
}

// queue returns the queue with its address and the places of its credentials. It is absent if
// there is no queue, or none that could be resolved.
func (l *lowering) queue(q *score.Queue) object.Value {
	if q == nil || l.r.Queue == nil {
		return object.Value{}
	}
	at := l.extra("replicas", "queue")
	pos := cmp.Or(q.Resource.Pos, q.Address.Pos)

	// The settings of the author come first.
	m := members(slices.Clone(q.Settings.Members))
	var auth []object.Value
	var secret externalSecret

	// Each part is plain text, a Secret of the cluster, or a key of an ExternalSecret.
	for _, part := range []struct {
		parameter string
		text      Text
	}{{"address", l.r.Queue.Address}, {"username", l.r.Queue.Username}, {"password", l.r.Queue.Password}} {
		name, key := l.name+"-"+scalingSecret, part.parameter
		switch s := part.text.Single(); {
		case len(part.text.Pieces) == 0:
			continue
		case !part.text.Tainted() && part.parameter == "password":
			l.fail(pos, at, "the provisioner must give it as a sensitive output",
				"the resource %q gives its password as plain text, which the ScaledObject would show", q.Resource.Value)
			continue
		case !part.text.Tainted():
			m.put(part.parameter, object.TextAt(part.text.Plain(), pos))
			continue
		case s != nil && l.clustered(part.text.Pieces[0]):
			if !l.checkReadable(s, pos, at) {
				continue
			}
			name, key = s.Key, s.Property
		case !l.joined(part.text.Pieces):
			l.fail(pos, at, kubernetesStoreHint, "the %s of the resource %q is made of Secrets of the cluster, which KEDA cannot join",
				part.parameter, q.Resource.Value)
			continue
		default:
			secret.addTemplate(part.parameter, pos, part.text.Pieces, pos)
		}
		auth = append(auth, MapOf(pos, StringMember("parameter", part.parameter, pos), StringMember("name", name, pos), StringMember("key", key, pos)))
	}

	// The credentials that KEDA reads, and the Secret that has them.
	m.put("auth", lowerList(auth, pos))
	if len(secret.templates) > 0 {
		l.scaled = true
		m.put("secret", secret.value(l))
	}
	l.checkAddress(l.r.Queue.Address, at)
	return m.value(pos)
}

// joined reports whether an ExternalSecret can make a text of pieces.
func (l *lowering) joined(pieces []Piece) bool {
	return l.external() && (l.r.Config.Secrets.KubernetesStore != "" || !slices.ContainsFunc(pieces, l.clustered))
}

// checkAddress warns of the name of a Service without its namespace: KEDA looks it up in
// the namespace in which it runs itself.
func (l *lowering) checkAddress(address Text, at object.Path) {
	host, _, err := net.SplitHostPort(address.Plain())
	if !address.Tainted() && err == nil && !strings.ContainsAny(host, ".:") {
		l.warn(address.Pos, at, "write "+host+".NAMESPACE.svc."+l.r.Context.ClusterDomain,
			"%q has no namespace: KEDA looks it up in its own", host)
	}
}

// scaleByRequests returns the scaling by requests with the port whose requests count, and records
// it for the policies.
func (l *lowering) scaleByRequests(http object.Value) object.Value {
	if http.Kind == object.KindNone {
		return http
	}
	at := l.extra("replicas", "http")
	want, named := http.Get("port")
	ports := slices.DeleteFunc(slices.Clone(l.spec.Ports), func(p score.Port) bool {
		return p.Protocol != network.ProtocolTCP || named && p.Name != want.Text
	})
	if len(ports) != 1 {
		l.fail(cmp.Or(want.Pos, http.Pos), at, "write port: NAME of one of service.ports",
			"requests are for one TCP port of the service, and there are %d to choose from", len(ports))
		return object.Value{}
	}

	// Requests that come past the interceptor are not counted.
	for _, route := range l.r.entries() {
		if slices.ContainsFunc(route.Ports, func(p score.Port) bool { return p.Target == ports[0].Target }) {
			l.warn(http.Pos, at, "let the gateway send requests to the interceptor of KEDA's HTTP add-on, or scale by cpu",
				"the route leads to the pods past the interceptor, so that its requests are not counted and start no pod")
			break
		}
	}
	l.requested = withPart(withPart(http, "port", object.NumberAt(ports[0].Port, ports[0].Pos)), "targetPort", object.NumberAt(ports[0].Target, ports[0].Pos))
	return l.requested
}

// interceptor returns the port that the interceptor sends requests to, or nothing if requests do
// not decide how many pods run.
func (l *lowering) interceptor() []network.Opening {
	if l.requested.Kind == object.KindNone {
		return nil
	}
	namespace, _ := l.requested.Get("namespace")
	return []network.Opening{{
		Port:      score.Port{Target: bound(l.requested, "targetPort"), Protocol: network.ProtocolTCP},
		Namespace: cmp.Or(namespace.Text, "keda"),
		Pods:      true,
	}}
}

// mergeTriggered returns what a provisioner merges over a workload that KEDA scales: its targets
// are further triggers, and the bounds are those of the author.
func (l *lowering) mergeTriggered(patch, scaling object.Value, ok, fixed bool) object.Value {
	r := l.spec.Replicas
	if fixed {
		l.fail(r.Pos, l.extra("replicas"), "remove the resource, or the triggers",
			"a resource sets the number of pods, which the triggers would change")
	}
	if !ok {
		return patch
	}
	l.warn(r.Pos, l.extra("replicas"), "remove one of them",
		"replicas and a resource both configure an autoscaler: its targets are used beside the triggers, and its bounds are not")
	return withPart(patch, resource.PartAutoscaling, scaling.Without(object.Fields("min")).Without(object.Fields("max")))
}
