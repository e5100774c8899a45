// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// podRules holds the rules of pods and what only they consist of. The source
// of all of them is k8s.io/kubernetes, pkg/apis/core/validation.
func podRules(component string) func(*at) {
	switch component {
	case "core.v1.PodSpec":
		return podSpec
	case "core.v1.PodSecurityContext":
		return podSecurity
	case "core.v1.SeccompProfile", "core.v1.AppArmorProfile":
		return profile
	case "core.v1.Toleration":
		return toleration
	case "core.v1.TopologySpreadConstraint":
		return topologySpread
	case "core.v1.NodeSelectorTerm":
		return nodeSelectorTerm
	case "core.v1.PodAffinityTerm":
		return podAffinityTerm
	case "core.v1.PreferredSchedulingTerm", "core.v1.WeightedPodAffinityTerm":
		return func(a *at) {
			if !a.field("weight").has() {
				a.missing("weight")
			}
			between(a.field("weight"), 1, 100)
		}
	case "core.v1.NodeSelector":
		return func(a *at) {
			if a.field("nodeSelectorTerms").size() == 0 && a.field("nodeSelectorTerms").has() {
				a.field("nodeSelectorTerms").fail(RuleRequired, "needs at least one term")
			}
		}
	case "core.v1.HostAlias":
		return func(a *at) {
			ip(a.field("ip"))
			texts(a.field("hostnames"), subdomain)
		}
	case "core.v1.PodReadinessGate":
		return func(a *at) { qualified(a.field("conditionType"), a.field("conditionType").text()) }
	}
	return nil
}

// podSpec checks what holds between the parts of a pod.
func podSpec(a *at) {
	if c := a.field("containers"); c.has() && c.size() == 0 {
		c.fail(RuleRequired, "needs at least one container")
	}
	containers := append(a.field("initContainers").items(), a.field("containers").items()...)
	containers = append(containers, a.field("ephemeralContainers").items()...)
	uniqueNames(containers)
	mounts(a, containers)
	hostPorts(a, containers)
	for _, c := range a.field("initContainers").items() {
		initContainer(c)
	}
	for _, c := range a.field("containers").items() {
		if f := c.field("restartPolicyRules"); f.size() > 0 && !c.field("restartPolicy").has() {
			c.field("restartPolicy").fail(RuleRequired, "is required beside restartPolicyRules")
		}
	}
	sleeps(a)
	podNames(a)
	podDNS(a)
	spread := map[string]bool{}
	for _, c := range a.field("topologySpreadConstraints").items() {
		id := c.field("topologyKey").text() + " " + c.field("whenUnsatisfiable").text()
		if spread[id] {
			c.fail(RuleUnique, "has the same topologyKey and whenUnsatisfiable as another constraint")
		}
		spread[id] = true
	}
	notNegative(a, "terminationGracePeriodSeconds")
	between(a.field("activeDeadlineSeconds"), 1, math.MaxInt32)
	if a.field("hostPID").truth() && a.field("shareProcessNamespace").truth() {
		a.field("shareProcessNamespace").fail(RuleExclusive, "must not be true beside hostPID")
	}
	if l := a.in("securityContext", "windowsOptions"); a.in("os", "name").text() == "linux" && l.has() {
		l.fail(RuleExclusive, "must not be set where os.name is \"linux\"")
	}
	if n := a.in("os", "name"); n.text() != "" && n.text() != "linux" && n.text() != "windows" {
		n.fail(RuleEnum, "expected \"linux\" or \"windows\", found %s", n.show())
	}
}

// uniqueNames says which containers share a name: init containers and the
// others are one list to it.
func uniqueNames(containers []*at) {
	seen := map[string]*at{}
	for _, c := range containers {
		name := c.field("name")
		if name.text() == "" {
			continue
		}
		first, dup := seen[name.text()]
		switch {
		case !dup:
			seen[name.text()] = c
		case first.parent.step != c.parent.step:
			// Within one list the schema says so.
			name.fail(RuleUnique, "is the name of %s as well", first.path())
		}
	}
}

