// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/object"
)

// podRules holds the rules of pods and what only they consist of. The source
// of all of them is k8s.io/kubernetes, pkg/apis/core/validation.
func podRules(component string) func(*finding.Value) {
	switch component {
	case "core.v1.PodSpec":
		return podSpec
	case "core.v1.SeccompProfile", "core.v1.AppArmorProfile":
		return profile
	case "core.v1.Toleration":
		return toleration
	case "core.v1.TopologySpreadConstraint":
		return topologySpread
	case "core.v1.NodeSelectorTerm":
		return nodeSelectorTerm
	}
	return nil
}

// podSpec checks what holds between the parts of a pod.
func podSpec(a *finding.Value) {
	containers := append(a.Field("initContainers").Items(), a.Field("containers").Items()...)
	containers = append(containers, a.Field("ephemeralContainers").Items()...)
	uniqueNames(containers)
	mounts(a, containers)
	hostPorts(a, containers)
	for _, c := range a.Field("initContainers").Items() {
		initContainer(c)
	}
	for _, c := range a.Field("containers").Items() {
		if f := c.Field("restartPolicyRules"); f.Size() > 0 && !c.Field("restartPolicy").Has() {
			c.Field("restartPolicy").Fail(finding.RuleRequired, "is required with restartPolicyRules")
		}
	}
	sleeps(a)
	podDNS(a)
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

// uniqueNames reports which containers share a name: init containers and the
// others are one list to it.
func uniqueNames(containers []*finding.Value) {
	seen := map[string]*finding.Value{}
	for _, c := range containers {
		name := c.Field("name")
		if name.Text() == "" {
			continue
		}
		first, dup := seen[name.Text()]
		switch {
		case !dup:
			seen[name.Text()] = c
		case first.Parent.Step != c.Parent.Step:
			// Within one list the schema reports it.
			name.Fail(finding.RuleUnique, "is the name of %s as well", first.Path())
		}
	}
}

// mounts reports which mounts name no volume of the pod.
func mounts(a *finding.Value, containers []*finding.Value) {
	volumes := map[string]*finding.Value{}
	var known []string
	for _, v := range a.Field("volumes").Items() {
		volumes[v.Field("name").Text()] = v
		known = append(known, v.Field("name").Text())
	}
	for _, name := range claimTemplates(a) {
		volumes[name] = nil
		known = append(known, name)
	}
	for _, c := range containers {
		for _, list := range [...]string{"volumeMounts", "volumeDevices"} {
			for _, m := range c.Field(list).Items() {
				name := m.Field("name")
				volume, ok := volumes[name.Text()]
				if !ok && name.Text() != "" {
					f := name.Fail(finding.RuleReference, "does not name a volume of the pod: %s", name.Show())
					f.Hint = knownNames(name.Text(), known, "volumes")
				}
				if list == "volumeDevices" && volume != nil && !volume.Field("persistentVolumeClaim").Has() && !volume.Field("ephemeral").Has() {
					name.Fail(finding.RuleReference, "names a volume that is not a claim: %s", name.Show())
				}
			}
		}
	}
}

// knownNames is the hint for a name that names nothing.
func knownNames(name string, known []string, what string) string {
	switch hint := object.DidYouMean(name, known); {
	case hint != "":
		return hint
	case len(known) == 0:
		return "there are no " + what
	default:
		return what + ": " + strings.Join(known, ", ")
	}
}

// claimTemplates is the names of the claims that a StatefulSet adds to the
// volumes of its pods.
func claimTemplates(pod *finding.Value) (names []string) {
	if pod.Root().Kind() != "StatefulSet" || pod.Path().String() != "spec.template.spec" {
		return nil
	}
	for _, t := range pod.Parent.Parent.Field("volumeClaimTemplates").Items() {
		names = append(names, t.In("metadata", "name").Text())
	}
	return names
}

// hostPorts reports which containers want the same port of the node, and what
// the network of the host demands.
func hostPorts(a *finding.Value, containers []*finding.Value) {
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

// initContainer checks what holds of init containers alone.
func initContainer(c *finding.Value) {
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

// sleeps reports which containers sleep longer than they may at their end.
func sleeps(a *finding.Value) {
	grace, ok := a.Field("terminationGracePeriodSeconds").Int()
	if !ok {
		grace = 30
	}
	if grace < 0 {
		return
	}
	for _, c := range a.Field("containers").Items() {
		for _, when := range [...]string{"preStop", "postStart"} {
			between(c.In("lifecycle", when, "sleep", "seconds"), 0, grace)
		}
	}
}

func podDNS(a *finding.Value) {
	config := a.Field("dnsConfig")
	if a.Field("dnsPolicy").Text() == "None" && config.Field("nameservers").Size() == 0 {
		config.Field("nameservers").Fail(finding.RuleRequired, "is required where dnsPolicy is \"None\"")
	}
	if n := config.Field("nameservers"); n.Size() > 3 {
		n.Fail(finding.RuleSize, "expected at most 3 name servers, found %d", n.Size())
	}
}

// profile checks a seccomp or AppArmor profile.
func profile(a *finding.Value) {
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

func toleration(a *finding.Value) {
	operator, value := a.Field("operator").Text(), a.Field("value")
	if a.Field("key").Text() == "" && operator != "Exists" {
		a.Field("operator").Fail(finding.RuleExclusive, "must be \"Exists\" where key is empty: that tolerates everything")
	}
	if operator == "Exists" {
		if value.Text() != "" {
			value.Fail(finding.RuleExclusive, "must not be set where operator is \"Exists\"")
		}
	} else {
		labelValue(value)
	}
	if a.Field("tolerationSeconds").Has() && a.Field("effect").Text() != "NoExecute" {
		a.Field("effect").Fail(finding.RuleExclusive, "must be \"NoExecute\" where tolerationSeconds is set")
	}
}

func topologySpread(a *finding.Value) {
	if a.Field("minDomains").Has() && a.Field("whenUnsatisfiable").Text() != "DoNotSchedule" {
		a.Field("minDomains").Fail(finding.RuleExclusive, "must not be set unless whenUnsatisfiable is \"DoNotSchedule\"")
	}
	if m := a.Field("matchLabelKeys"); m.Size() > 0 && !a.Field("labelSelector").Has() {
		m.Fail(finding.RuleExclusive, "must not be set without labelSelector")
	}
}

// optionalKey is qualified for a text that may be absent.
func optionalKey(a *finding.Value) {
	if t := a.Text(); t != "" {
		qualified(a, t)
	}
}

func nodeSelectorTerm(a *finding.Value) {
	for _, e := range a.Field("matchExpressions").Items() {
		selectorValues(e)
		if o := e.Field("operator").Text(); o == "In" || o == "NotIn" {
			for _, v := range e.Field("values").Items() {
				labelValue(v)
			}
		}
	}
	for _, e := range a.Field("matchFields").Items() {
		if k := e.Field("key"); k.Text() != "metadata.name" {
			k.Fail(finding.RuleEnum, "expected \"metadata.name\", the only field there is, found %s", k.Show())
		}
	}
}

// selectorValues checks the number of values against the operator.
func selectorValues(e *finding.Value) {
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
