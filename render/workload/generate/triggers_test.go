// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// scaledBy is the plain workload with a queue and more.
func scaledBy(change func(r *Resolved)) Resolved {
	r := plain()
	r.Workload.Replicas = &score.Replicas{
		Min: 0, Max: 5, Pos: at(60), Queue: &score.Queue{Broker: score.Brokers()[0], Address: says("q.shop:6379", 61), Settings: fields(m{"name": "jobs"})},
	}
	r.Queue = &Queue{Address: write(61, lit("q.shop:6379"))}
	if change != nil {
		change(&r)
	}
	return r
}

func TestWhatKEDAWouldRefuseOrWhatIsNotMeant(t *testing.T) {
	requests := fields(m{"rate": 5, "hosts": []string{"a.example"}})
	for _, c := range []struct {
		name   string
		change func(r *Resolved)
		want   []string
	}{
		{"a queue", nil, nil},
		{"a target without a request", func(r *Resolved) {
			r.Workload.Replicas.CPU, r.Workload.Replicas.Memory = 80, 80
			r.Containers[0].Spec.Requests = r.Containers[0].Spec.Requests[:1]
		}, []string{"score.yaml:5:5: spec: containers.web.resources.requests: no request of memory: the autoscaler measures by it and does nothing without (write resources.requests.memory)"}},
		{"no target wants no request", func(r *Resolved) { r.Containers[0].Spec.Requests = nil }, nil},
		{"a canary", func(r *Resolved) {
			r.Workload.Deploy = score.Deploy{Strategy: score.StrategyCanary, Pos: at(70)}
			r.Containers[0].Spec.ReadinessProbe = fields(m{"exec": m{}})
		}, []string{
			"score.yaml:60:5: spec: metadata.replicas: a release scales both versions: Flagger copies the autoscaler, and the two see the same queue or the same requests",
			"score.yaml:60:5: spec: metadata.replicas: the number of pods may be 0 in a release: Flagger sends requests to a version without pods, and takes their failure for the version's (write min: 1, or strategy: rolling)",
		}},
		{"a canary that never sleeps", func(r *Resolved) {
			r.Workload.Deploy, r.Workload.Replicas.Min = score.Deploy{Strategy: score.StrategyCanary, Pos: at(70)}, 1
			r.Containers[0].Spec.ReadinessProbe = fields(m{"exec": m{}})
		}, []string{"score.yaml:60:5: spec: metadata.replicas: a release scales both versions: Flagger copies the autoscaler, and the two see the same queue or the same requests"}},
		{"a number of a resource", func(r *Resolved) { r.Patch = fields(m{"replicas": 3}) },
			[]string{"score.yaml:60:5: spec: metadata.replicas: a resource sets the number of pods, which the triggers would change (remove the resource, or the triggers)"}},
		{"an autoscaler of a resource", func(r *Resolved) { r.Patch = fields(m{"autoscaling": m{"min": 1, "max": 2, "cpu": 80}}) },
			[]string{"score.yaml:60:5: spec: metadata.replicas: replicas and a resource both configure an autoscaler: its targets are used beside the triggers, and its bounds are not (remove one of them)"}},
		{"an address without a namespace", func(r *Resolved) { r.Queue.Address = write(61, lit("q:6379")) },
			[]string{`score.yaml:61:5: spec: metadata.replicas.queue: "q" has no namespace: KEDA looks it up in its own (write q.NAMESPACE.svc.)`}},
		{"requests without a port", func(r *Resolved) { r.Workload.Replicas.HTTP, r.Workload.Ports = requests, nil },
			[]string{"score.yaml:90:5: spec: metadata.replicas.http: requests are for one TCP port of the service, and there are 0 to choose from (write port: NAME of one of service.ports)"}},
		{"requests with two ports", func(r *Resolved) {
			r.Workload.Replicas.HTTP = requests
			r.Workload.Ports = append(r.Workload.Ports, score.Port{Name: "grpc", Port: 90, Target: 90, Protocol: "TCP"})
		}, []string{"score.yaml:90:5: spec: metadata.replicas.http: requests are for one TCP port of the service, and there are 2 to choose from (write port: NAME of one of service.ports)"}},
		{"requests past the interceptor", func(r *Resolved) {
			r.Workload.Replicas.HTTP, r.Routes = requests, []network.Route{{Ports: r.Workload.Ports}}
		}, []string{"score.yaml:90:5: spec: metadata.replicas.http: the route leads to the pods past the interceptor, so that its requests are not counted and start no pod (let the gateway send requests to the interceptor of KEDA's HTTP add-on, or scale by cpu)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := scaledBy(c.change)
			input, errs := Input(r)
			require.Equal(t, c.want, lines(errs))
			if errs.Err() != nil {
				return
			}
			_, fixed := input.Get("replicas")
			require.False(t, fixed, "KEDA owns the number of pods")
			_, budget := input.Get("disruption")
			require.False(t, budget, "there may be no pod")
			scaling, _ := input.Get("autoscaling")
			require.Equal(t, r.Workload.Replicas.Min, bound(scaling, "min"))
			require.Equal(t, 5, bound(scaling, "max"))
		})
	}
}