// mounts says which mounts name no volume of the pod.
func mounts(a *at, containers []*at) {
	volumes := map[string]*at{}
	var known []string
	for _, v := range a.field("volumes").items() {
		volumes[v.field("name").text()] = v
		known = append(known, v.field("name").text())
	}
	for _, name := range claimTemplates(a) {
		volumes[name] = nil
		known = append(known, name)
	}
	for _, c := range containers {
		for _, list := range [...]string{"volumeMounts", "volumeDevices"} {
			for _, m := range c.field(list).items() {
				name := m.field("name")
				volume, ok := volumes[name.text()]
				if !ok && name.text() != "" {
					f := name.fail(RuleReference, "names no volume of the pod: %s", name.show())
					f.Hint = knownNames(name.text(), known, "volumes")
				}
				if list == "volumeDevices" && volume != nil && !volume.field("persistentVolumeClaim").has() && !volume.field("ephemeral").has() {
					name.fail(RuleReference, "names a volume that is no claim: %s", name.show())
				}
			}
		}
	}
}

// knownNames is the hint for a name that names nothing.
func knownNames(name string, known []string, what string) string {
	switch best := nearest(name, known); {
	case best != "":
		return "did you mean \"" + best + "\"?"
	case len(known) == 0:
		return "there are no " + what
	default:
		return what + ": " + strings.Join(known, ", ")
	}
}

// claimTemplates is the names of the claims that a StatefulSet adds to the
// volumes of its pods.
func claimTemplates(pod *at) (names []string) {
	if pod.w.root.Kind() != "StatefulSet" || pod.path().String() != "spec.template.spec" {
		return nil
	}
	for _, t := range pod.parent.parent.field("volumeClaimTemplates").items() {
		names = append(names, t.in("metadata", "name").text())
	}
	return names
}

// hostPorts says which containers want the same port of the node, and what
// the network of the host demands.
func hostPorts(a *at, containers []*at) {
	seen := map[string]bool{}
	for _, c := range containers {
		if c.parent.step.Name == "initContainers" && c.field("restartPolicy").text() != "Always" {
			continue
		}
		for _, p := range c.field("ports").items() {
			host, _ := p.field("hostPort").integer()
			if host == 0 {
				continue
			}
			own, _ := p.field("containerPort").integer()
			if a.field("hostNetwork").truth() && own != host {
				p.field("hostPort").fail(RuleExclusive, "expected %d, the containerPort, because the pod uses hostNetwork; found %d", own, host)
			}
			protocol := p.field("protocol").text()
			if protocol == "" {
				protocol = "TCP"
			}
			id := strings.Join([]string{p.field("hostPort").show(), protocol, p.field("hostIP").text()}, "/")
			if seen[id] {
				p.field("hostPort").fail(RuleUnique, "is taken by another container of the pod: %d", host)
			}
			seen[id] = true
		}
	}
}

// initContainer checks what holds of init containers alone.
func initContainer(c *at) {
	if c.field("restartPolicy").text() == "Always" {
		return
	}
	for _, name := range [...]string{"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"} {
		if c.field(name).has() {
			c.field(name).fail(RuleExclusive, "must not be set on an init container").Hint =
				"only one with restartPolicy \"Always\", a sidecar, may have it"
		}
	}
}

// sleeps says which containers sleep longer than they may at their end.
func sleeps(a *at) {
	grace, ok := a.field("terminationGracePeriodSeconds").integer()
	if !ok {
		grace = 30
	}
	if grace < 0 {
		return
	}
	for _, c := range a.field("containers").items() {
		for _, when := range [...]string{"preStop", "postStart"} {
			between(c.in("lifecycle", when, "sleep", "seconds"), 0, grace)
		}
	}
}

func podNames(a *at) {
	for _, n := range [...]string{"serviceAccountName", "priorityClassName", "runtimeClassName", "nodeName"} {
		subdomain(a.field(n))
	}
	for _, n := range [...]string{"hostname", "subdomain"} {
		label(a.field(n))
	}
	labels(a.field("nodeSelector"))
	if s := a.field("schedulerName"); s.has() && s.text() != "" && len(s.text()) > validation.DNS1123SubdomainMaxLength {
		s.fail(RuleSize, "expected at most 253 characters, found %d", len(s.text()))
	}
}

func podDNS(a *at) {
	config := a.field("dnsConfig")
	if a.field("dnsPolicy").text() == "None" && config.field("nameservers").size() == 0 {
		config.field("nameservers").fail(RuleRequired, "is required where dnsPolicy is \"None\"")
	}
	texts(config.field("nameservers"), ip)
	if n := config.field("nameservers"); n.size() > 3 {
		n.fail(RuleSize, "expected at most 3 name servers, found %d", n.size())
	}
	for _, o := range config.field("options").items() {
		if o.field("name").text() == "" {
			o.missing("name")
		}
	}
}

