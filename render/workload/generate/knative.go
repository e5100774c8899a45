// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"path"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// knativeNamespace has the activator, which forwards requests, and the autoscaler, which
// reads the metrics of the pods.
const knativeNamespace = "knative-serving"

// isKnativePortName reports whether Knative accepts the name of a port: it names the version of
// HTTP that the container speaks.
func isKnativePortName(name string) bool { return name == "h2c" || name == "http1" }

// knativeFlags returns the fields of a pod, and the volumes, that Knative accepts only if a flag
// of its ConfigMap config-features is set, with that flag (knative/serving 1.23,
// pkg/apis/config/features.go). No flag is set by default.
func knativeFlags() map[string]string {
	return map[string]string{
		"affinity": "affinity", "dnsConfig": "dnsconfig", "dnsPolicy": "dnspolicy", "hostAliases": "hostaliases",
		"hostIPC": "hostipc", "hostNetwork": "hostnetwork", "hostPID": "hostpid", "nodeSelector": "nodeselector",
		"priorityClassName": "priorityclassname", "runtimeClassName": "runtimeclassname", "schedulerName": "schedulername",
		"shareProcessNamespace": "shareprocessnamespace", "tolerations": "tolerations",
		"topologySpreadConstraints": "topologyspreadconstraints", "securityContext": "securitycontext",
		"initContainers": "init-containers", "persistentVolumeClaim": "persistent-volume-claim",
		"csi": "volumes-csi", "ephemeral": "volumes-ephemeral", "hostPath": "volumes-hostpath", "image": "volumes-image",
	}
}

// The fields of a pod and of the security context of a container, and the volumes, that Knative
// always accepts (pkg/apis/serving/fieldmask.go), and the fields of a container that it rejects.
func knativePod() []string { return []string{"imagePullSecrets", "enableServiceLinks"} }

func knativeVolumes() []string {
	return []string{"name", "secret", "configMap", "projected", "emptyDir"}
}

func knativeSecurity() []string {
	return []string{
		"allowPrivilegeEscalation", "capabilities", "privileged", "readOnlyRootFilesystem",
		"runAsGroup", "runAsNonRoot", "runAsUser", "seccompProfile",
	}
}

func notInKnative() []string {
	return []string{"lifecycle", "resizePolicy", "stdin", "stdinOnce", "tty"}
}

// checkKnative reports fields that the webhook of Knative rejects, and warns of fields that it
// rejects unless a flag is set.
func checkKnative(errs *mistakes, r *Resolved, input object.Value) {
	if r.Workload.Kind.Value != score.KindKnativeService {
		return
	}
	pod, _ := input.Get("pod")
	checkKnativeFields(errs, pod.Members, knativePod(), errs.extra("pod"))
	if v, ok := input.Get("securityContext"); ok {
		checkKnativeField(errs, "securityContext", v.Pos, nil, errs.extra("securityContext"))
	}
	volumes, _ := input.Get("volumes")
	for _, v := range volumes.Items {
		name, _ := v.Get("name")
		checkKnativeFields(errs, v.Members, knativeVolumes(), errs.path("resources", name.Text))
	}
	first := ""
	if _, main := arrange(r.Containers); len(main) > 0 {
		first = r.Containers[main[0]].Spec.Name
	}
	for i := range r.Containers {
		checkKnativeContainer(errs, &r.Containers[i], first)
	}
}

// checkKnativeFields reports fields that Knative does not accept.
func checkKnativeFields(errs *mistakes, members []object.Member, allowed []string, parent object.Path) {
	for _, m := range members {
		checkKnativeField(errs, m.Name, cmp.Or(m.Pos, m.Value.Pos), allowed, parent.Append(object.Field(m.Name)))
	}
}

// checkKnativeField reports a field that Knative does not accept. It always accepts the fields in
// allowed.
func checkKnativeField(errs *mistakes, name string, pos object.Pos, allowed []string, fieldPath object.Path) {
	switch flag := knativeFlags()[name]; {
	case slices.Contains(allowed, name):
	case flag == "":
		errs.fail(pos, fieldPath, "remove it, or write kind: Deployment", "Knative refuses %s", name)
	default:
		errs.warn(pos, fieldPath, "set the flag, or remove the field",
			"Knative refuses %s, unless the flag kubernetes.podspec-%s of its ConfigMap config-features is set", name, flag)
	}
}

