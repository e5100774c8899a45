// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/object"
)

// podRules returns the rule of a component among the rules of pods and what only they consist of,
// or nil if it has no rule. The source of all of them is k8s.io/kubernetes,
// pkg/apis/core/validation.
func podRules(component string) func(*finding.Value) {
	switch component {
	case "core.v1.PodSpec":
		return checkPodSpec
	case "core.v1.SeccompProfile", "core.v1.AppArmorProfile":
		return checkProfile
	case "core.v1.Toleration":
		return checkToleration
	case "core.v1.TopologySpreadConstraint":
		return checkTopologySpread
	case "core.v1.NodeSelectorTerm":
		return checkNodeSelectorTerm
	}
	return nil
}

// checkPodSpec checks what holds between the parts of a pod.
func checkPodSpec(a *finding.Value) {
	containers := append(a.Field("initContainers").Items(), a.Field("containers").Items()...)
	containers = append(containers, a.Field("ephemeralContainers").Items()...)
	checkUniqueNames(containers)
	checkMounts(a, containers)
	checkHostPorts(a, containers)
	for _, c := range a.Field("initContainers").Items() {
		checkInitContainer(c)
	}
	for _, c := range a.Field("containers").Items() {
		if f := c.Field("restartPolicyRules"); f.Size() > 0 && !c.Field("restartPolicy").Has() {
			c.Field("restartPolicy").Fail(finding.RuleRequired, "is required with restartPolicyRules")
		}
	}
	checkSleeps(a)
	checkPodDNS(a)
	if s := a.Field("schedulerName"); len(s.Text()) > validation.DNS1123SubdomainMaxLength {
		s.Fail(finding.RuleSize, "expected at most 253 characters, found %d", len(s.Text()))
	}
	if a.Field("hostPID").Bool() && a.Field("shareProcessNamespace").Bool() {
		a.Field("shareProcessNamespace").Fail(finding.RuleExclusive, "must not be true together with hostPID")
	}
	if l := a.In("securityContext", "windowsOptions"); a.In("os", "name").Text() == "linux" && l.Has() {
		l.Fail(finding.RuleExclusive, "must not be set where os.name is \"linux\"")
	}
}

// checkUniqueNames reports which containers share a name: init containers and the
// others are one list to it.
func checkUniqueNames(containers []*finding.Value) {
	seen := map[string]*finding.Value{}
	for _, c := range containers {
		name := c.Field("name")
		if name.Text() == "" {
			continue
		}
		earlier, dup := seen[name.Text()]
		switch {
		case !dup:
			seen[name.Text()] = c
		case earlier.Parent.Step != c.Parent.Step:
			// Within one list the schema reports it.
			name.Fail(finding.RuleUnique, "is the name of %s as well", earlier.Path())
		}
	}
}

// checkMounts reports which mounts name no volume of the pod.
func checkMounts(a *finding.Value, containers []*finding.Value) {
	volumes := map[string]*finding.Value{}
	var volumeNames []string
	for _, v := range a.Field("volumes").Items() {
		volumes[v.Field("name").Text()] = v
		volumeNames = append(volumeNames, v.Field("name").Text())
	}
	for _, name := range claimTemplates(a) {
		volumes[name] = nil
		volumeNames = append(volumeNames, name)
	}
	for _, c := range containers {
		for _, list := range [...]string{"volumeMounts", "volumeDevices"} {
			for _, m := range c.Field(list).Items() {
				name := m.Field("name")
				volume, ok := volumes[name.Text()]
				if !ok && name.Text() != "" {
					f := name.Fail(finding.RuleReference, "does not name a volume of the pod: %s", name.Show())
					f.Hint = knownNames(name.Text(), volumeNames, "volumes")
				}
				isClaim := volume == nil || volume.Field("persistentVolumeClaim").Has() || volume.Field("ephemeral").Has()
				if list == "volumeDevices" && !isClaim {
					name.Fail(finding.RuleReference, "names a volume that is not a claim: %s", name.Show())
				}
			}
		}
	}
}

// knownNames returns the hint for a name that is not among names. The argument noun is the word for
// the named things, in the plural.
func knownNames(name string, names []string, noun string) string {
	switch hint := object.DidYouMean(name, names); {
	case hint != "":
		return hint
	case len(names) == 0:
		return "there are no " + noun
	default:
		return noun + ": " + strings.Join(names, ", ")
	}
}

// claimTemplates returns the names of the claims that a StatefulSet adds to the volumes of its
// pods.
func claimTemplates(pod *finding.Value) (names []string) {
	if pod.Root().Kind() != "StatefulSet" || pod.Path().String() != "spec.template.spec" {
		return nil
	}
	for _, t := range pod.Parent.Parent.Field("volumeClaimTemplates").Items() {
		names = append(names, t.In("metadata", "name").Text())
	}
	return names
}

