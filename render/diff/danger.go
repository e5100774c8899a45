// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Danger is a consequence of a change that a reviewer must not miss.
type Danger struct {
	// Code names the kind of danger, for machines: see the constants.
	Code string `json:"code"`
	// Message is a sentence for people, with what to do where that is known.
	Message string `json:"message"`
}

// Codes of dangers.
const (
	// DangerData is data that can be lost.
	DangerData = "data-loss"
	// DangerOrphan is an object that stays in the cluster unmanaged.
	DangerOrphan = "orphan"
	// DangerPrune is an object that was exempt from pruning and is not any more.
	DangerPrune = "prune"
	// DangerRecreate is an object that must be deleted and created again.
	DangerRecreate = "recreate"
	// DangerHandover is an object that changes its owner.
	DangerHandover = "handover"
	// DangerCRD is a change of a CustomResourceDefinition that affects its objects.
	DangerCRD = "crd"
	// DangerRBAC is a role or a binding that grants more than before.
	DangerRBAC = "rbac"
	// DangerExposure is something that becomes reachable from outside.
	DangerExposure = "exposure"
	// DangerUnreachable is a host or an address that is served no more.
	DangerUnreachable = "unreachable"
	// DangerHost is a workload with access to its node.
	DangerHost = "host-access"
	// DangerStopped is a workload that is scaled to zero or suspended.
	DangerStopped = "stopped"
	// DangerDeleted is a workload or a Service that is deleted.
	DangerDeleted = "deleted"
	// DangerSelector is an object that selects other pods than before.
	DangerSelector = "selector"
	// DangerImage is an image that may change without a change of the render, or that
	// goes back to an earlier version.
	DangerImage = "image"
	// DangerPolicy is a restriction that is removed or loosened.
	DangerPolicy = "policy"
	// DangerSecret is a reference to a Secret that is removed.
	DangerSecret = "secret"
)

func danger(code, format string, args ...any) Danger {
	return Danger{Code: code, Message: fmt.Sprintf(format, args...)}
}

// deletion returns the dangers of deleting an object. The argument served has the hosts of the
// later snapshot.
func deletion(ref object.Ref, i Item, served map[string]bool) []Danger {
	// An object that stays, serves hosts or restricts others has no further danger.
	if i.Kept {
		return []Danger{danger(DangerOrphan, "it stays in the cluster, because it is exempt from pruning, and is no longer managed: "+
			"delete it by hand once it is not needed")}
	}
	if hosts := unserved(Hosts(i.Object), nil, served); len(hosts) > 0 {
		return hosts
	}
	if what := restricts(i.Object); what != "" {
		return []Danger{danger(DangerPolicy, "%s", what)}
	}

	// Each kind has a danger of its own.
	switch ref.GroupKind() {
	case "PersistentVolumeClaim", "PersistentVolume":
		return []Danger{danger(DangerData, "its data may be lost: the volume is deleted if its reclaim policy is Delete; "+
			"set apply.prune: false to keep it")}
	case "StatefulSet.apps":
		if i.Object.Text("spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") == "Delete" {
			return []Danger{danger(DangerData, "its pods are deleted, and its PersistentVolumeClaims with their data, "+
				"because persistentVolumeClaimRetentionPolicy.whenDeleted is Delete")}
		}
		return []Danger{danger(DangerData, "its pods are deleted; its PersistentVolumeClaims stay")}
	case "Namespace":
		return []Danger{danger(DangerData, "everything in the namespace is deleted with it")}
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return []Danger{danger(DangerData, "every %s in the cluster is deleted with it", i.Object.Text("spec", "names", "kind"))}
	case "Deployment.apps", "DaemonSet.apps", "ReplicaSet.apps", "Pod", "CronJob.batch":
		return []Danger{danger(DangerDeleted, "its pods are deleted, and what they serve with them")}
	case "Service":
		return []Danger{danger(DangerDeleted, "its name and its address are gone: clients that use it fail")}
	case "ExternalSecret.external-secrets.io", "SealedSecret.bitnami.com":
		return []Danger{danger(DangerSecret, "the Secret %s that it makes may be deleted with it: pods that use it do not start",
			madeSecret(i.Object))}
	}

	// An operator may own data that is not in the render.
	if strings.Contains(ref.Group, ".") && !strings.HasSuffix(ref.Group, ".k8s.io") && !holdsNothing(ref) {
		return []Danger{danger(DangerData, "its operator may delete the data that belongs to it")}
	}
	return nil
}

// holdsNothing reports whether an object of an operator only says what its operator does with
// other objects: deleting it loses no data. The Secret of a Certificate stays.
func holdsNothing(ref object.Ref) bool {
	switch ref.Group {
	case "keda.sh", "http.keda.sh", "eventing.keda.sh", "cert-manager.io", "acme.cert-manager.io", "networking.istio.io", "telemetry.istio.io",
		"gateway.envoyproxy.io", "traefik.io", "source.toolkit.fluxcd.io", "notification.toolkit.fluxcd.io":
		return true
	case "external-secrets.io": // PushSecret deletes what it pushed.
		return strings.HasSuffix(ref.Kind, "SecretStore")
	case "monitoring.coreos.com": // Others are servers with volumes.
		configs := []string{"PrometheusRule", "Probe", "AlertmanagerConfig", "ScrapeConfig"}
		return strings.HasSuffix(ref.Kind, "Monitor") || slices.Contains(configs, ref.Kind)
	}
	return strings.HasSuffix(ref.Kind, "Policy") || strings.HasSuffix(ref.Kind, "PolicyException")
}