func TestTheSeverityOfAMissingRequestIsThatOfTheAutoscaler(t *testing.T) {
	severity := func(r Resolved) object.Severity {
		r.Workload.Replicas.CPU, r.Containers[0].Spec.Requests = 80, nil
		_, errs := Input(r)
		require.Len(t, errs, 1)
		return errs[0].Severity
	}
	require.Equal(t, object.SeverityError, severity(scaledBy(nil)), "the webhook of KEDA refuses it")
	require.Equal(t, object.SeverityWarning, severity(scaledBy(func(r *Resolved) { r.Workload.Replicas.Queue, r.Workload.Replicas.Min = nil, 1 })))
}

func TestTwoPodsOrMoreOfAQueueHaveABudget(t *testing.T) {
	input, errs := Input(scaledBy(func(r *Resolved) { r.Workload.Replicas.Min = 2 }))
	require.Empty(t, errs)
	_, budget := input.Get("disruption")
	require.True(t, budget)
}

// A trigger stays where min and max leave nothing to scale, as an environment may write
// them.
func TestATriggerStaysWithEqualBounds(t *testing.T) {
	input, errs := Input(scaledBy(func(r *Resolved) { r.Workload.Replicas.Min, r.Workload.Replicas.Max = 1, 1 }))
	require.Empty(t, errs)
	_, found := input.Lookup(object.Fields("autoscaling", "queue"))
	require.Equal(t, 2, found)
}

func TestPoliciesLetTheInterceptorIn(t *testing.T) {
	input, errs := Input(scaledBy(func(r *Resolved) {
		r.Config.Policies = []string{"kubernetes"}
		r.Workload.Replicas.HTTP = fields(m{"rate": 5, "hosts": []string{"a.example"}, "namespace": "add-on"})
	}))
	require.Empty(t, errs)
	routes, _ := input.Lookup(object.Fields("network", "routes"))
	require.JSONEq(t, `[{"port": 8080, "protocol": "TCP", "namespace": "add-on", "pods": true}]`, string(routes.JSON()))
}