func podSecurity(a *at) {
	for _, n := range [...]string{"runAsUser", "runAsGroup", "fsGroup"} {
		between(a.field(n), 0, math.MaxInt32)
	}
	for _, g := range a.field("supplementalGroups").items() {
		between(g, 0, math.MaxInt32)
	}
	seen := map[string]bool{}
	for _, s := range a.field("sysctls").items() {
		name := s.field("name")
		if seen[name.text()] {
			name.fail(RuleUnique, "stands in the list already: %s", name.show())
		}
		seen[name.text()] = true
		if n := len(name.text()); n > validation.DNS1123SubdomainMaxLength {
			name.fail(RuleSize, "expected at most 253 characters, found %d", n)
		}
		for part := range strings.FieldsFuncSeq(name.text(), func(r rune) bool { return r == '.' || r == '/' }) {
			if strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
				name.fail(RuleFormat, "expected the name of a kernel parameter such as \"net.core.somaxconn\", found %s", name.show())
				break
			}
		}
	}
}

// profile checks a seccomp or AppArmor profile.
func profile(a *at) {
	local := a.field("localhostProfile")
	switch a.field("type").text() {
	case "Localhost":
		if local.text() == "" {
			a.missing("localhostProfile")
		}
	default:
		if local.has() {
			local.fail(RuleExclusive, "must not be set unless type is \"Localhost\"")
		}
	}
}

func toleration(a *at) {
	key, operator, value := a.field("key"), a.field("operator").text(), a.field("value")
	if key.text() != "" {
		qualified(key, key.text())
	} else if operator != "Exists" {
		a.field("operator").fail(RuleExclusive, "must be \"Exists\" where key is empty: that tolerates everything")
	}
	if operator == "Exists" {
		if value.text() != "" {
			value.fail(RuleExclusive, "must not be set where operator is \"Exists\"")
		}
	} else {
		labelValue(value)
	}
	if a.field("tolerationSeconds").has() && a.field("effect").text() != "NoExecute" {
		a.field("effect").fail(RuleExclusive, "must be \"NoExecute\" where tolerationSeconds is set")
	}
}

func topologySpread(a *at) {
	atLeast(a.field("maxSkew"), 1)
	atLeast(a.field("minDomains"), 1)
	if a.field("minDomains").has() && a.field("whenUnsatisfiable").text() != "DoNotSchedule" {
		a.field("minDomains").fail(RuleExclusive, "must not be set unless whenUnsatisfiable is \"DoNotSchedule\"")
	}
	for _, k := range a.field("matchLabelKeys").items() {
		optionalKey(k)
	}
	if m := a.field("matchLabelKeys"); m.size() > 0 && !a.field("labelSelector").has() {
		m.fail(RuleExclusive, "must not be set without labelSelector")
	}
}

// optionalKey is qualified for a text that may be absent.
func optionalKey(a *at) {
	if t := a.text(); t != "" {
		qualified(a, t)
	}
}

func nodeSelectorTerm(a *at) {
	for _, e := range a.field("matchExpressions").items() {
		optionalKey(e.field("key"))
		selectorValues(e)
		if o := e.field("operator").text(); o == "In" || o == "NotIn" {
			for _, v := range e.field("values").items() {
				labelValue(v)
			}
		}
	}
	for _, e := range a.field("matchFields").items() {
		if k := e.field("key"); k.text() != "metadata.name" {
			k.fail(RuleEnum, "expected \"metadata.name\", the only field there is, found %s", k.show())
		}
	}
}

// selectorValues checks the number of values against the operator.
func selectorValues(e *at) {
	values := e.field("values")
	switch operator := e.field("operator").text(); operator {
	case "In", "NotIn":
		if values.size() == 0 {
			values.fail(RuleRequired, "needs at least one value where operator is %q", operator)
		}
	case "Exists", "DoesNotExist":
		if values.size() > 0 {
			values.fail(RuleExclusive, "must not be set where operator is %q", operator)
		}
	case "Gt", "Lt":
		if values.size() != 1 {
			values.fail(RuleRange, "needs exactly one value where operator is %q, found %d", operator, values.size())
		}
	}
}

func podAffinityTerm(a *at) {
	optionalKey(a.field("topologyKey"))
	for _, n := range a.field("namespaces").items() {
		label(n)
	}
}