// changeDangers returns the dangers of any change of a kind.
func changeDangers(after Item, c Change) (out []Danger) {
	var fixed []string
	for _, f := range c.Fields {
		if f.Immutable {
			fixed = append(fixed, f.Path)
		}
	}
	if len(fixed) > 0 {
		what := strings.Join(fixed, ", ")
		if after.Forced {
			out = append(out, danger(DangerRecreate, "%s is immutable: the engine deletes the object and creates it again%s", what, lost(c.Ref)))
		} else {
			out = append(out, danger(DangerRecreate, "%s is immutable: the API server rejects the change until the object is deleted%s",
				what, lost(c.Ref)))
		}
	}
	if c.Layer != nil && object.HoldsData(c.Ref) {
		out = append(out, danger(DangerHandover, "it moves from layer %s to %s: hand it over first, or the layer that it leaves prunes it",
			c.Layer.Before, c.Layer.After))
	}
	return out
}

// pruning returns the danger of a change of whether the engine prunes the object.
func pruning(before, after Item) []Danger {
	switch was, is := before.Kept, after.Kept; {
	case was && !is:
		return []Danger{danger(DangerPrune, "it is no longer exempt from pruning: it is deleted when it leaves the render")}
	case !was && is:
		return []Danger{danger(DangerOrphan, "it is exempt from pruning from now on: it stays in the cluster when it leaves the render")}
	}
	return nil
}

func lost(ref object.Ref) string {
	switch ref.GroupKind() {
	case "PersistentVolumeClaim", "PersistentVolume":
		return "; its data may be lost"
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return "; all of its objects are lost"
	}
	return ""
}

// dangers returns the dangers of the content that an object did not have before. The argument
// before is nil if the object is new, and served has the hosts of the later snapshot.
func dangers(before, after object.Object, changed []Field, served map[string]bool) []Danger {
	var out []Danger

	// Some dangers depend on the kind.
	switch after.Ref().GroupKind() {
	case "CustomResourceDefinition.apiextensions.k8s.io":
		out = append(crd(before, after), schema(before, changed)...)
	case "PersistentVolumeClaim":
		for _, f := range changed {
			if f.Path == "spec.resources.requests.storage" && shrinks(f) {
				out = append(out, danger(DangerData, "a PersistentVolumeClaim cannot shrink from %v to %v", f.Before, f.After))
			}
		}
	case "PersistentVolume":
		for _, f := range changed {
			if f.Path == "spec.persistentVolumeReclaimPolicy" && f.After == "Delete" {
				out = append(out, danger(DangerData, "its reclaim policy is Delete from now on: its data is deleted with its claim"))
			}
		}
	case "Role.rbac.authorization.k8s.io", "ClusterRole.rbac.authorization.k8s.io":
		out = append(added(powers(before), powers(after), DangerRBAC, "it grants %s"), widened(before, after)...)
	case "RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		out = added(grants(before, before == nil), grants(after, before == nil), DangerRBAC, "it grants %s")
	case "Service":
		out = added(reach(before), reach(after), DangerExposure, "it becomes reachable from outside the cluster: %s")
		out = append(out, added(reach(after), reach(before), DangerUnreachable, "it is no longer reachable from outside the cluster: %s")...)
	case "Namespace":
		out = podSecurity(before, after)
	}

	// The other dangers depend only on the content.
	out = append(out, added(Hosts(before), Hosts(after), DangerExposure, "it serves a new host: %s")...)
	out = append(out, unserved(Hosts(before), Hosts(after), served)...)
	if before != nil {
		out = append(out, stopped(before, after)...)
		out = append(out, selectors(after, changed)...)
		out = append(out, loosened(before, after, changed)...)
		out = append(out, unused(before, after)...)
	}
	out = append(out, images(before, after)...)
	return append(out, added(hostPowers(before), hostPowers(after), DangerHost, "its pods get %s")...)
}

// stopped returns the danger of a workload of which nothing runs any more.
func stopped(before, after object.Object) (out []Danger) {
	if after.Get("spec", "replicas") == int64(0) && before.Get("spec", "replicas") != int64(0) {
		out = append(out, danger(DangerStopped, "it is scaled to 0: none of its pods runs any more"))
	}
	if after.Kind() == "CronJob" && after.Get("spec", "suspend") == true && before.Get("spec", "suspend") != true {
		out = append(out, danger(DangerStopped, "it is suspended: it starts no Job any more"))
	}
	return out
}

// added returns a danger for each entry of after that before does not have.
func added(before, after []string, code, format string) (out []Danger) {
	known := make(map[string]bool, len(before))
	for _, b := range before {
		known[b] = true
	}
	for _, a := range after {
		if !known[a] {
			out = append(out, danger(code, format, a))
		}
	}
	return out
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func texts(v any) (out []string) {
	for _, e := range list(v) {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
