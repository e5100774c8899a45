// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Input returns the input of the module that makes the objects of a workload (#Input
// of cue/modules/workload). It must not be evaluated if one of the errors is more than a
// warning.
func Input(r Resolved) (object.Value, object.Errors) {
	errs := &mistakes{document: &r.Workload}
	r.Workload.Kind.Value = chooseKind(&r)
	input := lower(errs, &r).Merge(mergeScaling(errs, &r))
	return finish(errs, &r, input), errs.all
}

// chooseKind returns the kind that the workload declares. The default is a Deployment, or a
// StatefulSet if there is a claim.
func chooseKind(r *Resolved) string {
	if r.Workload.Kind.Value != "" {
		return r.Workload.Kind.Value
	}
	claims := func(m Mount) bool { return m.Claim.Kind != object.KindNone }
	if slices.ContainsFunc(r.Containers, func(c Container) bool { return slices.ContainsFunc(c.Mounts, claims) }) {
		return score.KindStatefulSet
	}
	return score.KindDeployment
}

// lower returns the input before provisioners merge their part over it.
func lower(errs *mistakes, r *Resolved) object.Value {
	w := &r.Workload
	noPos := object.Pos{}

	// Make the parts that other parts need.
	volumes := mountVolumes(errs, r)
	made := mountFiles(errs, r, volumes)
	init, main, read := lowerContainers(errs, r, volumes.mounts)
	made = made.join(read)
	fixed, scaling := lowerReplicas(errs, r)
	requests, _ := scaling.Get("http")
	_, queued := scaling.Lookup(object.Fields("queue", "secret"))

	// Put the fields together.
	m := make(members, 0, 16)
	m.put("name", object.TextAt(w.Name.Value, w.Name.Pos))
	m.put("kind", object.TextAt(w.Kind.Value, w.Kind.Pos))
	m.put("labels", lowerPairs(w.Labels))
	m.put("annotations", lowerPairs(w.Annotations))
	m.put("podAnnotations", lowerPairs(w.PodAnnotations))
	m.put("podLabels", lowerPairs(w.PodLabels))
	m.put("replicas", fixed)
	m.put("autoscaling", scaling)
	m.put("serving", w.Serving)
	m = append(m, w.Passed.Members...)
	m.put("schedule", lowerGiven(w.Schedule.Value, w.Schedule.Pos))
	m.put("job", w.Job)
	m.put("serviceAccount", lowerAccount(w))
	m.put("containers", lowerList(main, w.Pos))
	m.put("initContainers", lowerList(init, w.Pos))
	m.put("volumes", lowerList(volumes.pod, noPos))
	m.put("claims", lowerList(volumes.claims, noPos))
	m.put("pod", lowerPod(w.Pod, r.Config.Images))
	m.put("configs", made.configs.value(noPos))
	m.put("secrets", made.secrets.value(noPos))
	m.put("sealedFiles", made.sealed.value(noPos))
	m.put("pulls", lowerPulls(r))
	m.put("store", lowerStore(r, len(made.secrets) > 0 || queued == 2))
	m.put("service", lowerService(w))
	m.put("canary", lowerCanary(errs, r))
	m.put("network", lowerNetwork(errs, r, requests))
	m.put("dependsOn", lowerWords(r.DependsOn))

	// A cluster would refuse some names and routes, and partly only when it makes the pods.
	checkName(errs, w)
	checkRoutes(errs, r)
	return m.value(w.Pos)
}

// The longest names that Kubernetes accepts, if fewer than the 63 characters of a label: it
// appends to them and puts the sum into a label, and so does Flagger.
const (
	longestCronJob     = 52 // -<minutes since 1970> (batch validation)
	longestStatefulSet = 52 // -<hash of the revision> in the label of each pod
	longestCanary      = 55 // -primary
)

// checkRoutes rejects routes to pods that run to an end.
func checkRoutes(errs *mistakes, r *Resolved) {
	for _, route := range r.Workload.Resources {
		if route.Type.Value == network.TypeRoute && !r.runs() {
			why := "a route leads to pods that serve, and those of a %s run to an end"
			if r.Workload.Kind.Value == score.KindKnativeService {
				why = "Knative makes the routes of a %s, whose Service leads to its own gateway"
			}
			errs.fail(route.Pos, errs.path("resources", route.Name), "remove the route, or write kind: Deployment", why, r.Workload.Kind.Value)
		}
	}
}

// checkName rejects names that a cluster would refuse, some of them only when it makes the pods.
func checkName(errs *mistakes, w *score.Workload) {
	path := object.Fields("metadata", "name")
	longest := map[string]int{score.KindCronJob: longestCronJob, score.KindStatefulSet: longestStatefulSet}[w.Kind.Value]
	owner := "a " + w.Kind.Value
	if longest == 0 && w.Deploy.Strategy == score.StrategyCanary {
		longest = longestCanary
		owner = "a workload with a canary"
	}
	if longest > 0 && len(w.Name.Value) > longest {
		errs.fail(w.Name.Pos, path, "", "%q has %d characters: the name of %s has at most %d", w.Name.Value, len(w.Name.Value), owner, longest)
	}
	if len(w.Ports) > 0 && w.Name.Value != "" && w.Name.Value[0] >= '0' && w.Name.Value[0] <= '9' {
		errs.fail(w.Name.Pos, path, "put a letter in front, or remove the service ports",
			"%q begins with a digit: the name of a Service begins with a letter (RFC 1035)", w.Name.Value)
	}
}

