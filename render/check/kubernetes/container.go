// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/object"
)

// containerRules returns the rule of a component among the rules of containers, or nil if it has
// no rule.
func containerRules(component string) func(*finding.Value) {
	switch component {
	case "core.v1.Container", "core.v1.EphemeralContainer":
		return checkContainer
	case "core.v1.EnvVar":
		return checkEnvVar
	case "core.v1.EnvFromSource":
		return func(a *finding.Value) { checkOneOf(a, "source", "configMapRef", "secretRef") }
	case "core.v1.VolumeMount":
		return checkVolumeMount
	case "core.v1.Probe":
		return func(a *finding.Value) { checkOneOf(a, "handler", "exec", "httpGet", "tcpSocket", "grpc") }
	case "core.v1.LifecycleHandler":
		return func(a *finding.Value) { checkOneOf(a, "handler", "exec", "httpGet", "tcpSocket", "sleep") }
	case "core.v1.ResourceRequirements", "core.v1.VolumeResourceRequirements":
		return checkResources
	case "core.v1.SecurityContext":
		return checkSecurityContext
	}
	return nil
}

func checkContainer(a *finding.Value) {
	image := a.Field("image")
	switch t := image.Text(); {
	case t == "" && (image.Raw == nil || image.Raw == ""):
		a.Missing("image").Hint = "such as \"docker.io/library/nginx:1.29\""
	case t != strings.TrimSpace(t):
		image.Fail(finding.RuleFormat, "must not begin or end with a space, found %s", image.Show())
	}
	checkProbes(a)
	for _, m := range a.Field("volumeMounts").Items() {
		if m.Field("mountPropagation").Text() == "Bidirectional" && !a.In("securityContext", "privileged").Bool() {
			m.Field("mountPropagation").Fail(finding.RuleExclusive, "must not be \"Bidirectional\" unless the container is privileged")
		}
	}
}

// checkProbes checks the probes of a container by their names, and that the ports
// that they name exist.
func checkProbes(a *finding.Value) {
	var ports []string
	for _, p := range a.Field("ports").Items() {
		ports = append(ports, p.Field("name").Text())
	}
	for _, name := range [...]string{"livenessProbe", "startupProbe", "readinessProbe"} {
		p := a.Field(name)
		if !p.Has() {
			continue
		}
		grace := p.Field("terminationGracePeriodSeconds")
		if name == "readinessProbe" {
			if grace.Has() {
				grace.Fail(finding.RuleExclusive, "must not be set on a readiness probe: it does not stop the container")
			}
		} else {
			checkAtLeast(grace, 1)
			if s, ok := p.Field("successThreshold").Int(); ok && s != 1 && s != 0 {
				p.Field("successThreshold").Fail(finding.RuleRange, "must be 1 for a %s, found %d", name, s)
			}
		}
		for _, handler := range [...]string{"httpGet", "tcpSocket"} {
			warnOfUnknownPort(p.In(handler, "port"), ports)
		}
	}
}

// warnOfUnknownPort warns of a port name that the container does not have: the server
// takes it and the probe then fails.
func warnOfUnknownPort(port *finding.Value, ports []string) {
	t := port.Text()
	if t == "" || len(validation.IsValidPortName(t)) > 0 {
		return
	}
	for _, p := range ports {
		if p == t {
			return
		}
	}
	port.Warn(finding.RuleReference, "names no port of the container: %s", port.Show()).Hint = knownNames(t, ports, "named ports")
}

func checkEnvVar(a *finding.Value) {
	source := a.Field("valueFrom")
	if !source.Has() {
		return
	}
	if a.Field("value").Text() != "" {
		source.Fail(finding.RuleExclusive, "must not be set together with value").Hint = "keep one of the two"
	}
	switch checkOneOf(source, "source", "fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef") {
	case "fieldRef":
		checkFieldPath(source.In("fieldRef", "fieldPath"), "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
			"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")
	case "resourceFieldRef":
		checkResourceField(source.In("resourceFieldRef", "resource"))
	}
}

// checkFieldPath requires one of the fields of a pod that may be read, or one label or
// annotation.
func checkFieldPath(a *finding.Value, paths ...string) {
	t := a.Text()
	for _, prefix := range [...]string{"metadata.labels['", "metadata.annotations['"} {
		if key, ok := strings.CutPrefix(t, prefix); ok && strings.HasSuffix(key, "']") {
			if strings.Contains(prefix, "annotations") {
				key = strings.ToLower(key)
			}
			checkOptionalKey(a.WithRaw(strings.TrimSuffix(key, "']")))
			return
		}
	}
	for _, p := range paths {
		if t == p {
			return
		}
	}
	if t == "" {
		return
	}
	const format = "expected %s, or a label or annotation such as \"metadata.labels['app']\", found %s"
	f := a.Fail(finding.RuleEnum, format, finding.OneOf(paths), a.Show())
	f.Hint = object.DidYouMean(t, paths)
}