func TestNoRuleVanishes(t *testing.T) {
	peer := fields(m{"namespace": "a"})
	host := score.Rule{Pos: at(71), Peer: fields(m{}), Host: says("a.example", 72), Ports: []score.Port{{Port: 443, Target: 443, Protocol: "TCP"}}}
	labels := score.Rule{Pos: at(71), Peer: fields(m{"labels": m{"a": "b"}})}
	pods := score.Rule{Pos: at(73), Peer: peer}
	const add = "add cilium or kubernetes to spec.workloads.network.policies of the Project"
	for _, c := range []struct {
		name     string
		policies []string
		rules    score.Rules
		types    string
		want     []string
	}{
		{"no policies: callers", nil, score.Rules{From: []score.Rule{pods}}, `["Ingress"]`, nil},
		{"no policies: nothing may be called", nil, score.Rules{To: []score.Rule{}}, `["Egress"]`, nil},
		{"no policies: both", nil, score.Rules{From: []score.Rule{}, To: []score.Rule{pods}}, `["Ingress","Egress"]`, nil},
		{"no policies: a host", nil, score.Rules{To: []score.Rule{host}}, `["Egress"]`, []string{
			"score.yaml:72:5: spec: metadata.network.allowTo: a NetworkPolicy of Kubernetes knows no hosts, and no other policy is made (write cidr, or add cilium or istio to spec.workloads.network.policies of the Project)",
		}},
		{"cilium and kubernetes: a host", []string{"cilium", "kubernetes"}, score.Rules{To: []score.Rule{host}}, "", []string{
			"score.yaml:72:5: spec: metadata.network.allowTo: the NetworkPolicy knows no hosts and opens the ports to all addresses, also where Cilium does not (ask for one of cilium and kubernetes)",
		}},
		{"cilium: all", []string{"cilium"}, score.Rules{From: []score.Rule{labels}, To: []score.Rule{host, pods}}, "", nil},
		{"istio: a host", []string{"istio"}, score.Rules{To: []score.Rule{host}}, "", nil},
		{"istio: pods that are called", []string{"istio"}, score.Rules{To: []score.Rule{host, pods}}, "", []string{
			"score.yaml:73:5: spec: metadata.network.allowTo: istio alone enforces nothing on calls that pods make, but for hosts (" + add + ")",
		}},
		{"istio: nothing may be called", []string{"istio"}, score.Rules{Pos: at(70), To: []score.Rule{}}, "", []string{
			"score.yaml:70:5: spec: metadata.network.allowTo: istio alone enforces nothing on calls that pods make (" + add + ")",
		}},
		{"istio: labels", []string{"istio"}, score.Rules{From: []score.Rule{labels, pods}}, "", []string{
			"score.yaml:90:5: spec: metadata.network.allowFrom: istio knows the namespace of a caller and no labels (" + add + ", or leave the labels out)",
		}},
		{"istio and kubernetes: labels", []string{"istio", "kubernetes"}, score.Rules{From: []score.Rule{labels}, To: []score.Rule{pods}}, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plain()
			r.Config.Policies, r.Workload.Network = c.policies, &c.rules
			input, errs := Input(r)
			require.Equal(t, c.want, lines(errs))
			types, _ := input.Lookup(object.Fields("network", "types"))
			if c.types != "" {
				require.JSONEq(t, c.types, string(types.JSON()))
			}
			from, found := input.Lookup(object.Fields("network", "from"))
			require.Equal(t, len(c.rules.From) > 0, found == 2)
			require.Equal(t, len(c.rules.From), len(from.Items)*(found/2))
		})
	}
}