// checkHostPorts reports which containers want the same port of the node, and what
// the network of the host demands.
func checkHostPorts(a *finding.Value, containers []*finding.Value) {
	seen := map[string]bool{}
	for _, c := range containers {
		if c.Parent.Step.Name == "initContainers" && c.Field("restartPolicy").Text() != "Always" {
			continue
		}
		for _, p := range c.Field("ports").Items() {
			host, _ := p.Field("hostPort").Int()
			if host == 0 {
				continue
			}
			own, _ := p.Field("containerPort").Int()
			if a.Field("hostNetwork").Bool() && own != host {
				p.Field("hostPort").Fail(finding.RuleExclusive, "expected %d, the containerPort, because the pod uses hostNetwork; found %d", own, host)
			}
			protocol := p.Field("protocol").Text()
			if protocol == "" {
				protocol = "TCP"
			}
			id := strings.Join([]string{p.Field("hostPort").Show(), protocol, p.Field("hostIP").Text()}, "/")
			if seen[id] {
				p.Field("hostPort").Fail(finding.RuleUnique, "is taken by another container of the pod: %d", host)
			}
			seen[id] = true
		}
	}
}

// checkInitContainer checks what holds only for init containers.
func checkInitContainer(c *finding.Value) {
	if c.Field("restartPolicy").Text() == "Always" {
		return
	}
	for _, name := range [...]string{"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"} {
		if c.Field(name).Has() {
			c.Field(name).Fail(finding.RuleExclusive, "must not be set on an init container").Hint =
				"only one with restartPolicy \"Always\", a sidecar, may have it"
		}
	}
}

// checkSleeps reports which containers sleep longer than they may at their end.
func checkSleeps(a *finding.Value) {
	grace, ok := a.Field("terminationGracePeriodSeconds").Int()
	if !ok {
		grace = 30
	}
	if grace < 0 {
		return
	}
	for _, c := range a.Field("containers").Items() {
		for _, when := range [...]string{"preStop", "postStart"} {
			checkBetween(c.In("lifecycle", when, "sleep", "seconds"), 0, grace)
		}
	}
}

func checkPodDNS(a *finding.Value) {
	config := a.Field("dnsConfig")
	if a.Field("dnsPolicy").Text() == "None" && config.Field("nameservers").Size() == 0 {
		config.Field("nameservers").Fail(finding.RuleRequired, "is required where dnsPolicy is \"None\"")
	}
	if n := config.Field("nameservers"); n.Size() > 3 {
		n.Fail(finding.RuleSize, "expected at most 3 name servers, found %d", n.Size())
	}
}

// checkProfile checks a seccomp or AppArmor profile.
func checkProfile(a *finding.Value) {
	local := a.Field("localhostProfile")
	switch a.Field("type").Text() {
	case "Localhost":
		if local.Text() == "" {
			a.Missing("localhostProfile")
		}
	default:
		if local.Has() {
			local.Fail(finding.RuleExclusive, "must not be set unless type is \"Localhost\"")
		}
	}
}

func checkToleration(a *finding.Value) {
	operator, value := a.Field("operator").Text(), a.Field("value")
	if a.Field("key").Text() == "" && operator != "Exists" {
		a.Field("operator").Fail(finding.RuleExclusive, "must be \"Exists\" where key is empty: that tolerates everything")
	}
	if operator == "Exists" {
		if value.Text() != "" {
			value.Fail(finding.RuleExclusive, "must not be set where operator is \"Exists\"")
		}
	} else {
		checkLabelValue(value)
	}
	if a.Field("tolerationSeconds").Has() && a.Field("effect").Text() != "NoExecute" {
		a.Field("effect").Fail(finding.RuleExclusive, "must be \"NoExecute\" where tolerationSeconds is set")
	}
}

func checkTopologySpread(a *finding.Value) {
	if a.Field("minDomains").Has() && a.Field("whenUnsatisfiable").Text() != "DoNotSchedule" {
		a.Field("minDomains").Fail(finding.RuleExclusive, "must not be set unless whenUnsatisfiable is \"DoNotSchedule\"")
	}
	if m := a.Field("matchLabelKeys"); m.Size() > 0 && !a.Field("labelSelector").Has() {
		m.Fail(finding.RuleExclusive, "must not be set without labelSelector")
	}
}

// checkOptionalKey checks a key as checkQualifiedName does, unless it is empty.
func checkOptionalKey(a *finding.Value) {
	if t := a.Text(); t != "" {
		checkQualifiedName(a, t)
	}
}

func checkNodeSelectorTerm(a *finding.Value) {
	for _, e := range a.Field("matchExpressions").Items() {
		checkSelectorValues(e)
		if o := e.Field("operator").Text(); o == "In" || o == "NotIn" {
			for _, v := range e.Field("values").Items() {
				checkLabelValue(v)
			}
		}
	}
	for _, e := range a.Field("matchFields").Items() {
		if k := e.Field("key"); k.Text() != "metadata.name" {
			k.Fail(finding.RuleEnum, "expected \"metadata.name\", the only field there is, found %s", k.Show())
		}
	}
}

// checkSelectorValues checks the number of values against the operator.
func checkSelectorValues(e *finding.Value) {
	values := e.Field("values")
	switch operator := e.Field("operator").Text(); operator {
	case "In", "NotIn":
		if values.Size() == 0 {
			values.Fail(finding.RuleRequired, "needs at least one value where operator is %q", operator)
		}
	case "Exists", "DoesNotExist":
		if values.Size() > 0 {
			values.Fail(finding.RuleExclusive, "must not be set where operator is %q", operator)
		}
	case "Gt", "Lt":
		if values.Size() != 1 {
			values.Fail(finding.RuleRange, "needs exactly one value where operator is %q, found %d", operator, values.Size())
		}
	}
}