// checkResourceField requires a resource such as limits.cpu.
func checkResourceField(a *finding.Value) {
	kind, name, _ := strings.Cut(a.Text(), ".")
	ok := kind == "limits" || kind == "requests"
	switch {
	case name == "cpu", name == "memory", name == "ephemeral-storage", strings.HasPrefix(name, "hugepages-"):
	default:
		ok = false
	}
	if !ok && a.Text() != "" {
		const form = "\"limits\" or \"requests\" of \"cpu\", \"memory\" or \"ephemeral-storage\", such as \"limits.cpu\""
		a.Fail(finding.RuleEnum, "expected %s, found %s", form, a.Show())
	}
}

func checkVolumeMount(a *finding.Value) {
	if a.Field("subPath").Text() != "" && a.Field("subPathExpr").Text() != "" {
		a.Field("subPathExpr").Fail(finding.RuleExclusive, "must not be set together with subPath")
	}
	r := a.Field("recursiveReadOnly")
	if t := r.Text(); t != "" && t != "Disabled" && !a.Field("readOnly").Bool() {
		r.Fail(finding.RuleExclusive, "must not be set unless readOnly is true")
	}
}

// checkResources compares requests with limits.
func checkResources(a *finding.Value) {
	limits, requests := a.Field("limits"), a.Field("requests")
	inContainer := a.Step.Name == "resources" && a.Parent.Field("image").Has()
	for _, list := range [...]*finding.Value{limits, requests} {
		for _, name := range list.Names() {
			amount := list.Field(name)
			if inContainer || strings.Contains(name, "/") {
				checkResourceName(amount, name)
			}
			checkNotNegative(amount)
		}
	}
	for _, name := range requests.Names() {
		request, limit := requests.Field(name), limits.Field(name)
		q, ok := amountOf(request)
		if !ok {
			continue
		}
		most, limited := amountOf(limit)
		whole := strings.Contains(name, "/") || strings.HasPrefix(name, "hugepages-")
		switch {
		case whole && !limit.Present():
			limit.Fail(finding.RuleRequired, "is required and must equal the request")
		case whole && limited && q.Cmp(most) != 0:
			request.Fail(finding.RuleExclusive, "must equal the limit %s, found %s", limit.Show(), request.Show())
		case limited && q.Cmp(most) > 0:
			request.Fail(finding.RuleRange, "expected at most the limit %s, found %s", limit.Show(), request.Show())
		}
	}
}

// checkResourceName requires a resource that containers have.
func checkResourceName(a *finding.Value, name string) {
	switch {
	case name == "cpu", name == "memory", name == "ephemeral-storage", name == "storage" && a.Root().Kind() == "LimitRange":
	case strings.HasPrefix(name, "hugepages-"):
	case strings.Contains(name, "/"):
		checkQualifiedName(a, name)
		if q, ok := amountOf(a); ok && !strings.HasSuffix(strings.SplitN(name, "/", 2)[0], "kubernetes.io") && q.MilliValue()%1000 != 0 {
			a.Fail(finding.RuleFormat, "expected a whole number, found %s", a.Show())
		}
	default:
		f := a.Fail(finding.RuleName, "is not a resource of a container: expected \"cpu\", \"memory\", \"ephemeral-storage\", "+
			"\"hugepages-…\" or an extended resource such as \"example.com/gpu\"")
		f.Hint = object.DidYouMean(name, []string{"cpu", "memory", "ephemeral-storage"})
	}
}

// amountOf returns the quantity at a, and reports whether a holds a quantity.
func amountOf(a *finding.Value) (resource.Quantity, bool) {
	switch v := a.Raw.(type) {
	case nil:
		// The decoder of the server makes null an amount of nothing.
		return resource.Quantity{}, a.Present()
	case string:
		q, err := resource.ParseQuantity(v)
		return q, err == nil
	case int64:
		return *resource.NewQuantity(v, resource.DecimalSI), true
	case float64:
		if math.Abs(v) < math.MaxInt64/1000 {
			return *resource.NewMilliQuantity(int64(v*1000), resource.DecimalSI), true
		}
	}
	return resource.Quantity{}, false
}

func checkSecurityContext(a *finding.Value) {
	escalation := a.Field("allowPrivilegeEscalation")
	if !escalation.Has() || escalation.Bool() {
		return
	}
	if a.Field("privileged").Bool() {
		escalation.Fail(finding.RuleExclusive, "must not be false where privileged is true")
	}
	for _, c := range a.In("capabilities", "add").Items() {
		if c.Text() == "CAP_SYS_ADMIN" {
			escalation.Fail(finding.RuleExclusive, "must not be false where CAP_SYS_ADMIN is added")
		}
	}
}
