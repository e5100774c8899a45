// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"k8s.io/apimachinery/pkg/util/validation"
)

// containerRules holds the rules of containers.
func containerRules(component string) func(*at) {
	switch component {
	case "core.v1.Container", "core.v1.EphemeralContainer":
		return container
	case "core.v1.ContainerPort":
		return containerPort
	case "core.v1.EnvVar":
		return envVar
	case "core.v1.EnvFromSource":
		return envFrom
	case "core.v1.ConfigMapKeySelector", "core.v1.SecretKeySelector":
		return keySelector
	case "core.v1.VolumeMount":
		return volumeMount
	case "core.v1.Probe":
		return probe
	case "core.v1.LifecycleHandler":
		return func(a *at) { oneOf(a, "handler", "exec", "httpGet", "tcpSocket", "sleep") }
	case "core.v1.ExecAction":
		return func(a *at) {
			if a.field("command").size() == 0 {
				a.missing("command")
			}
		}
	case "core.v1.HTTPGetAction", "core.v1.TCPSocketAction":
		return httpGet
	case "core.v1.GRPCAction":
		return func(a *at) { port(a.field("port")) }
	case "core.v1.ResourceRequirements", "core.v1.VolumeResourceRequirements":
		return resources
	case "core.v1.SecurityContext":
		return securityContext
	}
	return nil
}

func container(a *at) {
	label(a.field("name"))
	image := a.field("image")
	switch t := image.text(); {
	case t == "" && (image.v == nil || image.v == ""):
		a.missing("image").Hint = "such as \"docker.io/library/nginx:1.29\""
	case t != strings.TrimSpace(t):
		image.fail(RuleFormat, "must not begin or end with a space, found %s", image.show())
	}
	seen := map[string]bool{}
	for _, p := range a.field("ports").items() {
		name := p.field("name")
		if name.text() != "" && seen[name.text()] {
			name.fail(RuleUnique, "is the name of another port of the container: %s", name.show())
		}
		seen[name.text()] = true
	}
	probes(a)
	for _, m := range a.field("volumeMounts").items() {
		if m.field("mountPropagation").text() == "Bidirectional" && !a.in("securityContext", "privileged").truth() {
			m.field("mountPropagation").fail(RuleExclusive, "must not be \"Bidirectional\" unless the container is privileged")
		}
	}
}

// probes checks the probes of a container by their names, and that the ports
// that they name exist.
func probes(a *at) {
	var ports []string
	for _, p := range a.field("ports").items() {
		ports = append(ports, p.field("name").text())
	}
	for _, name := range [...]string{"livenessProbe", "startupProbe", "readinessProbe"} {
		p := a.field(name)
		if !p.has() {
			continue
		}
		grace := p.field("terminationGracePeriodSeconds")
		if name == "readinessProbe" {
			if grace.has() {
				grace.fail(RuleExclusive, "must not be set on a readiness probe: that stops no container")
			}
		} else {
			atLeast(grace, 1)
			if s, ok := p.field("successThreshold").integer(); ok && s != 1 && s != 0 {
				p.field("successThreshold").fail(RuleRange, "must be 1 for a %s, found %d", name, s)
			}
		}
		for _, handler := range [...]string{"httpGet", "tcpSocket"} {
			known(p.in(handler, "port"), ports)
		}
	}
}

// known warns of a port name that the container does not have: the server
// takes it and the probe then fails.
func known(port *at, ports []string) {
	t := port.text()
	if t == "" || len(validation.IsValidPortName(t)) > 0 {
		return
	}
	for _, p := range ports {
		if p == t {
			return
		}
	}
	port.warn(RuleReference, "names no port of the container: %s", port.show()).Hint = knownNames(t, ports, "named ports")
}

func containerPort(a *at) {
	port(a.field("containerPort"))
	between(a.field("hostPort"), 0, 65535)
	portName(a.field("name"))
	ip(a.field("hostIP"))
}

func envVar(a *at) {
	name := a.field("name")
	if t := name.text(); t != "" && len(validation.IsRelaxedEnvVarName(t)) > 0 {
		name.fail(RuleName, "expected printable characters other than \"=\", found %s", name.show())
	}
	from := a.field("valueFrom")
	if !from.has() {
		return
	}
	if a.field("value").text() != "" {
		from.fail(RuleExclusive, "must not be set beside value").Hint = "keep one of the two"
	}
	switch oneOf(from, "source", "fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef") {
	case "fieldRef":
		fieldPath(from.in("fieldRef", "fieldPath"), "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
			"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")
	case "resourceFieldRef":
		resourceField(from.in("resourceFieldRef", "resource"))
	}
}