// lowerAccount returns the account of the pods, which is called like the workload by default.
func lowerAccount(w *score.Workload) object.Value {
	a := w.ServiceAccount
	name := a.Name
	if name.Value == "" {
		name = w.Name
	}
	return MapOf(name.Pos, StringMember("name", name.Value, name.Pos),
		BoolMember("create", !a.Existing, name.Pos),
		member("annotations", lowerPairs(a.Annotations)),
		BoolMember("mountToken", a.MountToken, name.Pos))
}

// lowerService returns the ports by which other workloads reach the pods, or an absent value.
func lowerService(w *score.Workload) object.Value {
	ports := w.Ports
	items := make([]object.Value, len(ports))
	for i, p := range ports {
		items[i] = MapOf(p.Pos, StringMember("name", p.Name, p.Pos), IntMember("port", p.Port, p.Pos),
			IntMember("targetPort", p.Target, p.Pos), StringMember("protocol", p.Protocol, p.Pos))
	}
	pos := w.Headless
	if len(items) > 0 {
		pos = items[0].Pos
	}
	if !pos.IsValid() {
		return object.Value{}
	}
	list := alwaysList(items)
	list.Pos = pos
	m := members{member("ports", list)}
	if w.Headless.IsValid() {
		m = append(m, BoolMember("headless", true, w.Headless))
	}
	return m.value(pos)
}

// lowerStore returns the store that the ExternalSecrets read, with its spec if this workload makes it.
// One ClusterSecretStore serves the workloads of every namespace of the project. It has no
// conditions, because conditions for the first workload would lock the others out.
func lowerStore(r *Resolved, isRead bool) object.Value {
	c := r.Config.Secrets
	makesStore := r.OwnsStore && c.Provider.Kind != object.KindNone
	if len(r.Pulls) == 0 && !isRead && !makesStore {
		return object.Value{}
	}
	var spec object.Value
	if makesStore {
		spec = MapOf(c.Provider.Pos, member("provider", c.Provider))
	}
	return MapOf(c.StorePos, StringMember("name", c.StoreName, c.StorePos),
		StringMember("kind", c.StoreKind, c.StorePos), member("spec", spec))
}

// finish completes the parts that depend on the complete input, after provisioners merged their part
// over it: the owner of the number of pods, the budget of disruption and the hash. Two pods or more
// get a budget by default, so that the drain of a node takes one pod at a time. A single pod gets no
// budget, because it would either keep its node from being drained or have no effect.
func finish(errs *mistakes, r *Resolved, input object.Value) object.Value {
	if _, ok := input.Get("autoscaling"); ok && r.runs() {
		_, fixed := r.Patch.Get("replicas")
		_, scaled := r.Patch.Get("autoscaling")
		if fixed && !scaled {
			input = input.Without(object.Fields("autoscaling"))
		} else {
			input = input.Without(object.Fields("replicas"))
			checkRequests(errs, r, input)
		}
	}

	// Check the parts that provisioners may have changed.
	checkKnative(errs, r, input)
	input = fixedCanary(input)
	checkCanaryPorts(errs, r.Workload.Ports, input)
	checkProbes(errs, r, input)
	checkSingle(errs, r.Containers, input)

	// Add the budget and the hash.
	if budget, ok := input.Get("disruption"); ok {
		checkBudget(errs, budget, leastPods(input))
	} else if r.runs() && leastPods(input) > 1 {
		input = addMember(input, "disruption", MapOf(object.Pos{}, IntMember("maxUnavailable", 1, object.Pos{})))
	}
	if h := hash(input); h != "" {
		input = addMember(input, "hash", object.TextAt(h, object.Pos{}))
	}
	return input
}

// hash returns a hash of the configuration that pods read when they start: the data of the
// ConfigMaps, the files in Secrets, and the references and templates of the ExternalSecrets, never a
// value of theirs. It leaves out the interval in which secrets are read again. It returns "" if there
// is no configuration.
func hash(input object.Value) string {
	configs, _ := input.Get("configs")
	secrets, _ := input.Get("secrets")
	sealed, _ := input.Get("sealedFiles")
	if len(configs.Members) == 0 && len(secrets.Members) == 0 && len(sealed.Members) == 0 {
		return ""
	}
	references := make(members, 0, len(secrets.Members))
	for _, s := range secrets.Members {
		references.put(s.Name, s.Value.Without(object.Fields("refreshInterval")))
	}
	configuration := MapOf(object.Pos{},
		member("configs", configs), member("secrets", references.value(object.Pos{})), member("sealed", sealed))
	sum := sha256.Sum256(configuration.JSON())
	return hex.EncodeToString(sum[:])
}