// checkKnativeContainer reports the parts of one container that Knative does not accept. The argument
// first is the name of the main container that serves.
func checkKnativeContainer(errs *mistakes, c *Container, first string) {
	s := &c.Spec
	containerPath := errs.path("containers", s.Name)
	field := func(name string) object.Path { return containerPath.Append(object.Field(name)) }
	serves := s.Name == first

	// Some names and paths belong to Knative.
	if s.Name == "queue-proxy" {
		errs.fail(s.Pos, containerPath, "write another name", "the container %q is Knative's own", s.Name)
	}
	for _, v := range c.Variables {
		ofKnative := slices.Contains([]string{"K_SERVICE", "K_CONFIGURATION", "K_REVISION"}, v.Name)
		if ofKnative || (v.Name == "PORT" && serves) {
			errs.fail(v.NamePos, field("variables").Append(object.Field(v.Name)), "remove it", "Knative sets %s itself", v.Name)
		}
	}
	for _, m := range s.Further.Members {
		if slices.Contains(notInKnative(), m.Name) {
			errs.fail(m.Pos, field(m.Name), "remove it, or write kind: Deployment", "Knative refuses %s", m.Name)
		}
	}
	for _, m := range s.Volumes {
		if slices.Contains([]string{"/", "/dev", "/dev/log"}, path.Clean(m.Target)) {
			errs.fail(m.Pos, field("volumes").Append(object.Field(m.Target)), "write another path", "Knative mounts nothing at %q", m.Target)
		}
	}

	// Sidecars, the security context and probes have limits of their own.
	checkKnativeBefore(errs, s, field)
	checkKnativeSecurity(errs, s, field("securityContext"))
	for _, p := range []struct {
		name  string
		value object.Value
	}{{"livenessProbe", s.LivenessProbe}, {"readinessProbe", s.ReadinessProbe}, {"startupProbe", s.StartupProbe}} {
		if p.value.Kind != object.KindNone {
			checkKnativeProbe(errs, p.value, field(p.name), serves, first)
		}
	}
}

// checkKnativeBefore checks a container that comes before others.
func checkKnativeBefore(errs *mistakes, s *score.Container, field func(string) object.Path) {
	switch strongest(s) {
	case "":
	case score.ReadyComplete:
		checkKnativeField(errs, "initContainers", s.Before[0].Pos, nil, field("before"))
	default:
		errs.fail(s.Before[0].Pos, field("before"), "remove before, or write ready: complete", "Knative has no sidecars that start first")
	}
}

// checkKnativeSecurity checks the security context of a container.
func checkKnativeSecurity(errs *mistakes, s *score.Container, contextPath object.Path) {
	checkKnativeFields(errs, s.SecurityContext.Members, knativeSecurity(), contextPath)
	if v, _ := s.SecurityContext.Get("privileged"); v.Text == "true" {
		errs.fail(v.Pos, contextPath.Append(object.Field("privileged")), "remove it, or write kind: Deployment",
			"Knative runs no privileged containers")
	}
	capabilities, _ := s.SecurityContext.Get("capabilities")
	if add, ok := capabilities.Get("add"); ok && len(add.Items) > 0 {
		errs.warn(add.Pos, contextPath.Append(object.Field("capabilities"), object.Field("add")), "set the flag, or remove the field",
			"Knative refuses it, unless the flag kubernetes.containerspec-addcapabilities of its ConfigMap config-features is set")
	}
}

// checkKnativeProbe checks a probe. Knative probes the container that serves, and does not know
// its port by the name that the author gave it.
func checkKnativeProbe(errs *mistakes, probe object.Value, probePath object.Path, serves bool, first string) {
	if !serves {
		errs.warn(probe.Pos, probePath, "set the flag, or remove the probe",
			"Knative refuses probes of containers beside the one that serves (%q), "+
				"unless the flag multi-container-probing of its ConfigMap config-features is set", first)
		return
	}
	for _, action := range probe.Members {
		port, ok := action.Value.Get("port")
		if ok && port.Kind == object.KindString && !isKnativePortName(port.Text) {
			portPath := probePath.Append(object.Field(action.Name), object.Field("port"))
			errs.fail(port.Pos, portPath, "write its number", "Knative knows no port %q", port.Text)
		}
	}
}

// knativeOpenings returns the ports at which the pods of a KnativeService get requests, and the ports
// at which Knative reads its metrics. Requests come from its activator or directly from the pods of
// its gateway, which are in the namespace gateway, or anywhere if it is "".
func knativeOpenings(gateway string) []network.Opening {
	var out []network.Opening
	open := func(namespace string, ports ...int) {
		for _, port := range ports {
			out = append(out, network.Opening{
				Port:      score.Port{Target: port, Protocol: network.ProtocolTCP},
				Namespace: namespace,
				Pods:      namespace == knativeNamespace && gateway != namespace,
			})
		}
	}
	open(gateway, 8012, 8013, 8112)
	if gateway != "" && gateway != knativeNamespace {
		open(knativeNamespace, 8012, 8013, 8112)
	}
	open(knativeNamespace, 9090, 9091)
	return out
}

// knativeGateway returns the rule that allows calls to a KnativeService: they go to the gateway
// of Knative in the cluster.
func knativeGateway(n network.Network, config spec.Workloads) []score.Rule {
	if !n.Knative {
		return nil
	}
	peer := MapOf(object.Pos{})
	if namespace := config.Network.RoutesFrom; namespace != "" {
		peer = addMember(peer, "namespace", object.TextAt(namespace, object.Pos{}))
	}
	return []score.Rule{{Peer: peer, Ports: []score.Port{{Target: network.KnativeGateway, Protocol: network.ProtocolTCP}}}}
}