// fieldPath wants one of the fields of a pod that may be read, or one label or
// annotation.
func fieldPath(a *at, paths ...string) {
	t := a.text()
	for _, prefix := range [...]string{"metadata.labels['", "metadata.annotations['"} {
		if key, ok := strings.CutPrefix(t, prefix); ok && strings.HasSuffix(key, "']") {
			if strings.Contains(prefix, "annotations") {
				key = strings.ToLower(key)
			}
			optionalKey(&at{w: a.w, parent: a.parent, step: a.step, v: strings.TrimSuffix(key, "']")})
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
	f := a.fail(RuleEnum, "expected %s, or a label or annotation such as \"metadata.labels['app']\", found %s", list(paths), a.show())
	if best := nearest(t, paths); best != "" {
		f.Hint = "did you mean \"" + best + "\"?"
	}
}

// resourceField wants limits.cpu and its like.
func resourceField(a *at) {
	kind, name, _ := strings.Cut(a.text(), ".")
	ok := kind == "limits" || kind == "requests"
	switch {
	case name == "cpu", name == "memory", name == "ephemeral-storage", strings.HasPrefix(name, "hugepages-"):
	default:
		ok = false
	}
	if !ok && a.text() != "" {
		a.fail(RuleEnum, "expected \"limits\" or \"requests\" of \"cpu\", \"memory\" or \"ephemeral-storage\", such as \"limits.cpu\", found %s", a.show())
	}
}

func envFrom(a *at) {
	source := oneOf(a, "source", "configMapRef", "secretRef")
	if source != "" {
		if a.in(source, "name").text() == "" {
			a.field(source).missing("name")
		}
		subdomain(a.in(source, "name"))
	}
	if p := a.field("prefix"); p.text() != "" && len(validation.IsRelaxedEnvVarName(p.text())) > 0 {
		p.fail(RuleName, "expected printable characters other than \"=\", found %s", p.show())
	}
}

func keySelector(a *at) {
	if a.field("name").text() == "" {
		a.missing("name")
	}
	subdomain(a.field("name"))
	if key := a.field("key"); key.text() != "" {
		configKey(key, key.text())
	}
}

func volumeMount(a *at) {
	noParent(a.field("subPath"))
	relative(a.field("subPath"))
	relative(a.field("subPathExpr"))
	if a.field("subPath").text() != "" && a.field("subPathExpr").text() != "" {
		a.field("subPathExpr").fail(RuleExclusive, "must not be set beside subPath")
	}
	r := a.field("recursiveReadOnly")
	if t := r.text(); t != "" && t != "Disabled" {
		if t != "Enabled" && t != "IfPossible" {
			r.fail(RuleEnum, "expected \"Disabled\", \"Enabled\" or \"IfPossible\", found %s", r.show())
		}
		if !a.field("readOnly").truth() {
			r.fail(RuleExclusive, "must not be set unless readOnly is true")
		}
	}
}

func probe(a *at) {
	oneOf(a, "handler", "exec", "httpGet", "tcpSocket", "grpc")
	notNegative(a, "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
}

func httpGet(a *at) {
	portOrName(a.field("port"))
	for _, h := range a.field("httpHeaders").items() {
		if n := h.field("name"); n.text() != "" && len(validation.IsHTTPHeaderName(n.text())) > 0 {
			n.fail(RuleName, "expected the name of an HTTP header, found %s", n.show())
		}
	}
}

// resources compares requests with limits.
func resources(a *at) {
	limits, requests := a.field("limits"), a.field("requests")
	inContainer := a.step.Name == "resources" && a.parent.field("image").has()
	for _, list := range [...]*at{limits, requests} {
		for _, name := range list.names() {
			amount := list.field(name)
			if inContainer || strings.Contains(name, "/") {
				resourceName(amount, name)
			}
			if q, ok := amountOf(amount); ok && q.Sign() < 0 {
				amount.fail(RuleRange, "must not be negative, found %s", amount.show())
			}
		}
	}
	for _, name := range requests.names() {
		request, limit := requests.field(name), limits.field(name)
		q, ok := amountOf(request)
		if !ok {
			continue
		}
		most, limited := amountOf(limit)
		whole := strings.Contains(name, "/") || strings.HasPrefix(name, "hugepages-")
		switch {
		case whole && !limit.present():
			limit.fail(RuleRequired, "is required and must equal the request")
		case whole && limited && q.Cmp(most) != 0:
			request.fail(RuleExclusive, "must equal the limit %s, found %s", limit.show(), request.show())
		case limited && q.Cmp(most) > 0:
			request.fail(RuleRange, "expected at most the limit %s, found %s", limit.show(), request.show())
		}
	}
}

// resourceName wants a resource that containers have.
func resourceName(a *at, name string) {
	switch {
	case name == "cpu", name == "memory", name == "ephemeral-storage", name == "storage" && a.w.root.Kind() == "LimitRange":
	case strings.HasPrefix(name, "hugepages-"):
	case strings.Contains(name, "/"):
		qualified(a, name)
		if q, ok := amountOf(a); ok && !strings.HasSuffix(strings.SplitN(name, "/", 2)[0], "kubernetes.io") && q.MilliValue()%1000 != 0 {
			a.fail(RuleFormat, "expected a whole number, found %s", a.show())
		}
	default:
		f := a.fail(RuleName, "is no resource of a container: expected \"cpu\", \"memory\", \"ephemeral-storage\", \"hugepages-…\" or an extended resource such as \"example.com/gpu\"")
		if best := nearest(name, []string{"cpu", "memory", "ephemeral-storage"}); best != "" {
			f.Hint = "did you mean \"" + best + "\"?"
		}
	}
}

// amountOf is the quantity at a.
func amountOf(a *at) (resource.Quantity, bool) {
	switch v := a.v.(type) {
	case nil:
		// The decoder of the server makes null an amount of nothing.
		return resource.Quantity{}, a.present()
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

func securityContext(a *at) {
	between(a.field("runAsUser"), 0, math.MaxInt32)
	between(a.field("runAsGroup"), 0, math.MaxInt32)
	escalation := a.field("allowPrivilegeEscalation")
	if !escalation.has() || escalation.truth() {
		return
	}
	if a.field("privileged").truth() {
		escalation.fail(RuleExclusive, "must not be false where privileged is true")
	}
	for _, c := range a.in("capabilities", "add").items() {
		if c.text() == "CAP_SYS_ADMIN" {
			escalation.fail(RuleExclusive, "must not be false where CAP_SYS_ADMIN is added")
		}
	}
}
