// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// lowering is one workload on its way from Score to the input of
// Kubernetes.
type lowering struct {
	r    Resolved
	spec *score.Workload
	name string
	// kind is one of the kinds of score.
	kind string
	errs object.Errors
	// main is how many containers are the pod's own, and come before no other; first is
	// the name of the first one.
	main  int
	first string

	// configs and secrets are the ConfigMaps and ExternalSecrets by the end of
	// their name.
	configs, secrets members
	// scaled is set if an ExternalSecret holds the credentials of a queue.
	scaled bool
	// requested is how the workload is scaled by requests.
	requested object.Value
	// volumes are those of the pod, claims those of each replica; taken holds the
	// names of both.
	volumes, claims []object.Value
	reserved        map[string]bool
	// mounts are what each container mounts: volumes, then files.
	mounts [][]object.Value
}

// Input returns the input of the module that makes the objects of a workload (#Input
// of cue/modules/workload). It must not be evaluated if one of the errors is more than a
// warning.
func Input(r Resolved) (object.Value, object.Errors) {
	l := &lowering{r: r, spec: &r.Workload, name: r.Workload.Name.Value}
	l.mounts = make([][]object.Value, len(r.Containers))
	l.chooseKind()
	l.mountVolumes()
	l.mountFiles()
	input := l.input().Merge(l.scale(r.Patch))
	return l.finish(input), l.errs
}

// chooseKind sets the kind that the workload declares. Without one it is a Deployment, or a
// StatefulSet if there is a claim.
func (l *lowering) chooseKind() {
	l.kind = l.spec.Kind.Value
	if l.kind != "" {
		return
	}
	l.kind = score.KindDeployment
	for _, c := range l.r.Containers {
		for _, m := range c.Mounts {
			if m.Claim.Kind != object.KindNone {
				l.kind = score.KindStatefulSet
			}
		}
	}
}

// runs reports whether the pods run until they are replaced, and not to an end.
func (l *lowering) runs() bool {
	return l.kind == score.KindDeployment || l.kind == score.KindStatefulSet
}

// input returns the workload before provisioners merge their part over it.
func (l *lowering) input() object.Value {
	s := l.spec

	// The containers come first: they add the ConfigMaps and ExternalSecrets of their variables.
	init, main := l.containers()

	// Put the fields together.
	m := make(members, 0, 16)
	m.put("name", object.TextAt(s.Name.Value, s.Name.Pos))
	m.put("kind", object.TextAt(l.kind, s.Kind.Pos))
	m.put("labels", lowerPairs(s.Labels))
	m.put("annotations", lowerPairs(s.Annotations))
	m.put("podAnnotations", lowerPairs(s.PodAnnotations))
	m.put("podLabels", lowerPairs(s.PodLabels))
	l.putReplicas(&m)
	m.put("serving", s.Serving)
	m = append(m, s.Passed.Members...)
	m.put("schedule", lowerGiven(s.Schedule.Value, s.Schedule.Pos))
	m.put("job", s.Job)
	m.put("serviceAccount", l.serviceAccount())
	m.put("containers", lowerList(main, s.Pos))
	m.put("initContainers", lowerList(init, s.Pos))
	m.put("volumes", lowerList(l.volumes, object.Pos{}))
	m.put("claims", lowerList(l.claims, object.Pos{}))
	m.put("pod", l.pod())
	m.put("configs", l.configs.value(object.Pos{}))
	m.put("secrets", l.secrets.value(object.Pos{}))
	m.put("pulls", l.pulls())
	m.put("store", l.store())
	m.put("service", l.service())
	m.put("canary", l.canary())
	m.put("network", l.network())
	m.put("dependsOn", l.dependsOn())

	// A cluster would refuse some names and routes, and partly only when it makes the pods.
	l.checkName()
	l.checkRoutes()
	return m.value(s.Pos)
}

// The longest names that Kubernetes accepts beyond the 63 letters of a label: it
// appends to them and puts the sum into a label, and so does Flagger.
const (
	longestCronJob     = 52 // -<minutes since 1970> (batch validation)
	longestStatefulSet = 52 // -<hash of the revision> in the label of each pod
	longestCanary      = 55 // -primary
)

// checkRoutes refuses a way in to pods that run to an end.
func (l *lowering) checkRoutes() {
	for _, r := range l.spec.Resources {
		if r.Type.Value == network.TypeRoute && !l.runs() {
			why := "a route leads to pods that serve, and those of a %s run to an end"
			if l.kind == score.KindKnativeService {
				why = "Knative makes the routes of a %s, whose Service leads to its own gateway"
			}
			l.fail(r.Pos, l.at("resources", r.Name), "remove the route, or write kind: Deployment", why, l.kind)
		}
	}
}

// checkName refuses names that a cluster would refuse, some of them only when
// it makes the pods.
func (l *lowering) checkName() {
	s := l.spec
	at := object.Fields("metadata", "name")
	longest := map[string]int{score.KindCronJob: longestCronJob, score.KindStatefulSet: longestStatefulSet}[l.kind]
	what := "a " + l.kind
	if longest == 0 && s.Deploy.Strategy == score.StrategyCanary {
		longest = longestCanary
		what = "a workload with a canary"
	}
	if longest > 0 && len(l.name) > longest {
		l.fail(s.Name.Pos, at, "", "%q has %d characters: the name of %s has at most %d", l.name, len(l.name), what, longest)
	}
	if len(s.Ports) > 0 && l.name != "" && l.name[0] >= '0' && l.name[0] <= '9' {
		l.fail(s.Name.Pos, at, "put a letter in front, or remove the service ports",
			"%q begins with a digit: the name of a Service begins with a letter (RFC 1035)", l.name)
	}
}