// A closed policy that forgets the server of tokens leaves pods without their identity.
func TestAnIdentityNeedsItsTokens(t *testing.T) {
	const gcp, aws, azure = "iam.gke.io/gcp-service-account", "eks.amazonaws.com/role-arn", "azure.workload.identity/client-id"
	cidr := func(cidr string, ports ...int) score.Rule {
		r := score.Rule{Pos: at(71), Peer: fields(m{"cidr": cidr})}
		for _, p := range ports {
			r.Ports = append(r.Ports, score.Port{Port: p, Target: p, Protocol: "TCP"})
		}
		return r
	}
	except := score.Rule{Pos: at(71), Peer: fields(m{"cidr": "0.0.0.0/0", "except": []any{"169.254.0.0/16"}})}
	udp := cidr("0.0.0.0/0", 443)
	udp.Ports[0].Protocol = "UDP"
	host := network.External{Host: "sts.eu-west-1.amazonaws.com"}
	cilium := []string{"cilium"}
	for _, c := range []struct {
		name, annotation string
		policies         []string
		rules            *score.Rules
		hosts            []network.External
		warned           bool
	}{
		{"nothing is closed", gcp, nil, &score.Rules{From: []score.Rule{}}, nil, false},
		{"no rules", gcp, cilium, nil, nil, true},
		{"nothing is allowed", gcp, nil, &score.Rules{To: []score.Rule{}}, nil, true},
		{"all is allowed", gcp, nil, &score.Rules{To: []score.Rule{cidr("0.0.0.0/0")}}, nil, false},
		{"any peer at the port", aws, nil, &score.Rules{To: []score.Rule{{Peer: fields(m{}), Ports: cidr("", 443).Ports}}}, nil, false},
		{"all but the node", gcp, nil, &score.Rules{To: []score.Rule{except}}, nil, true},
		{"all but the node, for a host", aws, nil, &score.Rules{To: []score.Rule{except}}, nil, false},
		{"the metadata server", gcp, nil, &score.Rules{To: []score.Rule{cidr("169.254.169.252/32", 988)}}, nil, false},
		{"the metadata server of Dataplane V2", gcp, cilium, &score.Rules{To: []score.Rule{cidr("169.254.169.254/32", 80)}}, nil, false},
		{"another port", gcp, nil, &score.Rules{To: []score.Rule{cidr("169.254.169.252/32", 443)}}, nil, true},
		{"another protocol", azure, nil, &score.Rules{To: []score.Rule{udp}}, nil, true},
		{"a range with the port", azure, nil, &score.Rules{To: []score.Rule{cidr("10.0.0.0/8", 443)}}, nil, false},
		{"a private range without a port", azure, nil, &score.Rules{To: []score.Rule{cidr("10.0.0.0/8")}}, nil, true},
		{"a private range with another port", aws, nil, &score.Rules{To: []score.Rule{cidr("10.0.0.0/8", 5432)}}, nil, true},
		{"a public range without a port", azure, nil, &score.Rules{To: []score.Rule{cidr("20.190.128.0/18")}}, nil, false},
		{"a public range with the port", azure, nil, &score.Rules{To: []score.Rule{cidr("20.190.128.0/18", 80, 443)}}, nil, false},
		{"a public range with another port", azure, nil, &score.Rules{To: []score.Rule{cidr("20.190.128.0/18", 80)}}, nil, true},
		{"all of IPv6", aws, nil, &score.Rules{To: []score.Rule{cidr("::/0")}}, nil, false},
		{"the node at the port", aws, nil, &score.Rules{To: []score.Rule{cidr("169.254.169.254/32", 443)}}, nil, true},
		{"a public range for the metadata server", gcp, nil, &score.Rules{To: []score.Rule{cidr("20.190.128.0/18")}}, nil, true},
		{"the metadata server at all ports", gcp, nil, &score.Rules{To: []score.Rule{cidr("169.254.0.0/16")}}, nil, false},
		{"pods", aws, cilium, &score.Rules{To: []score.Rule{{Peer: fields(m{"namespace": "a"})}}}, nil, true},
		{"the host", aws, cilium, nil, []network.External{host}, false},
		{"the host of another cloud", azure, cilium, nil, []network.External{host}, true},
		{"a mesh closes no calls", aws, []string{"istio"}, &score.Rules{From: []score.Rule{}}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plain()
			r.Config.Policies, r.Workload.Network, r.Network.External = c.policies, c.rules, c.hosts
			r.Workload.ServiceAccount.Annotations = []score.Pair{{Name: c.annotation, NamePos: at(60), Value: says("x", 60)}}
			_, errs := Input(r)
			if !c.warned {
				require.Empty(t, lines(errs))
				return
			}
			require.Len(t, errs, 1)
			require.Equal(t, object.SeverityWarning, errs[0].Severity)
			require.Contains(t, lines(errs)[0], "score.yaml:60:5: spec: metadata.network.allowTo: no rule lets the pods get the tokens of their identity, "+c.annotation)
		})
	}
}