// serviceAccount returns the account of the pods, which has the name of the workload if it has
// none of its own.
func (l *lowering) serviceAccount() object.Value {
	a := l.spec.ServiceAccount
	name := a.Name
	if name.Value == "" {
		name = l.spec.Name
	}
	return MapOf(name.Pos, StringMember("name", name.Value, name.Pos),
		BoolMember("create", !a.Existing, name.Pos),
		with("annotations", lowerPairs(a.Annotations)),
		BoolMember("mountToken", a.MountToken, name.Pos))
}

// service returns the ports by which other workloads reach the pods, or an absent value if there
// are none.
func (l *lowering) service() object.Value {
	ports := l.spec.Ports
	items := make([]object.Value, len(ports))
	for i, p := range ports {
		items[i] = MapOf(p.Pos, StringMember("name", p.Name, p.Pos), IntMember("port", p.Port, p.Pos),
			IntMember("targetPort", p.Target, p.Pos), StringMember("protocol", p.Protocol, p.Pos))
	}
	pos := l.spec.Headless
	if len(items) > 0 {
		pos = items[0].Pos
	}
	if !pos.IsValid() {
		return object.Value{}
	}
	list := always(items)
	list.Pos = pos
	m := members{with("ports", list)}
	if l.spec.Headless.IsValid() {
		m = append(m, BoolMember("headless", true, l.spec.Headless))
	}
	return m.value(pos)
}

// store returns the store that the ExternalSecrets read, with its spec if this workload makes it.
// One ClusterSecretStore serves the workloads of every namespace of the project. It has no
// conditions: those of the first workload would lock the others out.
func (l *lowering) store() object.Value {
	c := l.r.Config.Secrets
	owns := l.r.OwnsStore && c.Provider.Kind != object.KindNone
	if len(l.secrets)+len(l.r.Pulls) == 0 && !l.scaled && !owns {
		return object.Value{}
	}
	var spec object.Value
	if owns {
		spec = MapOf(c.Provider.Pos, with("provider", c.Provider))
	}
	return MapOf(c.StorePos, StringMember("name", c.StoreName, c.StorePos),
		StringMember("kind", c.StoreKind, c.StorePos), with("spec", spec))
}

// dependsOn returns the nodes that come before the pods.
func (l *lowering) dependsOn() object.Value {
	items := make([]object.Value, len(l.r.DependsOn))
	for i, id := range l.r.DependsOn {
		items[i] = object.TextAt(id, object.Pos{})
	}
	return lowerList(items, object.Pos{})
}

// finish decides what depends on the complete input, after provisioners merged their part over
// it: the owner of the number of pods, the budget of disruption and the hash. Two pods or more
// get a budget if the author gives none, so that the drain of a node takes one at a time. One pod
// gets none, because any budget for it would keep its node from ever being drained or mean
// nothing.
func (l *lowering) finish(input object.Value) object.Value {
	if _, ok := input.Get("autoscaling"); ok && l.runs() {
		_, fixed := l.r.Patch.Get("replicas")
		_, scaled := l.r.Patch.Get("autoscaling")
		if fixed && !scaled {
			input = input.Without(object.Fields("autoscaling"))
		} else {
			input = input.Without(object.Fields("replicas"))
			l.checkRequests(input)
		}
	}

	// Check what is known only now.
	l.checkKnative(input)
	input = fixedCanary(input)
	l.checkCanaryPorts(input)
	l.checkProbes(input)
	l.checkSingle(input)

	// Add the budget and the hash.
	if budget, ok := input.Get("disruption"); ok {
		l.checkBudget(budget, leastPods(input))
	} else if l.runs() && leastPods(input) > 1 {
		input = addMember(input, "disruption", MapOf(object.Pos{}, IntMember("maxUnavailable", 1, object.Pos{})))
	}
	if h := hash(input); h != "" {
		input = addMember(input, "hash", object.TextAt(h, object.Pos{}))
	}
	return input
}

// hash returns a hash of the configuration that pods read when they start: the data of the
// ConfigMaps, and what the ExternalSecrets refer to and make of it, never a value. How often
// secrets are read again is no part of it. It returns "" if there is no configuration.
func hash(input object.Value) string {
	configs, _ := input.Get("configs")
	secrets, _ := input.Get("secrets")
	if len(configs.Members) == 0 && len(secrets.Members) == 0 {
		return ""
	}
	references := make(members, 0, len(secrets.Members))
	for _, s := range secrets.Members {
		references.put(s.Name, s.Value.Without(object.Fields("refreshInterval")))
	}
	all := MapOf(object.Pos{}, with("configs", configs), with("secrets", references.value(object.Pos{})))
	sum := sha256.Sum256(all.JSON())
	return hex.EncodeToString(sum[:])
}
